"""Record sets read: their entries, batches with records of magic 2, messages of magic 0 and 1, and their checksums."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from ....budget import MEMORY
from ....errors import BadLength, BadValue
from ...findings.faults import FaultKind, PlainFault
from ..language.types import Array, At, Struct
from ..nodes import INT32, Field, Node, WireArray, WireStruct

crc32: Callable[[bytes | memoryview], int] = zlib.crc32
"""Returns the CRC-32 (IEEE 802.3, as in gzip) that messages of magic 0 and 1 carry, over magic to their end."""


def crc32c(data: bytes | memoryview) -> int:
    """Return the CRC-32C (Castagnoli) that record batches (magic 2) carry, over attributes to the batch's end."""
    return castagnoli()(data)


@cache
def castagnoli() -> Callable[[bytes | memoryview], int]:
    """Import the compiled function when a batch is first checked, so that kdbg starts without it."""
    from fastcrc.crc32 import iscsi

    return iscsi


CODEC_MASK, APPEND_TIME, TRANSACTIONAL, CONTROL = 0x07, 0x08, 0x10, 0x20
CONTROL_TYPES = {
    0: "ABORT", 1: "COMMIT", 2: "LEADER_CHANGE", 3: "SNAPSHOT_HEADER", 4: "SNAPSHOT_FOOTER", 5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}  # fmt: skip
"""The second INT16 of a control record's key (KIP-98, KIP-595, KIP-630, KIP-853)."""
MAX_NESTING = 4
"""Kafka's own clients nest once; deeper than this is an attack on the reader, not a message set."""
PREAMBLE = struct.Struct(">qi")
RECORD, MESSAGE = 800, 2000
"""Bytes of memory that a record takes, and a message of magic 0 or 1, with what a view writes of it."""
LEAST_RECORD, LEAST_MESSAGE = 7, 26
"""The fewest bytes that either has."""


@dataclass(frozen=True)
class RecordFormat:
    """The grammars of what a record set is made of, each at its one version.

    `front` are the two fields in front of a message; `messages[magic]` begins after these; `batch` is the header of
    magic 2, count included. The `preamble` (offset and length) is common to all, so that any reader can step over an
    entry it does not know.
    """

    front: tuple[Field, Field]
    messages: tuple[WireStruct, WireStruct]
    batch: WireStruct
    records: WireArray
    crc_at: int
    """Where a batch's checksum stands, counted from the batch's first byte; it covers all bytes after it."""
    header_size: int
    """Bytes from a batch's first byte to its first record."""

    @classmethod
    def of(cls, message_set: Array, batch: Struct, records: Array) -> RecordFormat:
        """Return the format that the declarations of message sets, the batch header and the records make."""
        sets = [message_set.at(At(magic, False)).item for magic in (0, 1)]
        header, items = batch.structure(At(2, False)), records.at(At(2, False))
        old, new = (entry.fields[1].node.item for entry in sets)  # type: ignore[attr-defined]
        sizes = {field.name: field.node.size for field in header.fields}  # type: ignore[attr-defined]
        before_crc = list(sizes)[: list(sizes).index("crc")]
        size = Field("message_size", INT32, about="bytes of the message after it")
        front = sets[0].fields[0], size  # type: ignore[attr-defined]
        return cls(front, (old, new), header, items, sum(sizes[name] for name in before_crc), sum(sizes.values()))


class RecordSetEntry(NamedTuple):
    """One entry of a record set: `magic`, or None for bytes that are `partial` or no entry at all."""

    magic: int | None
    start: int
    end: int
    partial: bool = False


def entries(data: bytes, start: int, end: int, format: RecordFormat) -> Iterator[RecordSetEntry]:
    """Yield the entries of a record set from `start` to `end`, found by its offsets and lengths alone."""
    while start < end:
        if end - start < PREAMBLE.size + 5:
            yield RecordSetEntry(None, start, end, partial=True)
            return
        length = PREAMBLE.unpack_from(data, start)[1]
        magic = data[start + 16]
        least = 14 if magic < 2 else format.header_size - PREAMBLE.size
        if magic > 2 or length < least:
            yield RecordSetEntry(None, start, end)
            return
        stop = start + PREAMBLE.size + length
        if stop > end:
            yield RecordSetEntry(None, start, end, partial=True)
            return
        yield RecordSetEntry(magic, start, stop)
        start = stop


class Readers(NamedTuple):
    """What the parts of a record set are read by: the readings of compiled.py."""

    struct: Callable[[Node], Callable[[bytes, int], tuple[Any, int]]]
    items: Callable[[Node], Callable[[bytes, int, int], tuple[list[Any], int]]]
    records: Callable[[Node], Callable[[bytes, int, int, int, int], tuple[list[Any], int]]]


def decode(
    data: bytes, format: RecordFormat, readers: Readers, *, cut: bool, shallow: bool = False
) -> list[dict[str, Any]]:
    """Read a record set's value; raise at the first fault, which the reading with spans explains.

    `cut` says that the last entry may be cut off; `shallow` leaves the records of batches unread (their checksum is
    still proved).
    """
    found: list[dict[str, Any]] = []
    for entry in entries(data, 0, len(data), format):
        if entry.magic == 2:
            found.append(_batch(data, entry, format, readers, shallow))
        elif entry.magic is not None:
            MEMORY.take(MESSAGE)
            found.append(_message(data, entry, format, readers, 0))
        elif entry.partial and cut:
            found.append({"partial": data[entry.start :]})
        else:
            raise BadValue("", entry.start, PlainFault.NO_ENTRY)
    return found


