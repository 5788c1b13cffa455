"""Grammars as a person reads them: the guide's BNF, and under it what BNF has no words for.

A sheet is one grammar with its title and what its fields do not say: of a message at a version, of headers, record sets
or the frame around them all. The legend stands in comments after a blank line, so that the whole can be parsed as BNF;
none of them has a `=>`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ...exchanges.messages.guide_names import GuideNames
from ...protocol.grammars import headers, plain, records
from ...protocol.wire import Api, Struct
from ...protocol.wire.language import DIRECTIONS
from ...protocol.wire.language.types import At
from ...protocol.wire.nodes import NO_DEFAULT, Field, Fixed, Node, NullableStruct, Sized, WireArray, WireStruct
from ...protocol.wire.readings.layout import head, productions, walk
from ...protocol.wire.records import RecordsNode
from .columns import aligned, wrap
from .meanings import named, sentence
from .style import Look
from .values import escape

FLEXIBLE = "Flexible: the count of an [array] is an UNSIGNED_VARINT of N + 1; 0 means null."
OPTIONAL = (
    "Optional fields (draft of KIP-482): VARINT length of the value, INT16 tag, value; tags ascend, a length of 0 ends "
    "them. VARINT is zigzag encoded."
)


class Sheet(NamedTuple):
    """One grammar to be printed; `direction` is "" for what stands in both. `repeated`: the whole is an array."""

    title: str
    version: int
    direction: str
    struct: WireStruct
    notes: tuple[str, ...] = ()
    repeated: bool = False
    header_version: int | None = None
    names: Mapping[str, list[tuple[str, str]]] = {}
    """Path -> (guide, its name) of the fields that Kafka's guides call otherwise."""
    guide: str = ""
    """The guide whose form this is, where it is not Kafka's own."""


def message_sheets(api: Api, version: int) -> list[Sheet]:
    """Return the grammars of request and response at one version, those that only a guide has included."""
    sheets = []
    for direction in DIRECTIONS:
        struct = api.at(direction, version)
        if not api.reads(direction, version):
            continue
        number = api.header_version(direction, version)
        notes = [f"Follows {direction} header v{number}: kdbg grammar header --version {number} --{direction}"]
        notes += _forms(struct)
        notes += [f"Also seen: {dialect.name}." for dialect, _ in api.dialects_of(direction, version)]
        title = f"{api.name} {direction.capitalize()} (Version: {version})"
        names = GuideNames(api.name, direction, version, struct).of_fields
        sheet = Sheet(title, version, direction, struct, tuple(notes), header_version=number, names=names)
        sheets.append(sheet)
        for guide, layout in api.guide_layouts(direction, version):
            said = (f"The form in Kafka's protocol guide of {guide}, next to Kafka's own.", notes[0])
            form = sheet._replace(title=f"{title} of the guide", struct=layout, notes=said, guide=guide)
            names = GuideNames(api.name, direction, version, layout).of_fields
            theirs = {path: [name for name in every if name[0] == guide] for path, every in names.items()}
            sheets.append(form._replace(names={path: every for path, every in theirs.items() if every}))
    return sheets


def message_sheet(name: str, version: int, struct: WireStruct) -> Sheet:
    """Return the grammar of one version of a message that is neither request nor response."""
    return Sheet(f"{name} (Version: {version})", version, "", struct, tuple(_forms(struct)))


def _forms(struct: WireStruct) -> list[str]:
    """Return the note on how a version with tagged or optional fields is written; none for other versions."""
    return [] if struct.tags is None else [OPTIONAL if struct.front else FLEXIBLE]


def special_sheets(name: str) -> list[Sheet] | None:
    """Return the grammars of the frame, the headers or the record sets; None for any other name."""
    word = plain(name).removesuffix("s")
    if word in map(plain, ("frame", "RequestOrResponse", "RequestMessage", "ResponseMessage")):
        return frame_sheets()
    if word in ("header", "requestheader", "responseheader"):
        return header_sheets()
    return record_sheets() if word in ("record", "recordset", "recordbatch", "messageset", "message") else None


