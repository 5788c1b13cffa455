"""Bytes that mean something without a header, and the APIs to read them by: record sets, messages and SASL tokens.

Record batches and messages are known by their structure, also where a checksum is wrong or the end is missing.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from ...protocol.grammars import sasl
from ...protocol.grammars.records import record_format
from ...protocol.wire import Api, Struct
from ...protocol.wire.language.types import At
from ...protocol.wire.nodes import Length, Node, Stream
from ...protocol.wire.records import RecordSet, RecordsNode
from ...protocol.wire.records.sets import crc32, crc32c, entries
from ..messages.score import YEARS
from .hints import Mended, Reason
from .structures import batch_api, files

HEADER, CRC_AT, LENGTH_AT, MAGIC_AT = record_format.header_size, record_format.crc_at, 8, 16
LARGEST = 128 << 20
_TOKEN = re.compile(rb"[\x20-\x7e]*\0[\x20-\x7e]+\0[\x20-\x7e]+|[ny],(?:a=[^,]*)?,[\x20-\x7e\x01]+")
"""PLAIN: [authorization] NUL user NUL password (RFC 4616); SCRAM and OAUTHBEARER: a GS2 header, attributes."""


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
    length, magic, crc = _number(data, LENGTH_AT), data[MAGIC_AT], _number(data, CRC_AT) & 0xFFFFFFFF
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
    likely = cut and (_begins(data) or (len(odd) < 2 and not any(data[:3])))
    return Headerless(batch_api(data), Reason.STRUCTURE, True, None, odd) if likely else None


def _ends(data: bytes) -> bool:
    """Return whether the lengths of batches lead to the end of the bytes, two batches or more, or into the last."""
    at = count = 0
    while len(data) - at > MAGIC_AT:
        length = _number(data, at + LENGTH_AT)
        if length < HEADER - 12 or data[at + MAGIC_AT] != 2:
            return False
        at, count = at + 12 + length, count + 1
    return count > 1


def _begins(data: bytes) -> bool:
    """Return whether the first 17 bytes are those of a batch beyond doubt, whatever follows."""
    return not any(data[:4]) and _number(data, LENGTH_AT) < 1 << 24 and 0 <= _number(data, 12) < 1 << 16


def doubts(data: bytes) -> tuple[str, ...]:
    """Return the fields of a batch's header that no peer would write so, as far as the header is there."""
    last, count = _number(data, 23), _number(data, 57)
    times = {path: _number(data, at, 8) for path, at in (("base_timestamp", 27), ("max_timestamp", 35))}
    checks = (
        ("partition_leader_epoch", 16, _number(data, 12) >= -1),
        ("attributes", 23, _number(data, 21, 2) in range(0x80) and _number(data, 21, 2) & 7 <= 4),
        ("last_offset_delta", 27, last in range(1 << 24)),
        *((path, 43, time in YEARS or time in (-1, 0)) for path, time in times.items()),
        ("producer_id", 51, _number(data, 43, 8) >= -1),
        ("producer_epoch", 53, _number(data, 51, 2) >= -1),
        ("records_count", HEADER, 0 < count <= last + 1),
    )
    return tuple(path for path, end, sound in checks if len(data) >= end and not sound)


def message(data: bytes) -> bool:
    """Return whether a message of magic 0 or 1, without offset and size, is all of the bytes; by its checksum."""
    return len(data) >= 14 and data[4] <= 1 and crc32(memoryview(data)[4:]) == _number(data, 0) & 0xFFFFFFFF


def _number(data: bytes, at: int, size: int = 4) -> int:
    return int.from_bytes(data[at : at + size], "big", signed=True)


def known_headerless(data: bytes) -> Headerless | None:
    """Return what these bytes are: a record set, a message or a SASL token; None for others."""
    if _is_message_set(data):
        return Headerless(records_api, Reason.CHECKSUM)
    found = batch(data)
    if found is not None:
        return found
    if message(data):
        return Headerless(files()[3 + data[4]], Reason.CHECKSUM)
    return Headerless(sasl.api, Reason.TOKEN) if _TOKEN.fullmatch(data) else None


def _is_message_set(data: bytes) -> bool:
    """Return whether the bytes begin with a message of magic 0 or 1 whose checksum is right."""
    first = next(entries(data, 0, len(data), record_format), None)
    if first is None or first.magic not in (0, 1):
        return False
    return crc32(memoryview(data)[16 : first.end]) == int.from_bytes(data[12:16], "big")


class _Left(Node):
    """A length that does not stand on the wire: it is that of the bytes that are left."""

    bnf = "LEFT"

    def _parse(self, stream: Stream, context: Any, path: str) -> int:
        start = stream.tell()
        end = stream.seek(0, 2)
        stream.seek(start)
        return end - start

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        return value


class _RecordsAlone(RecordSet):
    def at(self, at: At, *, nullable: bool = False) -> RecordsNode:
        return RecordsNode("RECORDS", Length(_Left(), 0), record_format, nullable=False, cut=True)


_records = Struct("records" / _RecordsAlone(record_format))
records_api: Final = Api(-1, "RecordSet", _records, _records, versions=range(1), headerless=True)
"""A record set by itself: a batch that somebody cut out, the file of a log segment."""
