"""Record sets: message sets of magic 0 and 1, record batches of magic 2, mixed, nested, compressed, cut at the end.

A record set is no grammar of its own but a walk over several: the magic byte of each entry names the next one. The
layouts stand in grammars/records.py and reach this walk as a `RecordFormat`; this module knows only which entry
follows which, what the checksums cover, and how relative offsets and times become absolute ones. Sources: the 0.8
guide's "Message sets" and "Compression", KIP-31 and KIP-32 (magic 1), KIP-98 (magic 2), KIP-110 (zstd).

The value of a record set is a list of plain dicts:

    a batch     its header's fields, and "records": [{"offset", "timestamp", "attributes", "key", "value", "headers"}]
    a message   its fields; a compressed wrapper also has "records", the messages inside
    {"partial": bytes}    an entry that the end of the set cuts off
    {"raw": bytes}        bytes that are no entry

Offsets and timestamps are absolute. Lengths, counts and a checksum that was left out are computed when building; a
checksum that is given is written as given, and `compressed_records` (or a wrapper's `value`) is kept to the byte
as long as it still says what `records` says.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import BadLength, BadValue, BuildError, WireError
from .checksum import crc32, crc32c
from .compression import CODECS, compress, decompress
from .nodes import COMPACT_LENGTH, INT32, INT64, Length, Node, Sized, WireArray, WireStruct, build, take, to_bytes
from .types import Array, At, Declaration, Struct

CODEC_MASK, APPEND_TIME, TRANSACTIONAL, CONTROL = 0x07, 0x08, 0x10, 0x20
CONTROL_TYPES = {
    0: "ABORT", 1: "COMMIT", 2: "LEADER_CHANGE", 3: "SNAPSHOT_HEADER", 4: "SNAPSHOT_FOOTER", 5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}  # fmt: skip
"""The second INT16 of a control record's key (KIP-98, KIP-595, KIP-630, KIP-853)."""
MAX_NESTING = 4
"""Kafka's own clients nest once; deeper than this is an attack on the reader, not a message set."""
_PREAMBLE = struct.Struct(">qi")


@dataclass(frozen=True)
class RecordFormat:
    """The grammars of what a record set is made of, each at its one version.

    `messages[magic]` begins behind the length; `batch` is the header of magic 2, count included; the `preamble`
    (offset and length) is common to all, so that any reader can step over an entry it does not know.
    """

    messages: tuple[WireStruct, WireStruct]
    batch: WireStruct
    records: WireArray
    crc_at: int
    """Where a batch's checksum stands, counted from the batch's first byte; it covers all bytes behind it."""
    header_size: int
    """Bytes from a batch's first byte to its first record."""

    @classmethod
    def of(cls, message_set: Array, batch: Struct, records: Array) -> RecordFormat:
        """The format that three declarations make."""
        sets = [message_set.at(At(magic, False)).item for magic in (0, 1)]
        header, items = batch.structure(At(2, False)), records.at(At(2, False))
        old, new = (entry.fields[1].node.item for entry in sets)  # type: ignore[attr-defined]
        sizes = {field.name: field.node.size for field in header.fields}  # type: ignore[attr-defined]
        before_crc = list(sizes)[: list(sizes).index("crc")]
        return cls((old, new), header, items, sum(sizes[name] for name in before_crc), sum(sizes.values()))


class RecordSet(Declaration):
    """A record set behind its length in bytes; `cut` says that a broker may have cut its last entry."""

    def __init__(self, format: RecordFormat, *, cut: bool = False) -> None:
        super().__init__()
        self.format, self.cut = format, cut

    def at(self, at: At, *, nullable: bool = False) -> RecordsNode:
        name = f"{'COMPACT_' * at.flexible}{'NULLABLE_' * nullable}RECORDS"
        length = COMPACT_LENGTH if at.flexible else Length(INT32, 0)
        return RecordsNode(name, length, self.format, nullable=nullable, cut=self.cut)


