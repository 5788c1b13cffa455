"""Structures that stand alone, without the message around them: APIs of their own, made of grammars that there are.

By their names they are what `--api` takes beside APIs: the payloads of Kafka's messages and internal topics, and what
stands in record sets and on a broker's disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

from ...errors import UnknownApi, WireError
from ...protocol.grammars import headers, log_files, plain
from ...protocol.grammars.payloads import known, payloads
from ...protocol.grammars.records import record_format
from ...protocol.wire import Api, Int8, Int32, Remainder, Struct
from ...protocol.wire.language import Direction
from ...protocol.wire.language.payload import Payload
from ...protocol.wire.language.types import At
from ...protocol.wire.nodes import Field, Fixed, Length, Node, Stream, WireArray, WireStruct, children
from ...protocol.wire.readings.measure import end_of
from ...protocol.wire.readings.runtime import Unreadable
from ...protocol.wire.records.sets import CODEC_MASK
from .hints import Hints

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
MAGIC_AT = {"messageset": 16, "message": 4}
"""The byte that says which of two old formats it is."""


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
    """A count that does not stand on the wire: there are as many items as the bytes hold."""

    bnf = "COUNT"
    item: Node

    def _parse(self, stream: Stream, context: Any, path: str) -> int:
        start = stream.tell()
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


def _entry(declared: Struct) -> WireStruct:
    return declared.structure(At(0, False))


@cache
def files() -> tuple[Alone, ...]:
    """Return what pieces of a broker's disk and of topics may be: records, messages, entries of indexes."""
    old, new = record_format.messages
    front = record_format.front
    return (
        *(
            laid(f"Message set of magic {magic}", WireStruct((*front, *layout.fields), None), name="MessageSet")
            for magic, layout in enumerate((old, new))
        ),
        laid("Records of a batch, without its header", repeated("records", record_format.records.item), name="Record"),
        laid("Message of magic 0, without offset and size", old, name="Message"),
        laid("Message of magic 1, without offset and size", new, name="Message"),
        laid("Offset index entries", repeated("entries", _entry(log_files.offset_index_entry)), name="OffsetIndex"),
        laid("Time index entries", repeated("entries", _entry(log_files.time_index_entry)), name="TimeIndex"),
        laid(
            "Transaction index entries",
            repeated("entries", _entry(log_files.aborted_transaction)),
            name="TransactionIndex",
        ),
    )


@cache
def _batch(compressed: bool) -> Alone:
    item, rest = record_format.records.item, At(0, False)
    records = Struct("records" / Remainder).structure(rest) if compressed else repeated("records", item)
    return laid("Record batch", WireStruct((*record_format.batch.fields, *records.fields), None), name="RecordBatch")


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
    found = [alone for alone in _others() if plain(alone.name) == plain(name)]
    return (lambda data, version: (found[_magic(name, data) % len(found)], 0)) if found else None


def names() -> Iterator[str]:
    """Yield the names of all of them."""
    yield from (payload.name for payload in payloads())
    yield from dict.fromkeys([BATCH, *(alone.name for alone in _others())])


def _others() -> Iterator[Alone]:
    yield from files()
    yield registry_framing()


def _magic(name: str, data: bytes) -> int:
    at = MAGIC_AT.get(plain(name), len(data))
    return data[at] if at < len(data) else 0


def _payload(payload: Payload, data: bytes, version: int | None) -> tuple[Alone, int]:
    """Return a payload in the version that was said, else in that of the bytes, else in the newest."""
    if version is None:
        try:
            version = payload.version_of(data)
        except WireError:
            version = payload.versions[-1]
    version = version if version in payload.versions else payload.versions[-1]
    return payload_api(payload, version), version


def hints_for(named: Structure, data: bytes, told: Hints) -> Hints:
    """Return what is known of bytes that are such a structure."""
    alone, version = named(data, told.version)
    return told._replace(api=alone, version=version, direction="response", header=False)


def api_or_structure(name: str | int, find: Callable[[str | int], Api]) -> tuple[Api | None, Structure | None]:
    """Return the API of a name, or the structure; raise `UnknownApi`, with the nearest names, where neither has it."""
    try:
        return find(name), None
    except UnknownApi as error:
        found = structure(name) if isinstance(name, str) else None
        if found is None:
            raise _unknown(name, error) from None
        return None, found


def _unknown(name: str | int, error: UnknownApi) -> UnknownApi:
    """Return the error with the names of structures that are near."""
    import difflib

    near = {plain(each): each for each in names()}
    found = difflib.get_close_matches(plain(str(name)), near, n=3, cutoff=0.8)
    return UnknownApi(name, tuple(dict.fromkeys([*error.near, *(near[word] for word in found)]))) if found else error
