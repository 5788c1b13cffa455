"""Bytes that mean something without a header: record sets and SASL tokens, and the APIs to read them by."""

from __future__ import annotations

import re
from typing import Any, Final

from ..grammars import sasl
from ..grammars.records import record_format
from ..wire import Api, Struct
from ..wire.language.types import At
from ..wire.nodes import Length, Node, Stream
from ..wire.records.checksum import crc32, crc32c
from ..wire.records.node import RecordSet, RecordsNode
from ..wire.records.sets import entries
from .reason import Reason

_TOKEN = re.compile(rb"[\x20-\x7e]*\0[\x20-\x7e]+\0[\x20-\x7e]+|[ny],(?:a=[^,]*)?,[\x20-\x7e\x01]+")
"""PLAIN: [authorization] NUL user NUL password (RFC 4616); SCRAM and OAUTHBEARER: a GS2 header, attributes."""


def known_headerless(data: bytes) -> tuple[Api, Reason] | None:
    """Return (what these bytes are, how that is known) for a record set or a SASL token, None for others."""
    if _is_record_set(data):
        return records_api, Reason.CHECKSUM
    return (sasl.api, Reason.TOKEN) if _TOKEN.fullmatch(data) else None


def _is_record_set(data: bytes) -> bool:
    """Return whether the bytes begin with a batch or message whose checksum is right."""
    first = next(entries(data, 0, len(data), record_format), None)
    if first is None or first.magic is None:
        return False
    if first.magic == 2:
        crc_at = record_format.crc_at
        return crc32c(memoryview(data)[crc_at + 4 : first.end]) == int.from_bytes(data[crc_at : crc_at + 4], "big")
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
