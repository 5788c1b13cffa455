"""A log segment (`.log`), also a KRaft snapshot (`.checkpoint`, KIP-630): record batches and messages to the end.

A segment is read an entry at a time. An entry is believed when its checksum proves it, or when another entry, zeros
or the file's end follow right behind it: then its length is sound, and what is wrong lies inside it. Where neither
holds, the next entry that a checksum proves is searched for, and what lies before it is passed over in one finding.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any

from ..findings import Finding
from ..grammars.records import record_format
from ..session.alone import records_api
from ..session.message import Message, explain, read_slowly
from ..session.payloads import open_inspection, open_payloads
from ..wire import TopicName
from ..wire.checksum import crc32, crc32c
from ..wire.compiled import COMPILED, UNREADABLE
from ..wire.nodes import Field, WireStruct
from ..wire.recordset import CODEC_MASK, CONTROL, PREAMBLE, decode
from ..wire.spans import Inspection
from ..wire.types import At
from .piece import CHUNK, LARGEST, Piece, Read, ends_inside, zeros_between

HEADER = record_format.header_size
"""Bytes that an entry is judged by: the header of a batch, the longest there is."""
LEAST = PREAMBLE.size + 14
"""The shortest entry: a message of magic 0 with neither key nor value."""
MESSAGE = struct.Struct(">qiIbb")
"""Offset, length, checksum, magic and attributes of a message; in a batch offset, length and magic stand there too."""
BATCH_TAIL = struct.Struct(">hi")
"""Attributes and last offset delta of a batch, behind its checksum."""
CANDIDATE = re.compile(rb"(?=[\0-\x7f][\0-\xff]{7}(?!\0{4})[\0-\x07][\0-\xff]{7}[\0-\2])", re.DOTALL)
"""Where an entry may begin: neither its offset nor its length is negative, its magic is 0, 1 or 2."""
PLAIN = records_api.at("response", 0)
MOST_DAMAGE = 16 << 20
"""Damage is handed over in pieces of no more bytes."""
CREDIT, CREDIT_PER_BYTE = 64 << 20, 64
"""Bytes whose checksums a search may compute: hostile bytes can claim a long entry at every place."""
WITH_TOPIC = WireStruct((Field("topic", TopicName.at(At(0, False))), *PLAIN.fields), None)
"""What a piece says, beside the topic that it is of: that tells what its records hold."""
IN_FRONT = "records[0]."
"""The path of the one entry of a piece, which says nothing to a reader."""


class Log:
    """The kind of file that is a log; by its topic's name the records of Kafka's own topics are opened."""

    name, title = "log", "log segment"
    timed = True

    def __init__(self, topic: str | None = None) -> None:
        self.topic = topic

    def begins(self, head: bytes) -> bool:
        """Whether an entry stands first."""
        return entry_size(head, 0) is not None

    def pieces(self, read: Read) -> Iterator[Piece]:
        return _Walk(read).pieces()

    def message(self, piece: Piece, *, shallow: bool = False) -> Message:
        if not piece.whole:
            return self._message([{"raw": piece.data}])
        try:
            entries = decode(piece.data, record_format, COMPILED, cut=False, shallow=shallow)
        except UNREADABLE:
            slow = read_slowly(records_api, 0, "response", piece.data, header=False)
            message = self._message(slow.body["records"], slow.findings)
        else:
            if shallow and entries[0]["magic"] == 2 and entries[0]["attributes"] & CONTROL:
                return self.message(piece)  # its one record is all its meaning
            message = self._message(entries)
        return message if shallow else open_payloads(message, piece.data)

    def _message(self, entries: list[dict[str, Any]], findings: tuple[Finding, ...] = ()) -> Message:
        body = {"topic": self.topic, "records": entries}
        return Message(records_api, 0, "response", None, body, WITH_TOPIC, 0, findings)

    def inspection(self, piece: Piece) -> Inspection:
        found = explain(records_api, 0, "response", piece.data, header=False)[1]
        found.value["topic"] = self.topic
        open_inspection(WITH_TOPIC, found)
        found.spans = [span._replace(path=span.path.removeprefix(IN_FRONT)) for span in found.spans]
        found.findings = [
            finding._replace(path=finding.path.removeprefix(IN_FRONT), text=finding.text.replace(IN_FRONT, ""))
            for finding in found.findings
        ]
        return found

    def facts(self, message: Message, base_offset: int | None) -> dict[str, Any]:
        return {}

    def times(self, message: Message) -> tuple[int, int] | None:
        (entry,) = message.body["records"]
        first = entry.get("base_timestamp", entry.get("timestamp", -1))
        times = [first, entry.get("max_timestamp", first)]
        times += [record.get("timestamp", -1) for record in entry.get("records", ())]
        known = [time for time in times if time >= 0]
        return (min(known), max(known)) if known else None


def entry_size(data: bytes | bytearray, at: int) -> int | None:
    """How long the entry is that begins here; None where none can."""
    if len(data) - at < LEAST:
        return None
    offset, length, _, magic, attributes = MESSAGE.unpack_from(data, at)
    if offset < 0 or not 14 <= length <= LARGEST - PREAMBLE.size:
        return None
    sound = _is_batch(data, at, length) if magic == 2 else _is_message(data, at, length, magic, attributes)
    return PREAMBLE.size + length if sound else None


def _is_batch(data: bytes | bytearray, at: int, length: int) -> bool:
    if length < HEADER - PREAMBLE.size or len(data) - at < HEADER:
        return False
    attributes, last_delta = BATCH_TAIL.unpack_from(data, at + record_format.crc_at + 4)
    count = int.from_bytes(data[at + HEADER - 4 : at + HEADER], "big", signed=True)
    return 0 <= attributes < 0x80 and attributes & CODEC_MASK <= 4 and bool(0 <= count <= last_delta + 1)


def _is_message(data: bytes | bytearray, at: int, length: int, magic: int, attributes: int) -> bool:
    if magic not in (0, 1) or not 0 <= attributes < 0x10 or attributes & CODEC_MASK > 3:
        return False
    key = at + (18 if magic == 0 else 26)
    if len(data) < key + 4 or length < key - at + 8 - PREAMBLE.size:
        return False
    key_size = int.from_bytes(data[key : key + 4], "big", signed=True)
    value = key + 4 + max(key_size, 0)
    left = at + PREAMBLE.size + length - value - 4
    if key_size < -1 or left < 0:
        return False
    value_size = int.from_bytes(data[value : value + 4], "big", signed=True)
    return len(data) < value + 4 or max(value_size, 0) == left


def is_proved(data: bytes) -> bool:
    """Whether the checksum of an entry is right."""
    at = record_format.crc_at
    if data[16] == 2:
        return crc32c(memoryview(data)[at + 4 :]) == int.from_bytes(data[at : at + 4], "big")
    return crc32(memoryview(data)[16:]) == int.from_bytes(data[12:16], "big")


class _Walk:
    """Bytes grow at the end of `data` and are dropped at its beginning, which is byte `position` of the file."""

    def __init__(self, read: Read) -> None:
        self.read, self.data, self.position = read, bytearray(), 0

    def pieces(self) -> Iterator[Piece]:
        while self.has(1):
            size = self.sound()
            yield self.dropped(Piece(self.position, bytes(self.data[:size]))) if size else self.damage()

    def has(self, size: int) -> bool:
        """Whether so many bytes are here, which are read if need be."""
        while len(self.data) < size:
            more = self.read(CHUNK)
            if not more:
                return False
            self.data += more
        return True

    def sound(self) -> int | None:
        """The size of the entry that begins here, if it is believed."""
        self.has(HEADER)
        size = entry_size(self.data, 0)
        if size is None or not self.has(size):
            return None
        return size if is_proved(bytes(self.data[:size])) or self.is_followed(size) else None

    def is_followed(self, size: int) -> bool:
        """Whether another entry, zeros, or nothing at all stands behind so many bytes."""
        self.has(size + HEADER)
        return not any(self.data[size : size + HEADER]) or entry_size(self.data, size) is not None

    def dropped(self, piece: Piece) -> Piece:
        """The piece; its bytes are dropped."""
        self.drop(piece.size)
        return piece

    def drop(self, size: int) -> None:
        del self.data[:size]
        self.position += size

    def damage(self) -> Piece:
        """What lies before the next entry that proves itself, or before the file's end."""
        self.has(HEADER)
        if not any(self.data[:HEADER]):
            return self.zeros()
        claimed = entry_size(self.data, 0) or 0
        size, proved = self.search()
        if claimed and not proved and size < claimed and not self.has(size + 1):
            return self.dropped(ends_inside("an entry", self.position, bytes(self.data), claimed))
        text = f"{size:,} bytes that are no batch and no message"
        return self.dropped(
            Piece(self.position, bytes(self.data[:size]), (Finding("skipped", text, "", 0, size),), False)
        )

    def zeros(self) -> Piece:
        """Bytes of zero; those before an entry's first byte may be the beginning of its offset and length."""
        start = self.position
        while self.has(1) and not self.data.rstrip(b"\0"):
            self.drop(len(self.data))
        if not self.data:
            return Piece(start, b"", zeros=self.position - start)
        ahead = len(self.data) - len(self.data.lstrip(b"\0"))
        self.drop(max(ahead - PREAMBLE.size + 1, 0))
        return zeros_between(start, self.position - start)

    def search(self) -> tuple[int, bool]:
        """(bytes before the next proved entry, True), or (bytes before the end or before MOST_DAMAGE, False)."""
        at, credit = 1, CREDIT
        while at < MOST_DAMAGE:
            found = CANDIDATE.search(self.data, at)
            if found is None:
                looked = max(at, len(self.data) - HEADER)
                credit += CREDIT_PER_BYTE * (looked - at)
                at = looked
                if self.has(len(self.data) + 1):
                    continue
                return len(self.data), False
            credit += CREDIT_PER_BYTE * (found.start() - at)
            at = found.start()
            self.has(at + HEADER)
            size = entry_size(self.data, at)
            if size is not None and size <= credit and self.has(at + size):
                if is_proved(bytes(self.data[at : at + size])):
                    return at, True
                credit -= size
            at += 1
        return at, False
