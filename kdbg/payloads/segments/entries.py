"""Files of entries of one size (`.index`, `.timeindex`, `.txnindex`), and the producer snapshot (`.snapshot`).

Brokers set index files aside in full length and cut them to size when the segment is done: an active segment's index
ends in zeros.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from ...exchanges.messages.message import Message, explain, read
from ...exchanges.messages.score import YEARS
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import Behind, EndsBehind
from ...protocol.findings.faults import ChecksumWrong
from ...protocol.grammars import log_files
from ...protocol.grammars.payloads.producer_snapshot import producer_snapshot
from ...protocol.wire import Api, Struct
from ...protocol.wire.readings.annotate import Inspection
from ...protocol.wire.records.sets import crc32c
from .piece import CHUNK, LARGEST, FileKind, Read, SegmentPiece, ends_inside, of_file, read_at_most, zeros_between

VERSION = 1
"""The only version of a producer snapshot that there is."""
SNAPSHOT = Struct(*producer_snapshot.frame, *producer_snapshot.layout.declared)
HEADER = struct.Struct(">hIi")
"""How a producer snapshot begins: version, checksum, number of producers."""
CRC_FROM = 6
PRODUCER_SIZE = 46
MOST_PRODUCERS = 1 << 48
"""Producer ids are given out one by one: no cluster comes this far."""
FixedEntry = dict[str, Any]


def alone(name: str, structure: Struct) -> Api:
    """Make an API of a structure that is read by itself."""
    return Api(-1, name, structure, structure, range(1), headerless=True)


class _Structured(FileKind):
    """A kind of file whose pieces are structures of one declaration."""

    api: Api

    @property
    def timed(self) -> bool:
        return "timestamp" in {field.name for field in self.api.at("response", 0).fields}

    def times(self, message: Message) -> tuple[int, int] | None:
        time = message.body.get("timestamp", -1)
        return (time, time) if time >= 0 else None

    def message(self, piece: SegmentPiece, *, shallow: bool = False) -> Message:
        message = read(self.api, 0, "response", piece.data, header=False)
        message.findings = tuple(of_file(finding) for finding in message.findings)
        return message

    def inspection(self, piece: SegmentPiece) -> Inspection:
        found = explain(self.api, 0, "response", piece.data, header=False)[1]
        found.findings = [of_file(finding) for finding in found.findings]
        return found

    def facts(self, message: Message, base_offset: int | None) -> FixedEntry:
        if base_offset is None or "relative_offset" not in message.body:
            return {}
        return {"offset": base_offset + message.body["relative_offset"]}


@dataclass(frozen=True)
class Entries(_Structured):
    """A file that is nothing but entries; `sane` judges one entry by itself.

    `growing` are the fields that must be greater than in the entry before, or (`repeats`) at least not smaller, each
    with the word for its values; "" for the ends of transactions.
    """

    name: str
    title: str
    api: Api
    size: int
    growing: Mapping[str, str]
    sane: Callable[[FixedEntry], bool]
    repeats: bool = False

    def begins(self, head: bytes) -> bool:
        """Whether the first entries are sane and in order. Zeros may be any index: they are none by content."""
        starts = range(0, len(head) - self.size + 1, self.size)
        found = [self.message(SegmentPiece(at, head[at : at + self.size])).body for at in starts]
        ends = next((i for i, entry in enumerate(found) if not any(entry.values())), len(found))
        entries, rest = found[:ends], head[ends * self.size :]
        if not entries or (any(rest) and (len(head) % self.size or ends < len(found))):
            return False
        in_order = not any(self._disorder(b, a) for a, b in pairwise(entries))
        return in_order and all(map(self.sane, entries))

    def _disorder(self, entry: FixedEntry, before: FixedEntry) -> Behind | EndsBehind | None:
        """Return what is wrong about an entry behind another one, None for nothing."""
        for name, growing in self.growing.items():
            number, least = entry[name], before[name] + (not self.repeats)
            if number < least:
                return Behind(name, number, before[name], growing) if growing else EndsBehind(number, before[name])
        return None

    def pieces(self, read: Read) -> Iterator[SegmentPiece]:
        data, position, zeros = b"", 0, 0
        before: FixedEntry | None = None
        while more := read(CHUNK):
            data += more
            whole = len(data) - len(data) % self.size
            if not any(data):
                zeros += whole
            else:
                for at in range(0, whole, self.size):
                    piece = SegmentPiece(position + at, data[at : at + self.size])
                    if not any(piece.data):
                        zeros += self.size
                        continue
                    if zeros:
                        yield zeros_between(piece.position - zeros, zeros)
                        zeros = 0
                    entry = self.message(piece).body
                    odd = self._disorder(entry, before) if before else None
                    before = entry
                    findings = (Finding(Kind.OUT_OF_ORDER, start=0, facts=odd),) if odd else ()
                    yield SegmentPiece(piece.position, piece.data, findings)
            data, position = data[whole:], position + whole
        if zeros:
            yield SegmentPiece(position - zeros, b"", zeros=zeros)
        if data:
            yield ends_inside("an entry", position, data, self.size)


@dataclass(frozen=True)
class Snapshot(_Structured):
    """The producer snapshot: a file of one piece, whose checksum covers all that stands behind it."""

    name: str = "snapshot"
    title: str = "producer snapshot"
    api: Api = field(default=alone("ProducerSnapshot", SNAPSHOT))

    def begins(self, head: bytes) -> bool:
        """Whether the version is the one there is, and the checksum right or the end not yet in sight."""
        if len(head) < HEADER.size:
            return False
        version, crc, count = HEADER.unpack_from(head)
        if version != VERSION or count < 0:
            return False
        size = HEADER.size + count * PRODUCER_SIZE
        return len(head) < size or bool(len(head) == size and crc32c(head[CRC_FROM:]) == crc)

    def pieces(self, read: Read) -> Iterator[SegmentPiece]:
        data = b"".join(read_at_most(read, LARGEST))
        if len(data) < HEADER.size:
            yield ends_inside("its header", 0, data, HEADER.size)
            return
        crc, proved = HEADER.unpack_from(data)[1], crc32c(data[CRC_FROM:])
        odd = Finding(Kind.CRC_MISMATCH, "", "crc", 2, 4, ChecksumWrong("snapshot", "CRC-32C", crc, proved))
        yield SegmentPiece(0, data, () if crc == proved else (odd,))


offset_index: Final = Entries(
    "index", "segment offset index", alone("OffsetIndexEntry", log_files.offset_index_entry), 8,
    {"relative_offset": "offsets", "position": "positions"},
    lambda entry: entry["relative_offset"] >= 0 and entry["position"] > 0,
)  # fmt: skip
time_index: Final = Entries(
    "timeindex", "time index", alone("TimeIndexEntry", log_files.time_index_entry), 12,
    {"timestamp": "times", "relative_offset": "offsets"},
    lambda entry: entry["timestamp"] in YEARS and entry["relative_offset"] >= 0,
    repeats=True,  # each entry is of the newest record so far
)  # fmt: skip
transaction_index: Final = Entries(
    "txnindex", "transaction index", alone("AbortedTransaction", log_files.aborted_transaction), 34,
    {"last_offset": ""},
    lambda entry: (
        entry["version"] == 0 and 0 <= entry["producer_id"] < MOST_PRODUCERS
        and 0 <= entry["first_offset"] <= entry["last_offset"]
    ),
)  # fmt: skip
