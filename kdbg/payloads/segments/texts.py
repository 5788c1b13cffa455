"""Files that people can read: checkpoints, `partition.metadata`, `meta.properties`, KRaft's `quorum-state` (KIP-595).

A checkpoint is a version, a count, and so many lines of words; the others are lines of `name=value` or `name: value`,
and a JSON object. A piece is a line, or a member of the object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ...exchanges.messages.message import Message
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import CountWrong, NoLine
from ...protocol.wire import Api, Int32, Int64, String, Struct, TopicName
from ...protocol.wire.nodes import Node, Sized, WireStruct
from ...protocol.wire.readings.annotate import Buffer, Inspection, Span
from .piece import LARGEST, FileKind, Read, SegmentPiece, read_at_most


class LineForm:
    """How a line may look: the groups of `pattern` are the fields of `layout`."""

    def __init__(self, pattern: str, *fields: Any) -> None:
        self.pattern: re.Pattern[bytes] = re.compile(pattern.encode(), re.DOTALL)
        self.api: Api = Api(-1, "Text", Struct(*fields), Struct(*fields), range(1), headerless=True)
        self.grammar: WireStruct = self.api.at("response", 0)

    def fields(self, line: bytes) -> Iterator[tuple[Node, str, int, int, Any]]:
        """Yield (type, name, start, end, value) of each field; nothing where the line has another form."""
        found = self.pattern.fullmatch(line)
        for field in self.grammar.fields if found else ():
            assert found is not None
            text = found[field.name].decode("utf-8", "surrogateescape")
            value = text if isinstance(field.node, Sized) else int(text)
            yield field.node, field.name, *found.span(field.name), value


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
                facts = CountWrong(found[0].strip()[:20].decode("latin-1"), lines)
                odd = Finding(Kind.INVALID_LENGTH, "", "count", 0, piece.size, facts)
                piece = SegmentPiece(piece.position, piece.data, (odd,))
            yield piece

    def message(self, piece: SegmentPiece, *, shallow: bool = False) -> Message:
        form = self._form(piece)
        odd = [] if form is not UNKNOWN else [Finding(Kind.INVALID_VALUE, "", "", 0, piece.size, NoLine(self.title))]
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