class Entry(NamedTuple):
    """One entry of a record set: `magic`, or None for bytes that are `partial` or no entry at all."""

    magic: int | None
    start: int
    end: int
    partial: bool = False


def entries(data: bytes, start: int, end: int, format: RecordFormat) -> Iterator[Entry]:
    """Step over a record set by its offsets and lengths alone."""
    while start < end:
        if end - start < _PREAMBLE.size + 5:
            yield Entry(None, start, end, partial=True)
            return
        length = _PREAMBLE.unpack_from(data, start)[1]
        magic = data[start + 16]
        least = 14 if magic < 2 else format.header_size - _PREAMBLE.size
        if magic > 2 or length < least:
            yield Entry(None, start, end)
            return
        stop = start + _PREAMBLE.size + length
        if stop > end:
            yield Entry(None, start, end, partial=True)
            return
        yield Entry(magic, start, stop)
        start = stop


class Readers(NamedTuple):
    """How the parts of a record set are read: interpreted or compiled, the walk is the same."""

    struct: Callable[[WireStruct], Callable[[bytes, int], tuple[Any, int]]]
    items: Callable[[Node], Callable[[bytes, int, int], tuple[list[Any], int]]]


class RecordsNode(Node):
    """A length, then a record set. `cut` says that an entry may be cut at the end: brokers do so in fetches."""

    def __init__(self, bnf: str, length: Length, format: RecordFormat, *, nullable: bool, cut: bool) -> None:
        super().__init__()
        self.bnf, self.length, self.format, self.nullable, self.cut = bnf, length, format, nullable, cut

    def default(self) -> Any:
        return None if self.nullable else []

    def sized(self) -> Sized:
        """The same bytes, left unread."""
        return Sized(self.bnf, self.length, text=False, nullable=self.nullable)

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        start = stream.tell()
        length = self.length.parse(stream, path, self.bnf)
        if length < 0:
            if not self.nullable:
                raise BadLength(path, start, f"null, but {self.bnf} must not be null", self.bnf)
            return None
        return decode(take(stream, length, path, self.bnf), self, INTERPRETED)

    def _build(self, value: Any, stream: Any, context: Any, path: str) -> Any:
        if value is not None and not isinstance(value, list):
            self.sized()._build(value, stream, context, path)
            return value
        if value is None and not self.nullable:
            raise BuildError(path, f"null, but {self.bnf} must not be null")
        data = b"" if value is None else build_set(value, self.format, path)
        self.length.build(-1 if value is None else len(data), stream, path)
        stream.write(data)
        return value


def _interpret(node: WireStruct) -> Callable[[bytes, int], tuple[Any, int]]:
    import io

    def read(data: bytes, start: int) -> tuple[Any, int]:
        stream = io.BytesIO(data)
        stream.seek(start)
        return node._parse(stream, None, ""), stream.tell()

    return read


def _interpret_items(node: Node) -> Callable[[bytes, int, int], tuple[list[Any], int]]:
    import io

    def read(data: bytes, start: int, count: int) -> tuple[list[Any], int]:
        stream = io.BytesIO(data)
        stream.seek(start)
        return [node._parse(stream, None, "") for _ in range(count)], stream.tell()

    return read


INTERPRETED = Readers(_interpret, _interpret_items)


def decode(data: bytes, node: RecordsNode, readers: Readers, *, shallow: bool = False) -> list[dict[str, Any]]:
    """A record set's value. Anything odd raises: what it is, the spans tell.

    `shallow` leaves the records of batches unread (their checksum is still proved).
    """
    found: list[dict[str, Any]] = []
    for entry in entries(data, 0, len(data), node.format):
        if entry.magic == 2:
            found.append(_batch(data, entry, node.format, readers, shallow))
        elif entry.magic is not None:
            found.append(_message(data, entry, node.format, readers, 0))
        elif entry.partial and node.cut:
            found.append({"partial": data[entry.start :]})
        else:
            raise BadValue("", entry.start, "neither a batch nor a message")
    return found


