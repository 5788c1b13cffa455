"""A grammar as a person reads it: the guide's BNF, and under it what BNF has no words for.

The legend stands in comments behind a blank line, so that the whole can be parsed as BNF; none of them has a `=>`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..grammars import headers, plain, records
from ..wire import Api
from ..wire.language.api import DIRECTIONS
from ..wire.language.types import At
from ..wire.nodes import NO_DEFAULT, Field, Fixed, Node, NullableStruct, Sized, WireArray, WireStruct
from ..wire.readings.bnf import head, productions
from ..wire.readings.fields import walk
from ..wire.records.node import RecordsNode
from .columns import aligned, wrap
from .look import Look
from .meanings import named, sentence
from .values import escape

UNIT = re.compile(r"\b(ms|milliseconds)\b")
FLEXIBLE = "Flexible: the count of an [array] is an UNSIGNED_VARINT of N + 1, 0 stands for null."
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


def message_sheets(api: Api, version: int) -> list[Sheet]:
    """Request and response of one version."""
    sheets = []
    for direction in DIRECTIONS:
        struct = api.at(direction, version)
        if not api.reads(direction, version):
            continue
        number = api.header_version(direction, version)
        notes = [f"Behind {direction} header v{number}: kdbg grammar header --version {number} --{direction}"]
        notes += _forms(struct)
        notes += [f"Also seen: {name}." for name, _ in api.dialects_of(direction, version)]
        title = f"{api.name} {direction.capitalize()} (Version: {version})"
        sheets.append(Sheet(title, version, direction, struct, tuple(notes), False, number))
    return sheets


def message_sheet(name: str, version: int, struct: WireStruct) -> Sheet:
    """One version of a message that is no request and no response."""
    return Sheet(f"{name} (Version: {version})", version, "", struct, tuple(_forms(struct)))


def _forms(struct: WireStruct) -> list[str]:
    """What a version with tagged or optional fields writes otherwise."""
    return [] if struct.tags is None else [OPTIONAL if struct.front else FLEXIBLE]


def special_sheets(name: str) -> list[Sheet] | None:
    """The sheets of what is no API: headers and record sets; None for any other name."""
    word = plain(name).removesuffix("s")
    if word in ("header", "requestheader", "responseheader"):
        return header_sheets()
    return record_sheets() if word in ("record", "recordset", "recordbatch", "messageset", "message") else None


def header_sheets() -> list[Sheet]:
    """Every header there is; which API version has which, `kdbg grammar API` says."""
    notes = {
        ("request", 0): ("Only ControlledShutdown v0 has it.",),
        ("request", 2): ("Of flexible versions. The client_id keeps its classic form (KIP-511).",),
        ("response", 1): ("Of flexible versions, but for ApiVersions: its response always has header v0 (KIP-511).",),
    }
    return [
        Sheet(f"{direction.capitalize()} Header (Version: {i})", i, direction, struct, notes.get((direction, i), ()))
        for direction, structs in (("request", headers.REQUEST), ("response", headers.RESPONSE))
        for i, struct in enumerate(structs)
    ]


def record_sheets() -> list[Sheet]:
    """The entries of record sets by their magic byte, which is byte 16 of each."""
    crc = "crc is the CRC-32 of all bytes behind it."
    alone = "No count stands in front: a message set lasts as long as its RECORDS. Fetches may cut its last message."
    codec = "A compressed message holds a whole message set in its value"
    inner = f"{codec}; in magic 1 the offsets in there count from 0, and the outer one is that of the last (KIP-31)."
    sets = [records.message_set.at(At(magic, False)).item for magic in (0, 1)]
    batch = records.batch.structure(At(2, False))
    whole = WireStruct((*batch.fields, Field("records", records.records.at(At(2, False)))), None)
    notes = (
        "batch_length counts the bytes behind it; crc is the CRC-32C of all bytes from attributes on.",
        "The count of the records is records_count; behind it they are compressed as one, if attributes says so.",
        "Deltas count from base_offset and base_timestamp. VARINT, VARLONG, the count of the [headers] and the lengths "
        "in VARINT_STRING and VARINT_BYTES are zigzag encoded, -1 stands for null.",
    )
    old = [(crc, alone, f"{codec}."), (crc, alone, inner)]
    return [
        *(Sheet(f"MessageSet (Magic: {i})", i, "", sets[i], old[i], True) for i in (0, 1)),  # type: ignore[arg-type]
        Sheet("RecordBatch (Magic: 2)", 2, "", whole, notes),
    ]


def bnf_lines(sheet: Sheet) -> list[str]:
    """The grammar in the guide's form, a line a production."""
    words = f"[{head(sheet.struct)}]" if sheet.repeated else head(sheet.struct)
    return [f"{sheet.title} => {words}".rstrip(), *productions(sheet.struct, "  ")]


