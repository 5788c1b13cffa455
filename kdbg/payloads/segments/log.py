"""The entries of a log, one after the other, in bytes that may be damaged.

An entry is believed when its checksum proves it, or when another entry, zeros or the file's end follow right after it:
then its length is sound, and what is wrong lies inside it. Where neither holds, the next entry that a checksum proves
and whose offset is further on is searched for; what lies before it is one piece, with a finding.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ...budget import MEMORY
from ...exchanges.guess.structures import records_api, signed
from ...exchanges.messages.message import Message, explain, read_slowly
from ...exchanges.messages.payloads import open_inspection, open_payloads, tells_metadata
from ...exchanges.messages.secrets import is_metadata
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import FactKind, PlainFact
from ...protocol.grammars.payloads import TOPICS
from ...protocol.grammars.records import record_format
from ...protocol.wire import TopicName
from ...protocol.wire.language.payload import Sealed
from ...protocol.wire.language.types import At
from ...protocol.wire.nodes import Field, WireStruct
from ...protocol.wire.readings.annotate import Inspection
from ...protocol.wire.readings.compiled import COMPILED, UNREADABLE
from ...protocol.wire.records.sets import CODEC_MASK, CONTROL, PREAMBLE, crc32, crc32c, decode
from .piece import CHUNK, LARGEST, METADATA_TOPIC, FileKind, Read, SegmentPiece, ends_inside, of_file, zeros_between

HEADER = record_format.header_size
"""Bytes that an entry is judged by: the header of a batch, the longest there is."""
LEAST = PREAMBLE.size + 14
"""The shortest entry: a message of magic 0 with neither key nor value."""
MESSAGE = struct.Struct(">qiIbb")
"""Offset, length, checksum, magic and attributes of a message; in a batch offset, length and magic stand there too."""
BATCH_TAIL = struct.Struct(">hi")
"""Attributes and last offset delta of a batch, after its checksum."""
ZEROS = 4096
"""So many zeros in a row are no part of what is damaged: a file that was set aside, a block that was never written."""
CANDIDATE = re.compile(rb"(?=[\0-\x7f][\0-\xff]{7}(?!\0{4})[\0-\x07][\0-\xff]{7}[\0-\2])|\0{%d}" % ZEROS, re.DOTALL)
"""Where an entry may begin: neither its offset nor its length is negative, its magic is 0, 1 or 2. Or many zeros."""
MOST_DAMAGE = 16 << 20
"""Damage is handed over in pieces of no more bytes."""
CREDIT, CREDIT_PER_BYTE = 2 * LARGEST, 64
"""The most bytes whose checksums may fail, and more for each byte read: hostile bytes can claim a long entry at every
place."""


def entry_size(data: bytes | bytearray, at: int) -> int | None:
    """Return the size of the entry that begins here; None where none can."""
    if len(data) - at < LEAST:
        return None
    offset, length, _, magic, attributes = MESSAGE.unpack_from(data, at)
    if offset < 0 or not 14 <= length <= LARGEST - PREAMBLE.size:
        return None
    if magic != 2:  # the lengths of key and value, as far as they can be seen, add up to that of the message
        sound = magic in (0, 1) and 0 <= attributes < 0x10 and attributes & CODEC_MASK <= 3
        key, end = at + (18 if magic == 0 else 26), at + PREAMBLE.size + length
        sound = sound and len(data) >= key + 4 and signed(data, key) >= -1
        value = key + 4 + max(signed(data, key), 0)
        left = end - value - 4
        sound = sound and left >= 0 and (len(data) < value + 4 or max(signed(data, value), 0) == left)
    elif length < HEADER - PREAMBLE.size or len(data) - at < HEADER:
        sound = False
    else:
        attributes, last_delta = BATCH_TAIL.unpack_from(data, at + record_format.crc_at + 4)
        count = signed(data, at + HEADER - 4)
        sound = 0 <= attributes < 0x80 and attributes & CODEC_MASK <= 4 and 0 <= count <= last_delta + 1
    return PREAMBLE.size + length if sound else None


def is_proved(entry: bytes) -> bool:
    """Whether the checksum of an entry is right."""
    at = record_format.crc_at
    if entry[16] == 2:
        return crc32c(memoryview(entry)[at + 4 :]) == int.from_bytes(entry[at : at + 4], "big")
    return crc32(memoryview(entry)[16:]) == int.from_bytes(entry[12:16], "big")


class LogWalk:
    """Goes through a log. Bytes grow at the end of `data` and are dropped at its beginning, the file's byte `position`.

    `last` is the last offset that a checksum has proved; `credit` how many bytes may still fail their checksum.
    """

    def __init__(self, read: Read) -> None:
        self.read: Read = read
        self.data: bytearray = bytearray()
        self.position: int = 0
        self.last: int = -1
        self.credit: int = CREDIT

    def pieces(self) -> Iterator[SegmentPiece]:
        while self.has(1):
            piece = self.entry() or self.damage()
            self.drop(piece.position + piece.size - self.position)
            yield piece

    def has(self, size: int) -> bool:
        """Read until so many bytes are there; return whether they are."""
        while len(self.data) < size:
            more = self.read(CHUNK)
            if not more:
                return False
            self.data += more
        return True

    def drop(self, size: int) -> None:
        del self.data[:size]
        self.position += size
        self.credit = min(self.credit + CREDIT_PER_BYTE * size, CREDIT)

    def entry(self) -> SegmentPiece | None:
        """Return the entry that begins here, if it is sound; else None."""
        self.has(HEADER)
        data = self.whole(0)
        if data is None:
            return None
        if not is_proved(data):
            size = len(data)
            self.credit -= size
            # Another entry, or the beginning of one, zeros, or nothing at all must follow it.
            followed = (not self.has(size + HEADER) and self.is_cut(size)) or (
                not any(self.data[size : size + HEADER]) or entry_size(self.data, size) is not None
            )
            return SegmentPiece(self.position, data) if followed else None
        first = signed(data, 0, 8)
        last = first + (BATCH_TAIL.unpack_from(data, record_format.crc_at + 4)[1] if data[16] == 2 else 0)
        behind = FactKind.BEHIND.of(name="offset", number=first, before=self.last, growing="offsets")
        odd = Finding(Kind.OUT_OF_ORDER, "", "", 0, 8, behind)
        found = SegmentPiece(self.position, data, (odd,) if first <= self.last else ())
        self.last = max(self.last, last)
        return found

    def whole(self, at: int) -> bytes | None:
        """Return the entry that begins there, if all of it is there and `credit` allows its checksum; else None."""
        size = entry_size(self.data, at)
        if size is None or size > self.credit or not self.has(at + size):
            return None
        return bytes(self.data[at : at + size])

    def is_cut(self, at: int) -> bool:
        """Whether the last bytes, too few to be judged, may begin an entry: their offset is further on."""
        offset = int.from_bytes(self.data[at : at + 8], "big")
        return len(self.data) - at < 8 or 0 < offset - self.last < 1 << 31

    def damage(self) -> SegmentPiece:
        """Return what lies before the next proved entry, before many zeros, or before the file's end."""
        if not any(self.data[:HEADER]):
            return self.zeros()
        if not self.has(HEADER) and self.is_cut(0):
            return ends_inside("an entry", self.position, bytes(self.data), HEADER)
        claimed, size = entry_size(self.data, 0) or 0, self.search()
        data = bytes(self.data[:size])
        if size < claimed and not self.has(size + 1):
            return ends_inside("an entry", self.position, data, claimed)
        return SegmentPiece(
            self.position, data, (Finding(Kind.UNDECODED_BYTES, "", "", 0, size, PlainFact.NO_LOG_ENTRY),), whole=False
        )

    def zeros(self) -> SegmentPiece:
        """Return a piece of zeros; the last of them are left if they may begin an entry's offset and length."""
        start = self.position
        while self.has(1) and not any(self.data):
            self.drop(len(self.data))
        if not self.data:
            return SegmentPiece(start, b"", zeros=self.position - start)
        self.has(len(self.data) + HEADER)
        ahead = len(self.data) - len(self.data.lstrip(b"\0"))
        begins = (ahead - back for back in range(PREAMBLE.size - 1, 0, -1))
        self.drop(next((at for at in begins if entry_size(self.data, at) is not None), ahead))
        return zeros_between(start, self.position - start)

    def search(self) -> int:
        """Return how many bytes `damage` takes; no more than MOST_DAMAGE."""
        at = 1
        while at < MOST_DAMAGE:
            found = CANDIDATE.search(self.data, at)
            if found is None:
                at = max(at, len(self.data) - ZEROS)
                if not self.has(len(self.data) + 1):
                    return min(len(self.data), MOST_DAMAGE)
                continue
            at = found.start()
            if found.end() > at:
                return at
            self.has(at + HEADER)
            entry = self.whole(at) if int.from_bytes(self.data[at : at + 8], "big") > self.last else None
            if entry is not None:
                if is_proved(entry):
                    return at
                self.credit -= len(entry)
            at += 1
        return MOST_DAMAGE


