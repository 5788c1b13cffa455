"""Structures that stand alone, without the message around them: APIs of their own, made of grammars that there are.

By their names they are what `--api` takes beside APIs: the payloads of Kafka's messages and internal topics, and what
stands in record sets and on a broker's disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from ...errors import UnknownApi, WireError
from ...protocol.grammars import headers, log_files, plain, sasl
from ...protocol.grammars.payloads import known, payloads
from ...protocol.grammars.records import record_format
from ...protocol.wire import Api, Int8, Int32, Remainder, Struct
from ...protocol.wire.language import Direction
from ...protocol.wire.language.payload import Payload
from ...protocol.wire.language.types import At
from ...protocol.wire.nodes import Field, Fixed, Length, Node, Stream, WireArray, WireStruct, children
from ...protocol.wire.readings.measure import end_of
from ...protocol.wire.readings.runtime import Unreadable
from ...protocol.wire.records import RecordSet, RecordsNode
from ...protocol.wire.records.sets import CODEC_MASK, crc32, crc32c, entries
from ..messages.score import YEARS

CODEC_AT = record_format.crc_at + 5
"""The byte of a batch that names the codec."""
NOTHING: Final = Struct()
ENDS: Final = (WireError, Unreadable, IndexError)
FRAMED: Final = Struct(
    "magic" / Int8 * "0: a schema id follows",
    "schema_id" / Int32 * "number of the schema in the registry",
    "data" / Remainder * "the value, encoded by its schema: Avro, JSON or Protobuf",
)
BATCH = "RecordBatch"
HEADER, CRC_AT, LENGTH_AT, MAGIC_AT = record_format.header_size, record_format.crc_at, 8, 16
LARGEST = 128 << 20
_TOKEN = re.compile(rb"[\x20-\x7e]*\0[\x20-\x7e]+\0[\x20-\x7e]+|[ny],(?:a=[^,]*)?,[\x20-\x7e\x01]+")
"""PLAIN: [authorization] NUL user NUL password (RFC 4616); SCRAM and OAUTHBEARER: a GS2 header, attributes."""


@dataclass(frozen=True, eq=False)
class Alone(Api):
    """A structure without a message's header. `title` is what it is called, with `{versions}` where they are said."""

    title: str = ""


def laid(title: str, grammar: WireStruct, version: int = 0, name: str = "") -> Alone:
    """Return the API of a grammar that is read by itself."""
    layouts: dict[tuple[Direction, int], WireStruct] = {("request", version): grammar, ("response", version): grammar}
    versions = range(version, version + 1)
    return Alone(-1, name or title, NOTHING, NOTHING, versions, headerless=True, _layouts=layouts, title=title)


@dataclass(eq=False, repr=False)
class ToTheEnd(Node):
    """A count that does not stand on the wire: as many items as the bytes hold, or as many bytes as are left."""

    bnf = "COUNT"
    item: Node | None = None

    def _parse(self, stream: Stream, context: Any, path: str) -> int:
        start = stream.tell()
        if self.item is None:
            left = stream.seek(0, 2) - start
            stream.seek(start)
            return left
        data = stream.read()
        stream.seek(start)
        at = count = 0
        while at < len(data):
            count += 1
            try:
                end = end_of(self.item, data, at)
            except ENDS:
                break
            if end <= at:
                break
            at = end
        return count

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        return value


def repeated(name: str, item: Node) -> WireStruct:
    """Return the grammar of items of an array without their count."""
    return WireStruct((Field(name, WireArray("ITEMS", Length(ToTheEnd(item), 0), item, nullable=False)),), None)


@cache
def files() -> tuple[Alone, ...]:
    """Return what pieces of a broker's disk and of topics may be: records, messages, entries of indexes."""
    front, layouts = record_format.front, [*enumerate(record_format.messages)]
    indexes = (
        ("Offset", log_files.offset_index_entry), ("Time", log_files.time_index_entry),
        ("Transaction", log_files.aborted_transaction),
    )  # fmt: skip
    return (
        *(
            laid(f"Message set of magic {magic}", WireStruct((*front, *layout.fields), None), name="MessageSet")
            for magic, layout in layouts
        ),
        laid("Records of a batch, without its header", repeated("records", record_format.records.item), name="Record"),
        *(laid(f"Message of magic {n}, without offset and size", layout, name="Message") for n, layout in layouts),
        *(
            laid(f"{name} index entries", repeated("entries", entry.structure(At(0, False))), name=f"{name}Index")
            for name, entry in indexes
        ),
    )


@cache
def _batch(compressed: bool) -> Alone:
    item, rest = record_format.records.item, At(0, False)
    records = Struct("records" / Remainder).structure(rest) if compressed else repeated("records", item)
    return laid("Record batch", WireStruct((*record_format.batch.fields, *records.fields), None), name=BATCH)


def batch_api(data: bytes) -> Alone:
    """Return one record batch, field by field, whatever its length, magic and checksum say."""
    return _batch(bool(len(data) > CODEC_AT and data[CODEC_AT] & CODEC_MASK))