def _batch(data: bytes, entry: RecordSetEntry, format: RecordFormat, readers: Readers, shallow: bool) -> dict[str, Any]:
    batch, start = readers.struct(format.batch)(data, entry.start)
    proved = crc32c(memoryview(data)[entry.start + format.crc_at + 4 : entry.end])
    if proved != batch["crc"]:
        wrong = FaultKind.CHECKSUM_WRONG.of(of="batch", algorithm="CRC-32C", says=batch["crc"], gives=proved)
        raise BadValue("crc", entry.start + format.crc_at, wrong)
    if shallow:
        return batch  # type: ignore[no-any-return]
    end, codec = entry.end, batch["attributes"] & CODEC_MASK
    if codec:
        from .compression import decompress  # which batches without a codec do without

        batch["compressed_records"] = data[start:end]
        data = decompress(codec, data[start:end])
        start, end = 0, len(data)
    MEMORY.take(records_weight(batch["records_count"], end - start))
    batch["records"], stop = records_of(batch, data, start, format, readers)
    if stop != end:
        raise BadLength("records", stop, PlainFault.BATCH_UNFILLED)
    return batch  # type: ignore[no-any-return]


def records_of(
    batch: Mapping[str, Any], data: bytes, start: int, format: RecordFormat, readers: Readers
) -> tuple[list[dict[str, Any]], int]:
    """Return the records that begin at `start`, as many as the batch says, and where they end."""
    count, item = batch["records_count"], format.records.item
    if not batch["attributes"] & (APPEND_TIME | CONTROL):
        return readers.records(item)(data, start, count, batch["base_offset"], batch["base_timestamp"])
    raw, stop = readers.items(item)(data, start, count)
    return absolute(batch, raw), stop


def absolute(batch: Mapping[str, Any], raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records with absolute offsets and timestamps (ms), control records named; take the deltas out of `raw`.

    With append time the broker's own clock counts for every record (`max_timestamp`); the delta is kept beside it.
    """
    offset, time = batch["base_offset"], batch["base_timestamp"]
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
            key = record["key"] or b""  # a version and a type, two INT16
            number = int.from_bytes(key[2:4], "big") if len(key) >= 4 else -1
            value["control"] = CONTROL_TYPES.get(number, f"UNKNOWN_{number}")
        records.append(value | record)
    return records


def codec_of(entry: Mapping[str, Any]) -> str:
    """Return the name of the codec of a batch or a message."""
    from .compression import CODECS

    number = entry["attributes"] & CODEC_MASK
    return CODECS.get(number) or f"unknown ({number})"


def _message(
    data: bytes, entry: RecordSetEntry, format: RecordFormat, readers: Readers, depth: int, *, proved: bool = True
) -> dict[str, Any]:
    assert entry.magic is not None
    offset, size = PREAMBLE.unpack_from(data, entry.start)
    start = entry.start + PREAMBLE.size
    fields, stop = readers.struct(format.messages[entry.magic])(data, start)
    if stop != entry.end:
        raise BadLength("message_size", entry.start + 8, PlainFault.MESSAGE_UNFILLED)
    if proved:
        says, gives = fields["crc"] & 0xFFFFFFFF, crc32(memoryview(data)[start + 4 : entry.end])
        if says != gives:
            wrong = FaultKind.CHECKSUM_WRONG.of(of="message", algorithm="CRC-32", says=says, gives=gives)
            raise BadValue("crc", start, wrong)
    message: dict[str, Any] = {"offset": offset, "message_size": size} | fields
    if message["attributes"] & CODEC_MASK and message["value"] is not None:
        message["records"] = inner_messages(message, format, readers, depth, proved=proved)
    return message


def inner_messages(
    wrapper: Mapping[str, Any], format: RecordFormat, readers: Readers, depth: int, *, proved: bool
) -> list[dict[str, Any]]:
    """Read the messages inside a compressed message; `proved` checks their checksums, `depth` counts the nesting."""
    data, messages = unwrap(wrapper, depth), []
    for part in entries(data, 0, len(data), format):
        if part.magic not in (0, 1):
            raise BadValue("value", part.start, PlainFault.NO_MESSAGE_INSIDE)
        messages.append(_message(data, part, format, readers, depth + 1, proved=proved))
    return inherit(wrapper, messages)


def unwrap(message: Mapping[str, Any], depth: int) -> bytes:
    """Return the decompressed message set of a compressed message; raise `BadValue` where it is nested too deep."""
    if depth >= MAX_NESTING:
        raise BadValue("value", 0, FaultKind.NESTED_TOO_DEEP.of(MAX_NESTING))
    from .compression import decompress

    data = decompress(message["attributes"] & CODEC_MASK, message["value"], magic=message["magic"])
    count = at = 0
    while at + LEAST_MESSAGE <= len(data):  # going by the sizes alone
        count += 1
        at += PREAMBLE.size + max(PREAMBLE.unpack_from(data, at)[1], LEAST_MESSAGE - PREAMBLE.size)
    MEMORY.take(count * MESSAGE)
    return data


def records_weight(count: int, size: int) -> int:
    """Return the memory that so many records in so many bytes take; a count that cannot be is not believed."""
    return RECORD * min(max(count, 0), size // LEAST_RECORD)


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


def interpret(node: Node) -> Callable[[bytes, int], tuple[Any, int]]:
    """Return a reader of a node that interprets it through `_parse`; it takes bytes and a start, in bytes."""

    def read(data: bytes, start: int) -> tuple[Any, int]:
        stream = io.BytesIO(data)
        stream.seek(start)
        return node._parse(stream, None, ""), stream.tell()

    return read