WITH_TOPIC = WireStruct((Field("topic", TopicName.at(At(0, False))), *records_api.at("response", 0).fields), None)
"""What a piece says, beside the topic that it is of: that tells what its records hold."""
UNREAD = ("raw", "partial", "raw_records", "compressed_records")
"""The bytes in the value of an entry that stand for what could not be read, or for what stands beside them read."""
IN_FRONT = "records[0]."
"""The path of the one entry of a piece, which says nothing to a reader."""


class Log(FileKind):
    """The kind of file that is a log; by its topic's name the records of Kafka's own topics are opened."""

    name = "log"
    title = "log segment"
    timed = True

    def __init__(self, topic: str | None = None, head: bytes = b"") -> None:
        """Name the topic by the file's folder, which is believed of Kafka's own; `head` is how the file begins."""
        self.topic = topic if topic in TOPICS else METADATA_TOPIC if is_metadata_log(head) else None
        self.named: str | None = self.topic or topic
        """What readers of keys and values go by; records are opened by `topic` alone."""
        self.secret: bool = self.topic == METADATA_TOPIC
        """Whether bytes that cannot be read may hold secrets: the KRaft log has SCRAM credentials and tokens."""

    def hides(self, piece: SegmentPiece) -> bool:
        """Return whether the bytes of a piece that is no entry may hold secrets."""
        return self.secret or (self.topic is None and is_metadata(piece.data))

    def begins(self, head: bytes) -> bool:
        """Whether an entry stands first."""
        return entry_size(head, 0) is not None

    def pieces(self, read: Read) -> Iterator[SegmentPiece]:
        return LogWalk(read).pieces()

    def message(self, piece: SegmentPiece, *, shallow: bool = False) -> Message:
        if not piece.whole:
            return self._message(piece, [{"raw": piece.data}])
        MEMORY.begin()
        try:
            entries = decode(piece.data, record_format, COMPILED, cut=False, shallow=shallow)
        except UNREADABLE:
            slow = read_slowly(records_api, 0, "response", piece.data, header=False)
            message = self._message(piece, slow.body["records"], slow.findings)
        else:
            if shallow and entries[0]["magic"] == 2 and entries[0]["attributes"] & CONTROL:
                return self.message(piece)  # its one record is all its meaning
            message = self._message(piece, entries)
        if not shallow:
            message = open_payloads(message, piece.data)
            message.body["topic"] = self.named
        message.findings = tuple(map(shortened, message.findings))
        return message

    def _message(
        self, piece: SegmentPiece, entries: list[dict[str, Any]], findings: tuple[Finding, ...] = ()
    ) -> Message:
        for entry in entries if self.hides(piece) and (self.secret or not piece.whole) else ():
            entry.update({name: Sealed(entry[name]) for name in UNREAD if name in entry})
        body = {"topic": self.topic, "records": entries}
        return Message(records_api, 0, "response", None, body, WITH_TOPIC, piece.size, findings)

    def inspection(self, piece: SegmentPiece) -> Inspection:
        found = explain(records_api, 0, "response", piece.data, header=False)[1]
        found.value["topic"] = self.topic
        open_inspection(WITH_TOPIC, found)
        found.value["topic"] = self.named
        found.spans = [
            span._replace(
                path=span.path.removeprefix(IN_FRONT), secret=span.secret or (self.secret and span.role == "raw")
            )
            for span in found.spans
        ]
        found.buffers = [buffer._replace(name=buffer.name.removeprefix(IN_FRONT)) for buffer in found.buffers]
        found.findings = [shortened(finding) for finding in found.findings]
        return found

    def times(self, message: Message) -> tuple[int, int] | None:
        (entry,) = message.body["records"]
        first = entry.get("base_timestamp", entry.get("timestamp", -1))
        times = [first, entry.get("max_timestamp", first)]
        times += [record.get("timestamp", -1) for record in entry.get("records", ())]
        known = [time for time in times if time >= 0]
        return (min(known), max(known)) if known else None


def is_metadata_log(head: bytes) -> bool:
    """Return whether a file that begins so is of the KRaft log, by its records, wherever it was copied to."""
    for piece in LogWalk(io.BytesIO(head).read).pieces():
        with suppress(*UNREADABLE):
            if piece.whole and any(map(tells_metadata, decode(piece.data, record_format, COMPILED, cut=False))):
                return True
    return False


def shortened(finding: Finding) -> Finding:
    """Return a finding in a record set of one entry as a finding of that entry in a file."""
    return of_file(finding)._replace(path=finding.path.removeprefix(IN_FRONT))
