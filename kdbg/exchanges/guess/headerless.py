"""Bytes that mean something without a header: record sets and SASL tokens, and the APIs to read them by."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from ...protocol.grammars import sasl
from ...protocol.grammars.records import record_format
from ...protocol.wire import Api, Struct
from ...protocol.wire.language.types import At
from ...protocol.wire.nodes import Length, Node, Stream
from ...protocol.wire.records.node import RecordSet, RecordsNode
from ...protocol.wire.records.sets import crc32, entries
from .batches import Mended, batch, message
from .reason import Reason
from .single_message import batch_api, files

_TOKEN = re.compile(rb"[\x20-\x7e]*\0[\x20-\x7e]+\0[\x20-\x7e]+|[ny],(?:a=[^,]*)?,[\x20-\x7e\x01]+")
"""PLAIN: [authorization] NUL user NUL password (RFC 4616); SCRAM and OAUTHBEARER: a GS2 header, attributes."""


class Headerless(NamedTuple):
    """What bytes without a header are, how that is known, and what is known to be wrong in them."""

    api: Api
    reason: Reason
    cut: bool = False
    mended: Mended | None = None
    doubts: tuple[str, ...] = ()


def known_headerless(data: bytes) -> Headerless | None:
    """Return what these bytes are: a record set, a message or a SASL token; None for others."""
    if _is_message_set(data):
        return Headerless(records_api, Reason.CHECKSUM)
    found = batch(data)
    if found is not None:
        reason = Reason.CHECKSUM if found.proved else Reason.STRUCTURE
        alone = found.cut or found.mended is not None
        return Headerless(batch_api(data) if alone else records_api, reason, found.cut, found.mended, found.doubts)
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