def frame_sheets() -> list[Sheet]:
    """Return the grammars of what goes over a connection: sizes, each with a message after it."""
    notes = (
        "Frames follow one another without separators. A client may send the next request before it has received the "
        "previous response; a broker responds to the requests of a connection in their order.",
        "A size is never negative. Brokers reject requests larger than socket.request.max.bytes (default: 100 MiB).",
        "Raw SASL tokens (after SaslHandshake v0) have a size but no header.",
    )
    request = WireStruct((*headers.REQUEST[1].fields, *_body()), None)
    response = WireStruct((*headers.RESPONSE[0].fields, *_body()), None)
    return [
        Sheet("RequestOrResponse", 0, "", headers.frame.structure(At(0, False)), notes),
        Sheet("RequestMessage", 0, "request", request, ("Other headers: kdbg grammar header --request",)),
        Sheet("ResponseMessage", 0, "response", response, ("Other headers: kdbg grammar header --response",)),
    ]


def _body() -> tuple[Field, ...]:
    return Struct(headers.body).structure(At(0, False)).fields


def header_sheets() -> list[Sheet]:
    """Return the grammars of all headers; `kdbg grammar API` says which API version has which."""
    notes = {
        ("request", 0): ("Only ControlledShutdown v0 has it.",),
        ("request", 2): ("Of flexible versions. The client_id keeps its classic form (KIP-511).",),
        ("response", 1): ("Of flexible versions, except ApiVersions: its response always has header v0 (KIP-511).",),
    }
    return [
        Sheet(f"{direction.capitalize()} Header (Version: {i})", i, direction, struct, notes.get((direction, i), ()))
        for direction, structs in (("request", headers.REQUEST), ("response", headers.RESPONSE))
        for i, struct in enumerate(structs)
    ]


def record_sheets() -> list[Sheet]:
    """Return the grammars of the entries of record sets, by their magic byte (byte 16 of each entry)."""
    crc = "crc is the CRC-32 of all bytes after it."
    alone = "No count comes first: a message set ends with its RECORDS. A Fetch response may truncate its last message."
    codec = "A compressed message contains a complete message set in its value"
    inner = f"{codec}; in magic 1 the inner offsets count from 0, and the outer offset is that of the last (KIP-31)."
    sets = [records.message_set.at(At(magic, False)).item for magic in (0, 1)]
    batch = records.batch.structure(At(2, False))
    whole = WireStruct((*batch.fields, Field("records", records.records.at(At(2, False)))), None)
    notes = (
        "batch_length counts the bytes after it; crc is the CRC-32C of all bytes from attributes on.",
        "The count of the records is records_count; the records after it are compressed if attributes has a codec.",
        "Deltas count from base_offset and base_timestamp. VARINT, VARLONG, the count of the [headers] and the lengths "
        "in VARINT_STRING and VARINT_BYTES are zigzag encoded; -1 means null.",
    )
    old = [(crc, alone, f"{codec}."), (crc, alone, inner)]
    return [
        *(Sheet(f"MessageSet (Magic: {i})", i, "", sets[i], old[i], True) for i in (0, 1)),  # type: ignore[arg-type]
        Sheet("RecordBatch (Magic: 2)", 2, "", whole, notes),
    ]


Names = Mapping[str, list[tuple[str, str]]]
UNIT = re.compile(r"\b(ms|milliseconds)\b")


def bnf_lines(sheet: Sheet) -> list[str]:
    """Return the grammar as BNF in the form of Kafka's guide, one line a production."""
    words = f"[{head(sheet.struct)}]" if sheet.repeated else head(sheet.struct)
    return [f"{sheet.title} => {words}".rstrip(), *productions(sheet.struct, "  ")]


def sheet_text(sheet: Sheet, look: Look) -> str:
    """Return the BNF of one grammar with its legend and notes in comments below."""
    narrow = replace(look, width=look.width - 2)
    notes = [look.paint("dim", line) for text in sheet.notes for line in wrap(text, narrow.width)]
    entries = aligned(legend(sheet.struct, sheet.names), narrow, ("name", "dim"))
    comments = [*entries, *([""] if entries and notes else []), *notes]
    lines = []
    for line in bnf_lines(sheet):
        left, arrow, right = line.partition(" =>")
        name = left.lstrip()
        shown = look.paint("name" if len(name) < len(left) else "heading", name)
        types = re.sub(r"\b[A-Z][A-Z0-9_]+\b", lambda word: look.paint("meaning", word[0]), right)
        lines.append(f"{left[: len(left) - len(name)]}{shown}{arrow}{types}")
    lines += [""] * bool(comments) + [f"{look.paint('dim', '#')} {comment}".rstrip() for comment in comments]
    return "\n".join(lines) + "\n"