def sheet_text(sheet: Sheet, look: Look) -> str:
    """BNF, legend and notes of one grammar."""
    narrow = replace(look, width=look.width - 2)
    notes = [look.paint("dim", line) for text in sheet.notes for line in wrap(text, narrow.width)]
    entries = aligned(legend(sheet.struct), narrow, ("name", "dim"))
    comments = [*entries, *([""] if entries and notes else []), *notes]
    lines = [_painted(line, look) for line in bnf_lines(sheet)]
    lines += [""] * bool(comments) + [f"{look.paint('dim', '#')} {comment}".rstrip() for comment in comments]
    return "\n".join(lines) + "\n"


def _painted(line: str, look: Look) -> str:
    """A production in colour: names, types, and the title."""
    left, arrow, right = line.partition(" =>")
    name = left.lstrip()
    shown = look.paint("name" if len(name) < len(left) else "heading", name)
    words = re.sub(r"\b[A-Z][A-Z0-9_]+\b", lambda word: look.paint("meaning", word[0]), right)
    return f"{left[: len(left) - len(name)]}{shown}{arrow}{words}"


def legend(struct: WireStruct) -> list[tuple[str, str]]:
    """(name, what it means and what BNF leaves unsaid) of each field; behind its path where a name has several."""
    return named((path, told(field, around)) for path, field, around in walk(struct))


def told(field: Field, around: WireStruct) -> str:
    """What a field means, and what its production leaves unsaid."""
    noted = note(field, around)
    return "; ".join(filter(None, [sentence(field), noted])) if noted else escape(field.about)


def note(field: Field, around: WireStruct) -> str:
    """What a field's production leaves unsaid, but for what its meaning says itself."""
    node = field.node
    array = isinstance(node, WireArray)
    parts: list[str] = []
    if field.tag is not None:
        parts.append(f"{'optional' if around.front else 'tagged'} field {field.tag}{', an array' if array else ''}")
    if isinstance(node, NullableStruct) or (array and nullable(node)):
        parts.append("may be null")
    item = node.item if isinstance(node, WireArray) else node
    parts += filter(None, [_kind(item, around), _default(field)])
    parts = [part for part in parts if not (part in _UNITS and UNIT.search(field.about))]
    return "; ".join(parts)


def nullable(node: Node) -> bool:
    """Whether a field of this type may be null."""
    return isinstance(node, NullableStruct) or bool(getattr(node, "nullable", False))


def _default(field: Field) -> str:
    if field.initial is NO_DEFAULT:
        return ""
    value = field.initial
    return f"default {'null' if value is None else str(value).lower() if isinstance(value, bool) else value}"


def _kind(node: Node, around: WireStruct) -> str:
    if isinstance(node, RecordsNode):
        return "a record set: kdbg grammar records"
    if node.kind == "secret":
        return _secret(str(getattr(node, "when", "")), around)
    if isinstance(node, Sized) and node.holds:
        return "may hold a payload: kdbg grammar payloads"
    return "; ".join(filter(None, [_KINDS.get(node.kind, ""), values(node.kind, node.names or {})]))


def _secret(when: str, around: WireStruct) -> str:
    """When kdbg hides the field."""
    if not when:
        return "secret: shown with --show-secrets only"
    sibling = next((field.node for field in around.fields if field.name == when), None)
    boolean = isinstance(sibling, Fixed) and sibling.boolean
    return f"secret if {when} {'is true' if boolean else 'sounds like a password'}: shown with --show-secrets only"


def values(kind: str, names: Mapping[int, str]) -> str:
    """The values that have names, bits by their number; a no-break space keeps the two together."""
    bit = "bit\xa0" if kind == "bits" else ""
    return ", ".join(f"{bit}{value}\xa0{name}" for value, name in names.items())


_UNITS = ("milliseconds since 1970", "milliseconds")
"""What the meaning of a field may say itself."""
_CODECS = "bits 0-2 codec (1 gzip, 2 snappy, 3 lz4, 4 zstd)"
_KINDS = {
    "error": "an error code: kdbg errors",
    "api": "an API key: kdbg apis",
    "timestamp": _UNITS[0],
    "duration": _UNITS[1],
    "batch_attributes": f"{_CODECS}, bit 3 append time, 4 transactional, 5 control batch, 6 delete horizon",
    "message_attributes": f"{_CODECS}, bit 3 append time (since magic 1)",
}


def sheet_object(sheet: Sheet) -> dict[str, Any]:
    """A grammar as JSON has it."""
    return {
        "title": sheet.title, "version": sheet.version, "direction": sheet.direction or None,
        "header_version": sheet.header_version, "bnf": "\n".join(bnf_lines(sheet)),
        "fields": [_field_object(path, field, around) for path, field, around in walk(sheet.struct)],
        "notes": list(sheet.notes),
    }  # fmt: skip


def _field_object(path: str, field: Field, around: WireStruct) -> dict[str, Any]:
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
    return shown | {"about": field.about, "note": note(field, around).replace("\xa0", " ")}
