"""Grammars to be printed: of messages at a version, of headers, of record sets, and of the frame around them all.

A sheet is one grammar with its title and what its fields do not say; grammartext.py prints it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...exchanges.messages.guide_names import GuideNames
from ...protocol.grammars import headers, plain, records
from ...protocol.wire import Api, Struct
from ...protocol.wire.language.api import DIRECTIONS
from ...protocol.wire.language.types import At
from ...protocol.wire.nodes import Field, WireStruct

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
        sheet = Sheet(title, version, direction, struct, tuple(notes), header_version=number)
        sheets += [_with_names(sheet, api.name), *_guide_sheets(api, sheet)]
    return sheets


def _with_names(sheet: Sheet, api: str) -> Sheet:
    """Return the sheet with the names that Kafka's guides use for its fields."""
    names = GuideNames(api, "request" if sheet.direction == "request" else "response", sheet.version, sheet.struct)
    return sheet._replace(names=names.of_fields)


def _guide_sheets(api: Api, sheet: Sheet) -> Iterator[Sheet]:
    """Yield the forms of the same version that only a guide shows."""
    for guide, layout in api.guide_layouts("request" if sheet.direction == "request" else "response", sheet.version):
        notes = (f"The form in Kafka's protocol guide of {guide}, next to Kafka's own.", *sheet.notes[:1])
        other = sheet._replace(title=f"{sheet.title} of the guide", struct=layout, notes=notes, guide=guide)
        named = _with_names(other, api.name)
        theirs = {path: [name for name in names if name[0] == guide] for path, names in named.names.items()}
        yield named._replace(names={path: names for path, names in theirs.items() if names})


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
    """Return the grammars of what goes over a connection: sizes, each with a message behind it."""
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