def legend(struct: WireStruct, names: Names) -> list[tuple[str, str]]:
    """Return (name, text) for each field: what it means, what BNF leaves unsaid, other names in Kafka's guides.

    Where fields of one name mean different things, the name is the end of the path that tells them apart.
    """
    rows = []
    for path, field, around in walk(struct):
        noted = note(field, around)
        said = [sentence(field), noted] if noted else [escape(field.about)]
        if listed := ", ".join(f"{name}\xa0({guide})" for guide, name in names.get(path, ())):
            said.append(f"in the guides: {listed}")
        rows.append((path, "; ".join(filter(None, said))))
    return named(rows)


def note(field: Field, around: WireStruct) -> str:
    """Return what BNF leaves unsaid of a field (tag, null, kind of value, default), without what `about` says."""
    node = field.node
    array = isinstance(node, WireArray)
    parts: list[str] = []
    if field.tag is not None:
        parts.append(f"{'optional' if around.front else 'tagged'} field {field.tag}{', an array' if array else ''}")
    if isinstance(node, NullableStruct) or (array and nullable(node)):
        parts.append("may be null")
    parts.append(_kind(node.item if isinstance(node, WireArray) else node, around, field.about))
    if (value := field.initial) is not NO_DEFAULT:
        said = "null" if value is None else str(value).lower() if isinstance(value, bool) else value
        parts.append(f"default {said}")
    return "; ".join(filter(None, parts))


def nullable(node: Node) -> bool:
    """Return whether a field of this type may be null."""
    return isinstance(node, NullableStruct) or bool(getattr(node, "nullable", False))


def _kind(node: Node, around: WireStruct, about: str) -> str:
    """Return what the values of a type stand for; without their unit if `about` names it."""
    if isinstance(node, RecordsNode):
        return "a record set: kdbg grammar records"
    if node.kind == "secret":
        when = getattr(node, "when", "")
        sibling = next((field.node for field in around.fields if field.name == when), None)
        reason = "is true" if isinstance(sibling, Fixed) and sibling.boolean else "suggests a password"
        return f"secret{f' if {when} {reason}' if when else ''}: shown only with --show-secrets"
    if isinstance(node, Sized) and node.holds:
        return "may contain a payload: kdbg grammar payloads"
    kind = "" if node.kind in _UNITS and UNIT.search(about) else _KINDS.get(node.kind, "")
    bit = "bit\xa0" if node.kind == "bits" else ""
    values = ", ".join(f"{bit}{value}\xa0{name}" for value, name in (node.names or {}).items())
    return "; ".join(filter(None, [kind, values]))


_UNITS = ("timestamp", "duration")
_CODECS = "bits 0-2 codec (1 gzip, 2 snappy, 3 lz4, 4 zstd)"
_KINDS = {
    "error": "an error code: kdbg errors",
    "api": "an API key: kdbg apis",
    "timestamp": "milliseconds since 1970",
    "duration": "milliseconds",
    "batch_attributes": f"{_CODECS}, bit 3 append time, 4 transactional, 5 control batch, 6 delete horizon",
    "message_attributes": f"{_CODECS}, bit 3 append time",
    "message_attributes_0": _CODECS,
}


def sheet_object(sheet: Sheet) -> dict[str, Any]:
    """Return a grammar as a JSON object: its BNF, fields and notes."""
    return {
        "title": sheet.title, "version": sheet.version, "direction": sheet.direction or None,
        "header_version": sheet.header_version, "bnf": "\n".join(bnf_lines(sheet)),
        "fields": [_field_object(sheet, path, field, around) for path, field, around in walk(sheet.struct)],
        "notes": list(sheet.notes),
    }  # fmt: skip


def _field_object(sheet: Sheet, path: str, field: Field, around: WireStruct) -> dict[str, Any]:
    node = field.node
    item = node.item if isinstance(node, WireArray) else node
    shown: dict[str, Any] = {
        "path": path, "type": node.bnf, "item": item.bnf if item is not node else None, "tag": field.tag,
        "nullable": nullable(node),
    }  # fmt: skip
    if field.initial is not NO_DEFAULT:
        shown["default"] = field.initial
    if item.names:
        shown["values"] = {str(value): name for value, name in item.names.items()}
    if path in sheet.names:
        shown["guide_names"] = dict(sheet.names[path])
    return shown | {"about": field.about, "note": note(field, around).replace("\xa0", " ")}