def _batch(data: bytes, entry: Entry, format: RecordFormat, readers: Readers, shallow: bool) -> dict[str, Any]:
    batch, start = readers.struct(format.batch)(data, entry.start)
    if crc32c(data[entry.start + format.crc_at + 4 : entry.end]) != batch["crc"]:
        raise BadValue("crc", entry.start + format.crc_at, "the checksum does not match")
    if shallow:
        return batch  # type: ignore[no-any-return]
    end, codec = entry.end, batch["attributes"] & CODEC_MASK
    if codec:
        batch["compressed_records"] = data[start:end]
        data = decompress(codec, data[start:end])
        start, end = 0, len(data)
    raw, stop = readers.items(format.records.item)(data, start, batch["records_count"])
    if stop != end:
        raise BadLength("records", stop, "the records do not fill the batch")
    batch["records"] = absolute(batch, raw)
    return batch  # type: ignore[no-any-return]


def absolute(batch: Mapping[str, Any], raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records as a person counts them: offsets and times added to their batch's base, control records named.

    With append time the broker's own clock counts for every record (`max_timestamp`); the delta is kept beside it.
    """
    offset, time = batch["base_offset"], batch["base_timestamp"]
    if not batch["attributes"] & (APPEND_TIME | CONTROL):
        return [
            {
                "offset": offset + record["offset_delta"], "timestamp": time + record["timestamp_delta"],
                "attributes": record["attributes"], "key": record["key"], "value": record["value"],
                "headers": record["headers"],
            }
            for record in raw
        ]  # fmt: skip
    append_time = batch["attributes"] & APPEND_TIME
    records = []
    for record in raw:
        delta = record.pop("timestamp_delta")
        value = {
            "offset": offset + record.pop("offset_delta"),
            "timestamp": batch["max_timestamp"] if append_time else time + delta,
        }
        if append_time:
            value["timestamp_delta"] = delta
        if batch["attributes"] & CONTROL:
            value["control"] = control_type(record["key"])
        records.append(value | record)
    return records


def control_type(key: bytes | None) -> str:
    """What a control record says, by its key: a version and a type, two INT16."""
    number = int.from_bytes(key[2:4], "big") if key and len(key) >= 4 else -1
    return CONTROL_TYPES.get(number, f"UNKNOWN_{number}")


def _message(
    data: bytes, entry: Entry, format: RecordFormat, readers: Readers, depth: int, *, proved: bool = True
) -> dict[str, Any]:
    assert entry.magic is not None
    offset, size = _PREAMBLE.unpack_from(data, entry.start)
    start = entry.start + _PREAMBLE.size
    fields, stop = readers.struct(format.messages[entry.magic])(data, start)
    if stop != entry.end:
        raise BadLength("message_size", entry.start + 8, "the message does not fill its size")
    if proved and crc32(memoryview(data)[start + 4 : entry.end]) != fields["crc"] & 0xFFFFFFFF:
        raise BadValue("crc", start, "the checksum does not match")
    message: dict[str, Any] = {"offset": offset, "message_size": size} | fields
    if message["attributes"] & CODEC_MASK and message["value"] is not None:
        message["records"] = _inner(message, format, readers, depth, proved=proved)
    return message


def _inner(
    wrapper: Mapping[str, Any], format: RecordFormat, readers: Readers, depth: int, *, proved: bool
) -> list[dict[str, Any]]:
    """The messages inside a compressed message."""
    data, messages = unwrap(wrapper, depth), []
    for part in entries(data, 0, len(data), format):
        if part.magic not in (0, 1):
            raise BadValue("value", part.start, "a compressed message holds something that is no message")
        messages.append(_message(data, part, format, readers, depth + 1, proved=proved))
    return inherit(wrapper, messages)


def unwrap(message: Mapping[str, Any], depth: int) -> bytes:
    """The message set inside a compressed message."""
    if depth >= MAX_NESTING:
        raise BadValue("value", 0, f"compressed messages nested more than {MAX_NESTING} deep")
    return decompress(message["attributes"] & CODEC_MASK, message["value"], magic=message["magic"])


def inherit(wrapper: Mapping[str, Any], messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give inner messages of magic 1 their absolute offsets and, with append time, the wrapper's time (KIP-31, KIP-32).

    The wrapper carries the offset of its last message; a producer that has not been told an offset writes smaller
    ones, and then the relative offsets are all there is.
    """
    if wrapper["magic"] != 1 or not messages:
        return messages
    base = max(wrapper["offset"] - messages[-1]["offset"], 0)
    for message in messages:
        message["offset"] += base
        if wrapper["attributes"] & APPEND_TIME and "timestamp" in message:
            message["timestamp"] = wrapper["timestamp"]
    return messages


def build_set(value: list[Any], format: RecordFormat, path: str) -> bytes:
    """The bytes of a record set's value; `BuildError` names the field that does not fit."""
    return b"".join(_build_entry(entry, format, f"{path}[{i}]") for i, entry in enumerate(value))


def _build_entry(entry: Any, format: RecordFormat, path: str) -> bytes:
    if not isinstance(entry, Mapping):
        raise BuildError(path, f"{entry!r} is no batch and no message")
    for key in ("partial", "raw"):
        if key in entry:
            return _bytes(entry[key], f"{path}.{key}")
    magic = entry.get("magic", 2)
    if magic not in (0, 1, 2) or isinstance(magic, bool):
        raise BuildError(f"{path}.magic", f"magic is 0, 1 or 2, not {magic!r}")
    if magic < 2:
        return _build_message(dict(entry), format, path)
    return _build_batch(dict(entry), format, path)


def _bytes(value: Any, path: str) -> bytes:
    return to_bytes(value, path, "BYTES")


def _integer(value: Any, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BuildError(path, f"{value!r} is no whole number")
    return value


def _mappings(value: Any, path: str, what: str) -> list[Mapping[str, Any]]:
    """A list of objects, which is what records and messages are given as."""
    if not isinstance(value, (list, tuple)):
        raise BuildError(path, f"{value!r} is no list")
    for i, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise BuildError(f"{path}[{i}]", f"{item!r} is no {what}")
    return list(value)


def _build_batch(batch: dict[str, Any], format: RecordFormat, path: str) -> bytes:
    records, raw = batch.pop("records", None), batch.pop("raw_records", None)
    compressed = batch.pop("compressed_records", None)
    fields = _NEW_BATCH | batch
    for name in ("attributes", "base_offset", "base_timestamp"):
        _integer(fields.get(name, 0), f"{path}.{name}")
    if records is not None:
        records = _mappings(records, f"{path}.records", "record")
        times = [
            _integer(record["timestamp"], f"{path}.records[{i}].timestamp")
            for i, record in enumerate(records)
            if record.get("timestamp") is not None
        ]
        defaults = {"base_timestamp": times[0] if times else -1, "max_timestamp": max(times, default=-1)}
        fields = defaults | fields
        fields["records_count"] = len(records)
        relative = [_relative(record, i, fields, f"{path}.records[{i}]") for i, record in enumerate(records)]
        fields.setdefault("last_offset_delta", relative[-1]["offset_delta"] if relative else 0)
        raw = b"".join(build(format.records.item, r, f"{path}.records[{i}]") for i, r in enumerate(relative))
    payload = _compressed(fields, raw, compressed, path)
    fields["batch_length"] = format.header_size - _PREAMBLE.size + len(payload)
    crc = fields.pop("crc", None)
    data = build(format.batch, fields | {"crc": 0}, path) + payload
    behind = format.crc_at + 4
    checksum = crc32c(data[behind:]) if crc is None else _integer(crc, f"{path}.crc")
    return data[: format.crc_at] + struct.pack(">I", checksum & 0xFFFFFFFF) + data[behind:]


_NEW_BATCH = {
    "base_offset": 0, "partition_leader_epoch": -1, "magic": 2, "attributes": 0, "producer_id": -1,
    "producer_epoch": -1, "base_sequence": -1,
}  # fmt: skip


def _compressed(fields: Mapping[str, Any], raw: Any, compressed: Any, path: str) -> bytes:
    """What stands behind the batch header: the compressed bytes given, if they still say the same."""
    codec = fields["attributes"] & CODEC_MASK
    if compressed is not None:
        given = _bytes(compressed, f"{path}.compressed_records")
        if raw is None or _unpacked(codec, given) == raw:
            return given
    data = b"" if raw is None else _bytes(raw, f"{path}.raw_records")
    if codec and codec not in CODECS:
        raise BuildError(f"{path}.attributes", f"no codec {codec}")
    return compress(codec, data) if codec else data


def _unpacked(codec: int, data: bytes) -> bytes | None:
    """The plain bytes, None where there are none to be had."""
    try:
        return decompress(codec, data)
    except BadValue:
        return None


_RECORD_FIELDS = {"offset", "timestamp", "timestamp_delta", "control", "attributes", "key", "value", "headers"}


def _relative(record: Mapping[str, Any], index: int, batch: Mapping[str, Any], path: str) -> dict[str, Any]:
    """A record's wire fields from its absolute ones."""
    for name in record:
        if name not in _RECORD_FIELDS:
            raise BuildError(f"{path}.{name}", "a record has no such field")
    time = record.get("timestamp")
    delta = record.get("timestamp_delta", 0 if time is None else time - batch["base_timestamp"])
    offset = record.get("offset")
    return {
        "attributes": record.get("attributes", 0), "timestamp_delta": delta,
        "offset_delta": index if offset is None else _integer(offset, f"{path}.offset") - batch["base_offset"],
        "key": record.get("key"), "value": record.get("value"), "headers": record.get("headers") or [],
    }  # fmt: skip


def _build_message(message: dict[str, Any], format: RecordFormat, path: str) -> bytes:
    records, crc = message.pop("records", None), message.pop("crc", None)
    magic, offset = message["magic"], _integer(message.pop("offset", 0), f"{path}.offset")
    message.pop("message_size", None)
    fields = {"crc": 0, "attributes": 0, "key": None, "value": None} | ({"timestamp": -1} if magic else {}) | message
    codec = _integer(fields["attributes"], f"{path}.attributes") & CODEC_MASK
    if records is not None:
        if codec not in CODECS or not codec:
            raise BuildError(f"{path}.attributes", f"messages inside a message want a codec, {codec} is none")
        inner = _inside(records, magic, f"{path}.records")
        if fields["value"] is None or not _still_says(fields | {"offset": offset}, inner, format, path):
            base = inner[0]["offset"] if magic and inner else 0
            inner = [record | {"offset": record["offset"] - base} for record in inner]
            fields["value"] = compress(codec, build_set(inner, format, f"{path}.records"), magic=magic)
    data = build(format.messages[magic], fields, path)
    checksum = crc32(data[4:]) if crc is None else _integer(crc, f"{path}.crc")
    place = build(INT64, offset, f"{path}.offset")
    return place + struct.pack(">iI", len(data), checksum & 0xFFFFFFFF) + data[4:]


def _inside(records: Any, magic: int, path: str) -> list[dict[str, Any]]:
    """The messages that shall stand inside a compressed one: of its magic, numbered on, unless they say otherwise."""
    inner = [{"magic": magic, "offset": i} | dict(r) for i, r in enumerate(_mappings(records, path, "message"))]
    for i, record in enumerate(inner):
        _integer(record["offset"], f"{path}[{i}].offset")
    return inner


def _still_says(wrapper: dict[str, Any], records: list[Any], format: RecordFormat, path: str) -> bool:
    """Whether the value of a compressed message holds these messages, as they stand or as a reader gets to see them."""
    wrapper["value"] = _bytes(wrapper["value"], f"{path}.value")
    wanted = build_set(records, format, f"{path}.records")
    try:
        if unwrap(wrapper, 0) == wanted:
            return True
        return build_set(_inner(wrapper, format, INTERPRETED, 0, proved=False), format, path) == wanted
    except WireError:
        return False
