"""Files of a broker's disk that are no log: entries of one size, the producer snapshot, and files that people can read.

Indexes (`.index`, `.timeindex`, `.txnindex`) are nothing but entries. Brokers set them aside in full length and cut
them to size when the segment is done: an active segment's index ends in zeros.

Of texts, a checkpoint is a version, a count, and so many lines of words; `partition.metadata` and `meta.properties` are
lines of `name=value` or `name: value`, KRaft's `quorum-state` (KIP-595) is a JSON object. A piece is a line, or a
member of the object.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from ...exchanges.messages.message import Message, explain, read
from ...exchanges.messages.score import YEARS
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import FactKind
from ...protocol.findings.faults import FaultKind, ValueFact
from ...protocol.grammars import log_files
from ...protocol.grammars.payloads.producer_snapshot import producer_snapshot
from ...protocol.wire import Api, Int32, Int64, String, Struct, TopicName
from ...protocol.wire.nodes import Node, Sized, WireStruct
from ...protocol.wire.readings.annotate import Buffer, Inspection, Span
from ...protocol.wire.records.sets import crc32c
from .piece import CHUNK, LARGEST, FileKind, Read, SegmentPiece, ends_inside, of_file, read_at_most, zeros_between

SNAPSHOT_VERSION = 1
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

    def _disorder(self, entry: FixedEntry, before: FixedEntry) -> ValueFact | None:
        """Return what is wrong about an entry after another one, None for nothing."""
        for name, growing in self.growing.items():
            number, least = entry[name], before[name] + (not self.repeats)
            if number < least:
                if not growing:
                    return FactKind.ENDS_BEHIND.of(offset=number, before=before[name])
                return FactKind.BEHIND.of(name=name, number=number, before=before[name], growing=growing)
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
    """The producer snapshot: a file of one piece, whose checksum covers all that follows it."""

    name: str = "snapshot"
    title: str = "producer snapshot"
    api: Api = field(default=alone("ProducerSnapshot", SNAPSHOT))

    def begins(self, head: bytes) -> bool:
        """Whether the version is the one there is, and the checksum right or the end not yet in sight."""
        if len(head) < HEADER.size:
            return False
        version, crc, count = HEADER.unpack_from(head)
        if version != SNAPSHOT_VERSION or count < 0:
            return False
        size = HEADER.size + count * PRODUCER_SIZE
        return len(head) < size or bool(len(head) == size and crc32c(head[CRC_FROM:]) == crc)

    def pieces(self, read: Read) -> Iterator[SegmentPiece]:
        data = b"".join(read_at_most(read, LARGEST))
        if len(data) < HEADER.size:
            yield ends_inside("its header", 0, data, HEADER.size)
            return
        crc, proved = HEADER.unpack_from(data)[1], crc32c(data[CRC_FROM:])
        wrong = FaultKind.CHECKSUM_WRONG.of(of="snapshot", algorithm="CRC-32C", says=crc, gives=proved)
        odd = Finding(Kind.CRC_MISMATCH, "", "crc", 2, 4, wrong)
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


class LineForm:
    """How a line may look: the groups of `pattern` are the fields of `layout`."""

    def __init__(self, pattern: str, *fields: Any) -> None:
        self.pattern: re.Pattern[bytes] = re.compile(pattern.encode(), re.DOTALL)
        self.api: Api = alone("Text", Struct(*fields))
        self.grammar: WireStruct = self.api.at("response", 0)

    def fields(self, line: bytes) -> Iterator[tuple[Node, str, int, int, Any]]:
        """Yield (type, name, start, end, value) of each field; nothing where the line has another form."""
        found = self.pattern.fullmatch(line)
        for name, node, *_ in self.grammar.fields if found else ():
            assert found is not None
            text = found[name].decode("utf-8", "surrogateescape")
            yield node, name, *found.span(name), text if isinstance(node, Sized) else int(text)


VERSION = LineForm(r"(?P<version>\d{1,4})\s*", "version" / Int32)
COUNT = LineForm(r"(?P<count>\d{1,9})\s*", "count" / Int32)
EPOCH = LineForm(r"(?P<epoch>\d{1,10}) (?P<start_offset>\d{1,19})\s*", "epoch" / Int32, "start_offset" / Int64)
OFFSET = LineForm(
    r"(?P<topic>\S+) (?P<partition>\d{1,10}) (?P<offset>-?\d{1,19})\s*",
    "topic" / TopicName, "partition" / Int32, "offset" / Int64,
)  # fmt: skip
COMMENT = LineForm(r"\s*#(?P<comment>.*?)\s*", "comment" / String)
PAIR = LineForm(r"\s*(?P<name>[^\s=:#]+)\s*[=:]\s*(?P<value>.*?)\s*", "name" / String, "value" / String)
MEMBER = LineForm(r'[{\s]*"(?P<name>\w+)"\s*:\s*(?P<value>.*?)[,}\s]*', "name" / String, "value" / String)
UNKNOWN = LineForm(r"(?P<text>.*)", "text" / String)
LINES = re.compile(rb"[^\n]*\n|[^\n]+")
MEMBERS = re.compile(rb'.+?,(?=\s*")|.+', re.DOTALL)


@dataclass(frozen=True)
class Text(FileKind):
    """A kind of text: how it begins, what its pieces are, and how they may look."""

    name: str
    title: str
    beginning: re.Pattern[bytes]
    forms: tuple[LineForm, ...]
    parts: re.Pattern[bytes] = LINES
    counted: bool = False
    """Whether the second line says how many follow."""

    def begins(self, head: bytes) -> bool:
        return self.beginning.match(head) is not None

    def pieces(self, read: Read) -> Iterator[SegmentPiece]:
        data = b"".join(read_at_most(read, LARGEST))
        lines = len(LINES.findall(data)) - 2
        for number, found in enumerate(self.parts.finditer(data)):
            piece = SegmentPiece(found.start(), found[0])
            if self.counted and number == 1 and found[0].strip() != b"%d" % lines:
                facts = FactKind.COUNT_WRONG.of(says=found[0].strip()[:20].decode("latin-1"), follow=lines)
                odd = Finding(Kind.INVALID_LENGTH, "", "count", 0, piece.size, facts)
                piece = SegmentPiece(piece.position, piece.data, (odd,))
            yield piece

    def message(self, piece: SegmentPiece, *, shallow: bool = False) -> Message:
        form = self._form(piece)
        facts = FactKind.NO_LINE.of(self.title)
        odd = [] if form is not UNKNOWN else [Finding(Kind.INVALID_VALUE, "", "", 0, piece.size, facts)]
        body = {name: value for _, name, _, _, value in form.fields(piece.data)}
        return Message(form.api, 0, "response", None, body, form.grammar, piece.size, tuple(odd))

    def inspection(self, piece: SegmentPiece) -> Inspection:
        message, start = self.message(piece), 0
        found = Inspection([Buffer("", piece.data)], value=message.body, findings=list(message.findings))
        fields = list(self._form(piece).fields(piece.data))
        for node, name, _, end, value in fields:
            end = piece.size if name == fields[-1][1] else end
            found.spans.append(Span(name, start, end, "TEXT", value, None if isinstance(value, int) else node))
            start = end
        return found

    def _form(self, piece: SegmentPiece) -> LineForm:
        """Return the form that a line has; the first of a checkpoint is its version, the second its count."""
        if self.counted and piece.position == 0:
            return VERSION
        return next((form for form in self.forms if form.pattern.fullmatch(piece.data)), UNKNOWN)


checkpoint: Final = Text(
    "checkpoint", "checkpoint", re.compile(rb"\d{1,4}\r?\n\d{1,9}\r?\n(\Z|\d+ \d+\r?\n|\S+ \d+ -?\d+\r?\n)"),
    (COUNT, EPOCH, OFFSET), counted=True,
)  # fmt: skip
properties: Final = Text(
    "properties", "properties file",
    re.compile(rb"(#[^\n]*\n)*((version|node\.id|broker\.id|cluster\.id|directory\.id|topic_id)\s*[=:])"),
    (COMMENT, PAIR),
)  # fmt: skip
quorum_state: Final = Text(
    "quorum-state", "KRaft quorum state file",
    re.compile(rb'\s*\{[^{}]*"(leaderId|votedId|leaderEpoch)"'), (MEMBER,), parts=MEMBERS,
)  # fmt: skip