@cache
def registry_framing() -> Alone:
    """Return the framing of Schema Registry's serializers."""
    return laid("Value in Schema Registry framing", FRAMED.structure(At(0, False)), name="SchemaRegistryValue")


@cache
def keyless(api: Api, version: int) -> Alone:
    """Return a request without its first two fields, which say what it is: correlation id, client id, then the body."""
    header = headers.REQUEST[api.header_version("request", version)]
    rest = WireStruct(header.fields[2:], header.tags)
    both = WireStruct((Field("header", rest), Field("body", api.at("request", version))), None)
    return laid(f"{api.name} request {{versions}} without its API key and version", both, version, api.name)


@cache
def items_of(api: Api, version: int, direction: Direction, path: str, item: WireStruct) -> Alone:
    """Return the items of an array in a message, without all that stands around them."""
    title = f"items of {path} in {api.name} {direction} {{versions}}, without the surrounding fields"
    return laid(title, repeated(path.rpartition(".")[2], item), version, api.name)


@cache
def payload_api(payload: Payload, version: int) -> Alone:
    """Return the API of a payload in one version."""
    title = f"{payload.name} {{versions}}" if payload.version_field else payload.name
    return laid(title, payload.reading(version).grammar, version, payload.name)


def payloads_for(data: bytes) -> Iterator[tuple[Payload, int]]:
    """Yield (payload, version) of each payload that the first bytes may begin."""
    for payload in payloads():
        try:
            version = payload.version_of(data)
        except WireError:
            continue
        if version in payload.versions:
            yield payload, version


@cache
def arrays_of(grammar: WireStruct) -> tuple[tuple[str, Node], ...]:
    """Return (path, item) of each array of structures in a grammar."""
    found: list[tuple[str, Node]] = []

    def walk(node: Node, path: str) -> None:
        for child in children(node):
            here = f"{path}.{child.key}".strip(".") if child.key else path
            if child.repeated and isinstance(child.node, WireStruct) and not isinstance(child.node, Fixed):
                found.append((path, child.node))
            walk(child.node, here)

    walk(grammar, "")
    return tuple(found)


Structure: TypeAlias = Callable[[bytes, int | None], tuple[Alone, int]]
"""Says as what bytes are read: (structure, its version); the version that the user said goes before their own."""


def structure(name: str) -> Structure | None:
    """Return the structure of a name, None where there is none; case, dashes and underscores do not count."""
    payload = known(name)
    if payload is not None:
        return lambda data, version: _payload(payload, data, version)
    if plain(name) == plain(BATCH):
        return lambda data, version: (batch_api(data), 0)
    found = [alone for alone in (*files(), registry_framing()) if plain(alone.name) == plain(name)]
    if not found:
        return None
    at = {"messageset": MAGIC_AT, "message": 4}.get(plain(name))  # what says which of two old formats it is
    return lambda data, version: (found[(data[at] if at is not None and at < len(data) else 0) % len(found)], 0)


def names() -> Iterator[str]:
    """Yield the names of all of them."""
    yield from (payload.name for payload in payloads())
    yield from dict.fromkeys([BATCH, *(alone.name for alone in files()), registry_framing().name])


def _payload(payload: Payload, data: bytes, version: int | None) -> tuple[Alone, int]:
    """Return a payload in the version that was said, else in that of the bytes, else in the newest."""
    if version is None:
        try:
            version = payload.version_of(data)
        except WireError:
            version = payload.versions[-1]
    version = version if version in payload.versions else payload.versions[-1]
    return payload_api(payload, version), version


def api_or_structure(name: str | int, find: Callable[[str | int], Api]) -> tuple[Api | None, Structure | None]:
    """Return the API of a name, or the structure; raise `UnknownApi`, with the nearest names, where neither has it."""
    try:
        return find(name), None
    except UnknownApi as error:
        found = structure(name) if isinstance(name, str) else None
        if found is not None:
            return None, found
        import difflib

        near = {plain(each): each for each in names()}
        words = difflib.get_close_matches(plain(str(name)), near, n=3, cutoff=0.8)
        raise UnknownApi(name, tuple(dict.fromkeys([*error.near, *(near[word] for word in words)]))) from None


class Reason(Enum):
    """What a guess rests on."""

    HEADER = auto()
    """The header of a request says so."""
    CORRELATION_ID = auto()
    """A request seen before has the response's correlation id."""
    CHECKSUM = auto()
    """It is a record set, whose checksum is right."""
    STRUCTURE = auto()
    """It is a record batch by its lengths and its magic, though its checksum does not prove it."""
    TOKEN = auto()
    """It has the form of a SASL token."""
    GIVEN = auto()
    """The user said so."""
    GIVEN_API = auto()
    """The user said so, but for the version."""
    WHOLE = auto()
    """A layout reads it to the last byte."""
    CUT = auto()
    """A layout reads it as far as it goes."""
    LEFT_OVER = auto()
    """A layout leaves a few bytes over."""
    FURTHEST = auto()
    """No layout gets further."""


class Mended(NamedTuple):
    """A field that is not as it should be: its path, where it stands, what it says and what it should say."""

    path: str
    start: int
    says: int
    should: int
    size: int


