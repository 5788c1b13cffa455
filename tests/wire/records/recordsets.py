"""Record sets that tests write by hand, and how they are read in every way there is at once."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import google_crc32c

from kdbg.protocol.grammars.records import FetchedRecords, Records
from kdbg.protocol.wire.language.types import At
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.annotate import Inspection, inspect
from kdbg.protocol.wire.readings.compiled import UNREADABLE, reader
from kdbg.protocol.wire.records import RecordsNode

FETCHED = FetchedRecords.at(At(0, False), nullable=True)
PRODUCED = Records.at(At(0, False))
COMPACT = FetchedRecords.at(At(0, True), nullable=True)
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4


def sized(data: bytes) -> bytes:
    """A record set behind its length."""
    return struct.pack(">i", len(data)) + data


def packed(value: Any, node: RecordsNode = FETCHED) -> bytes:
    """The record set itself, without its length."""
    return build(node, value)[4:]


def explained(data: bytes, node: RecordsNode = FETCHED) -> Inspection:
    """The slow reading of a record set, its spans checked; the fast one must agree or refuse."""
    inspection = inspect(node, sized(data))
    ends = [0] * len(inspection.buffers)
    for span in inspection.spans:
        assert span.start == ends[span.buffer], span
        ends[span.buffer] = span.end
    assert ends == [len(buffer.data) for buffer in inspection.buffers]
    try:
        fast = reader(node)(sized(data), 0)
    except UNREADABLE:
        assert inspection.findings
    else:
        assert not inspection.findings
        assert fast == (inspection.value, len(data) + 4)
        assert repr(node.parse(sized(data))) == repr(inspection.value)
    return inspection


def parsed(data: bytes, node: RecordsNode = FETCHED) -> Any:
    """The value of a clean record set."""
    inspection = explained(data, node)
    assert inspection.findings == []
    return inspection.value


def kinds(inspection: Inspection) -> list[str]:
    return [finding.kind for finding in inspection.findings]


def old_message(magic: int, offset: int, body: str, *, attributes: int = 0) -> bytes:
    """A message by hand; `body` is key and value with their lengths, in hexadecimal."""
    stamp = bytes.fromhex("0000015d6fabc000") if magic else b""
    inside = bytes([magic, attributes]) + stamp + bytes.fromhex(body)
    return struct.pack(">qiI", offset, len(inside) + 4, zlib.crc32(inside)) + inside


def new_batch(records: str, count: int, **changed: Any) -> bytes:
    """A batch by hand, from the attributes on checked; `records` in hexadecimal."""
    fields = {"base_offset": 100, "leader_epoch": 2, "attributes": 0, "last_offset_delta": count - 1,
              "base_timestamp": 1000, "max_timestamp": 1005} | changed  # fmt: skip
    checked = struct.pack(
        ">hiqqqhii", fields["attributes"], fields["last_offset_delta"], fields["base_timestamp"],
        fields["max_timestamp"], -1, -1, -1, count,
    ) + bytes.fromhex(records)  # fmt: skip
    crc = fields.get("crc", google_crc32c.value(checked))
    behind = struct.pack(">ibI", fields["leader_epoch"], 2, crc) + checked
    return struct.pack(">qi", fields["base_offset"], len(behind)) + behind


KEY_AND_VALUE = "00000001 6b 00000002 7676"
TWO_RECORDS = "12 00 00 00 02 6b 04 7676 001c 00 0a 02 01 01 04 02 68 04 6869 02 6a 01"
"""k -> vv; and, five milliseconds and one offset later, null -> null with the headers h = hi and j = null."""
