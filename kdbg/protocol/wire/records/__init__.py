"""Record sets: message sets of magic 0 and 1 and record batches of magic 2, read, written, compressed, located.

Here is a record set as a field of a message: the type that grammars use, the node it becomes, its bytes from values.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ....budget import MEMORY
from ....errors import BuildError, WireError
from ..language.types import At, Declaration
from ..nodes import COMPACT_LENGTH, INT32, INT64, Length, Sized, WalkedNode, build, to_bytes
from .sets import CODEC_MASK, PREAMBLE, RecordFormat, crc32, crc32c, inner_messages, unwrap


def build_set(value: list[Any], format: RecordFormat, path: str) -> bytes:
    """Return the bytes of a record set's value; raise `BuildError` naming the field that does not fit."""
    MEMORY.begin()  # what is compressed already is compared
    data = bytearray()
    for i, entry in enumerate(value):
        here = f"{path}[{i}]"
        if not isinstance(entry, Mapping):
            raise BuildError(here, f"{entry!r} is not a batch or message")
        magic, raw = entry.get("magic", 2), next((key for key in ("partial", "raw") if key in entry), None)
        if raw is not None:
            data += to_bytes(entry[raw], f"{here}.{raw}", "BYTES")
        elif magic not in (0, 1, 2) or isinstance(magic, bool):
            raise BuildError(f"{here}.magic", f"magic must be 0, 1 or 2, not {magic!r}")
        else:
            data += (_build_message if magic < 2 else _build_batch)(dict(entry), format, here)
    return bytes(data)


def _integer(value: Any, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BuildError(path, f"{value!r} is not an integer")
    return value


def _mappings(value: Any, path: str, what: str) -> list[Mapping[str, Any]]:
    """Return `value` as a list of records or messages; raise `BuildError` if it is no list of objects."""
    if not isinstance(value, (list, tuple)):
        raise BuildError(path, f"{value!r} is not a list")
    for i, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise BuildError(f"{path}[{i}]", f"{item!r} is not a {what}")
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
    fields["batch_length"] = format.header_size - PREAMBLE.size + len(payload)
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
    """Return the bytes after the batch header: `compressed`, unless it decompresses to other bytes than `raw`.

    Otherwise compress `raw`. Raise `BuildError` for a codec that Kafka does not have.
    """
    from .compression import CODECS, compress, decompress  # which readings do without

    codec = fields["attributes"] & CODEC_MASK
    if compressed is not None:
        given = to_bytes(compressed, f"{path}.compressed_records", "BYTES")
        with suppress(WireError):  # they do not decompress
            if raw is None or decompress(codec, given) == raw:
                return given
    data = b"" if raw is None else to_bytes(raw, f"{path}.raw_records", "BYTES")
    if codec and codec not in CODECS:
        raise BuildError(f"{path}.attributes", f"unknown compression codec {codec}")
    return compress(codec, data) if codec else data


_RECORD_FIELDS = {"offset", "timestamp", "timestamp_delta", "control", "attributes", "key", "value", "headers"}


def _relative(record: Mapping[str, Any], index: int, batch: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return a record's fields as on the wire: offset and timestamp become deltas to those of the batch.

    Raise `BuildError` for a field that records do not have.
    """
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
    from .compression import CODECS, compress

    records, crc = message.pop("records", None), message.pop("crc", None)
    magic, offset = message["magic"], _integer(message.pop("offset", 0), f"{path}.offset")
    message.pop("message_size", None)
    fields = {"crc": 0, "attributes": 0, "key": None, "value": None} | ({"timestamp": -1} if magic else {}) | message
    codec = _integer(fields["attributes"], f"{path}.attributes") & CODEC_MASK
    if records is not None:
        if codec not in CODECS or not codec:
            raise BuildError(f"{path}.attributes", f"nested messages require a codec, but codec is {codec}")
        given = enumerate(_mappings(records, f"{path}.records", "message"))
        inner = [{"magic": magic, "offset": i} | dict(record) for i, record in given]
        for i, record in enumerate(inner):
            _integer(record["offset"], f"{path}.records[{i}].offset")
        if fields["value"] is None or not _still_says(fields | {"offset": offset}, inner, format, path):
            base = inner[0]["offset"] if magic and inner else 0
            inner = [record | {"offset": record["offset"] - base} for record in inner]
            fields["value"] = compress(codec, build_set(inner, format, f"{path}.records"), magic=magic)
    data = build(format.messages[magic], fields, path)
    checksum = crc32(data[4:]) if crc is None else _integer(crc, f"{path}.crc")
    place = build(INT64, offset, f"{path}.offset")
    return place + struct.pack(">iI", len(data), checksum & 0xFFFFFFFF) + data[4:]


def _still_says(wrapper: dict[str, Any], records: list[Any], format: RecordFormat, path: str) -> bool:
    """Return whether a compressed message's value holds these messages, with relative or with absolute offsets."""
    from ..readings.compiled import COMPILED, UNREADABLE  # which needs the nodes of record sets

    wrapper["value"] = to_bytes(wrapper["value"], f"{path}.value", "BYTES")
    wanted = build_set(records, format, f"{path}.records")
    try:
        if unwrap(wrapper, 0) == wanted:
            return True
        return build_set(inner_messages(wrapper, format, COMPILED, 0, proved=False), format, path) == wanted
    except UNREADABLE:
        return False


@dataclass(eq=False, repr=False)
class RecordSet(Declaration):
    """A record set after its length in bytes; `cut` says that a broker may have cut its last entry."""

    format: RecordFormat
    _: KW_ONLY
    cut: bool = False

    def at(self, at: At, *, nullable: bool = False) -> RecordsNode:
        name = f"{'COMPACT_' * at.flexible}{'NULLABLE_' * nullable}RECORDS"
        length = COMPACT_LENGTH if at.flexible else Length(INT32, 0)
        return RecordsNode(name, length, self.format, nullable=nullable, cut=self.cut)


@dataclass(eq=False, repr=False)
class RecordsNode(WalkedNode):
    """A length, then a record set. `cut` says that an entry may be cut at the end: brokers do so in fetches."""

    bnf: str
    length: Length
    format: RecordFormat
    _: KW_ONLY
    nullable: bool
    cut: bool

    def default(self) -> Any:
        return None if self.nullable else []

    def sized(self) -> Sized:
        """Return the node that reads the record set's bytes as plain bytes, without decoding them."""
        return Sized(self.bnf, self.length, text=False, nullable=self.nullable)

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