class Headerless(NamedTuple):
    """What bytes without a header are, how that is known, and what is known to be wrong in them.

    `cut`: they say that they are longer than the bytes. `mended` is a field in front that is wrong, `doubts` are fields
    whose values no peer would write.
    """

    api: Api
    reason: Reason
    cut: bool = False
    mended: Mended | None = None
    doubts: tuple[str, ...] = ()


def batch(data: bytes) -> Headerless | None:
    """Return what is known of a record batch that begins with the bytes; None where they are none.

    Two of three must be right, one byte being wrong at most: its length, its magic, its checksum.
    """
    if len(data) < CRC_AT + 4:
        return None
    length, magic, crc = signed(data, LENGTH_AT), data[MAGIC_AT], signed(data, CRC_AT) & 0xFFFFFFFF
    fits = length >= HEADER - 12 and 12 + length == len(data)
    if not fits and _ends(data) and magic == 2:
        fits = True
    end = 12 + length if HEADER <= 12 + length <= len(data) else len(data)
    summed = crc32c(memoryview(data)[CRC_AT + 4 : end])
    proved = summed == crc
    proved_whole = proved or crc32c(memoryview(data)[CRC_AT + 4 :]) == crc
    if magic == 2 and proved and end == 12 + length:
        return Headerless(records_api, Reason.CHECKSUM)
    if magic == 2 and proved_whole:
        mended = Mended("batch_length", LENGTH_AT, length, len(data) - 12, 4)
        return Headerless(batch_api(data), Reason.CHECKSUM, mended=mended)
    if fits and proved and len(data) > HEADER:
        return Headerless(batch_api(data), Reason.CHECKSUM, mended=Mended("magic", MAGIC_AT, magic, 2, 1))
    if fits and magic == 2:
        return Headerless(records_api, Reason.STRUCTURE, doubts=doubts(data))
    cut = magic == 2 and 12 + length > len(data) and length < LARGEST
    odd = doubts(data)
    begins = not any(data[:4]) and length < 1 << 24 and 0 <= signed(data, 12) < 1 << 16  # whatever follows
    likely = cut and (begins or (len(odd) < 2 and not any(data[:3])))
    return Headerless(batch_api(data), Reason.STRUCTURE, True, None, odd) if likely else None


def _ends(data: bytes) -> bool:
    """Return whether the lengths of batches lead to the end of the bytes, two batches or more, or into the last."""
    at = count = 0
    while len(data) - at > MAGIC_AT:
        length = signed(data, at + LENGTH_AT)
        if length < HEADER - 12 or data[at + MAGIC_AT] != 2:
            return False
        at, count = at + 12 + length, count + 1
    return count > 1


def doubts(data: bytes) -> tuple[str, ...]:
    """Return the fields of a batch's header that no peer would write so, as far as the header is there."""
    last, count = signed(data, 23), signed(data, 57)
    times = {path: signed(data, at, 8) for path, at in (("base_timestamp", 27), ("max_timestamp", 35))}
    checks = (
        ("partition_leader_epoch", 16, signed(data, 12) >= -1),
        ("attributes", 23, signed(data, 21, 2) in range(0x80) and signed(data, 21, 2) & 7 <= 4),
        ("last_offset_delta", 27, last in range(1 << 24)),
        *((path, 43, time in YEARS or time in (-1, 0)) for path, time in times.items()),
        ("producer_id", 51, signed(data, 43, 8) >= -1),
        ("producer_epoch", 53, signed(data, 51, 2) >= -1),
        ("records_count", HEADER, 0 < count <= last + 1),
    )
    return tuple(path for path, end, sound in checks if len(data) >= end and not sound)


def signed(data: bytes | bytearray, at: int, size: int = 4) -> int:
    """Return the integer at a place; as many bytes of it as there are."""
    return int.from_bytes(data[at : at + size], "big", signed=True)


def known_headerless(data: bytes) -> Headerless | None:
    """Return what these bytes are: a record set, a message or a SASL token; None for others."""
    first = next(entries(data, 0, len(data), record_format), None)
    old = first if first is not None and first.magic in (0, 1) else None
    if old is not None and crc32(memoryview(data)[16 : old.end]) == int.from_bytes(data[12:16], "big"):
        return Headerless(records_api, Reason.CHECKSUM)
    found = batch(data)
    if found is not None:
        return found
    if len(data) >= 14 and data[4] <= 1 and crc32(memoryview(data)[4:]) == signed(data, 0) & 0xFFFFFFFF:
        return Headerless(files()[3 + data[4]], Reason.CHECKSUM)  # a message without offset and size
    return Headerless(sasl.api, Reason.TOKEN) if _TOKEN.fullmatch(data) else None


class _RecordsAlone(RecordSet):
    def at(self, at: At, *, nullable: bool = False) -> RecordsNode:
        return RecordsNode("RECORDS", Length(ToTheEnd(), 0), record_format, nullable=False, cut=True)


_records = Struct("records" / _RecordsAlone(record_format))
records_api: Final = Api(-1, "RecordSet", _records, _records, versions=range(1), headerless=True)
"""A record set by itself: a batch cut out of a message, the file of a log segment."""
