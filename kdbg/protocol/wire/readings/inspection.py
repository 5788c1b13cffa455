"""What is told of the bytes of a message: spans, each with its place and value, and what is odd.

Parts of messages that keep coming are read at once where they are sound, which spares the slow reading most of its
work. A generated reading proves a part and makes its value in one go, but to generate it costs more than to read a few
parts without. A part is familiar once it came `OFTEN` times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....budget import MEMORY
from ....errors import WireError
from ...findings import Finding, Kind, Side
from ...findings.facts import Facts, Stopped
from ...findings.faults import FaultKind
from ..nodes import Node, Sized, UuidNode, WireStruct, join
from ..records.sets import RecordFormat, records_of
from .compiled import COMPILED, UNREADABLE, reader
from .secrets import may_reveal, secret_members


class Span(NamedTuple):
    """Bytes `start` to `end` (not included) of a buffer, and what they say.

    `role` is "value" for a field, "size" for a length or count, "tag" for a tagged field's number and size, "raw"
    for bytes that no field claims. `node` knows the type's name and what its values mean; `secret` that no view may
    show them.
    """

    path: str
    start: int
    end: int
    type: str
    value: Any
    node: Node | None = None
    role: str = "value"
    buffer: int = 0
    secret: bool = False


class Buffer(NamedTuple):
    """Bytes that spans count in: number 0 is the message itself, the others were decompressed out of it."""

    name: str
    data: bytes


@dataclass
class Inspection:
    """Everything there is to say about the bytes of one message."""

    buffers: list[Buffer]
    side: Side = ""
    header: Any = None
    value: Any = None
    spans: list[Span] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    broken: WireError | None = None
    end: int = 0
    """Where reading ended in buffer 0."""
    unexplained: int = 0
    """Bytes of buffer 0 that no field claims; each has a finding."""


SPANS = 6
"""How much more memory values take with their places, and the lines of a hexdump."""


class Claims:
    """The bytes of one message, as far as they were read, and what was found in them.

    `pos` is where reading is in `data`. `ends` are the ends of the spans of the buffer at hand, in order: those of
    `spans`, which is None where nobody wants spans.
    """

    def __init__(self, data: bytes, opaque: bool, side: Side, spans: bool) -> None:
        self.result: Inspection = Inspection([Buffer("", data)], side)
        self.data: bytes = data
        self.pos: int = 0
        self.limit: int = len(data)
        """Bytes from here on belong to no part that is read at once: they are another entry's."""
        self.buffer: int = 0
        self.opaque: bool = opaque
        self.ends: list[int] = []
        self.spans: list[Span] | None = self.result.spans if spans else None
        self.factor: int = SPANS if spans else 1
        """How much more memory is taken than by values alone."""
        self.body_at = 0

    def span(self, path: str, start: int, type: str, value: Any, node: Node | None = None, role: str = "value") -> None:
        """Claim the bytes from `start` to where reading is."""
        self.ends.append(self.pos)
        if self.spans is not None:
            secret = role == "raw" and self.opaque
            self.spans.append(Span(path, start, self.pos, type, value, node, role, self.buffer, secret))

    def unclaimed(self, path: str, start: int, end: int) -> None:
        """Note that no field claims the bytes from `start` to `end`, and go past them."""
        self.pos = end
        self.span(path, start, "BYTES", self.data[start:end], role="raw")
        if self.buffer == 0:
            self.result.unexplained += end - start

    def skip(self, end: int) -> None:
        """Go past a part that was read at once."""
        self.pos = end
        self.ends.append(end)

    def finding(self, kind: Kind, facts: Facts, path: str, start: int, length: int = 0) -> None:
        place = start if self.buffer == 0 else None
        self.result.findings.append(Finding(kind, self.result.side, path, place, length, facts))

    def stop(self, error: WireError) -> None:
        """Remember why reading could not go on; the bytes from the break on belong to the broken field."""
        self.result.broken = error.with_traceback(None)  # whose frames would keep this alive until garbage is collected
        self.finding(error.kind, Stopped(error.start, error.fault), error.path, error.start)

    def close(self) -> None:
        """Claim the bytes that are left over, so that the spans tile the message to its end."""
        result, broken = self.result, self.result.broken
        covered = self.ends[-1] if self.ends else 0
        result.end = self.pos if broken is None else covered
        left = len(self.data) - result.end
        if broken is None and left:
            self.finding(Kind.TRAILING_BYTES, FaultKind.LEFTOVER.of(left), "", result.end, left)
        if left:
            self.unclaimed("" if broken is None else broken.path, result.end, len(self.data))

    def conceal(self) -> None:
        """Make secret what a broken message says that may hold secrets: its fields may be misaligned.

        Small numbers that stand alone stay: they are few bytes. Those of arrays are as many as a secret has.
        """
        if not self.opaque or not any(finding.kind.shifts for finding in self.result.findings):
            return
        spans = self.result.spans
        for i in range(self.body_at, len(spans)):
            span = spans[i]
            tells = (
                span.role == "value"
                and (span.node is None or span.node.kind != "error")
                and ("[" in span.path or may_reveal(span.value, False))
            )
            if tells or isinstance(span.node, (Sized, UuidNode)):
                spans[i] = spans[i]._replace(secret=True)

    def hide_secrets(self, node: WireStruct, path: str, value: dict[str, Any], spans: list[Span]) -> None:
        """Mark the spans of secret fields, once the sibling that decides it has been read, or could not be."""
        paths = [join(path, name) for name in secret_members(node, value)]
        if not paths:
            return
        for i in range(len(spans) - 1, -1, -1):
            span = spans[i]
            if not span.path.startswith(path):
                break
            if span.role == "value" and any(span.path == one or span.path.startswith(f"{one}[") for one in paths):
                spans[i] = span._replace(secret=True)


OFTEN = 30
TIMES: Counter[Node] = Counter()
"""How often a node was asked for, as far as that matters."""


def sound_part(node: Node, data: bytes, start: int, limit: int) -> tuple[Any, int] | None:
    """Return the value of a familiar part and where it ends; None if it is odd or goes further than `limit`."""
    if not _familiar(node):
        return None
    try:
        value, end = reader(node)(data, start)
    except UNREADABLE:
        return None
    return (value, end) if end <= limit else None


def sound_records(
    format: RecordFormat, batch: Mapping[str, Any], data: bytes, start: int, end: int, weight: int
) -> list[dict[str, Any]] | None:
    """Return the records of a batch, which take the bytes from `start` to `end`; None if anything in them is odd.

    `weight` is the memory that they take.
    """
    if not _familiar(format.records) or weight > MEMORY.left:
        return None
    try:
        records, stop = records_of(batch, data, start, format, COMPILED)
    except UNREADABLE:
        return None
    if stop != end:
        return None
    MEMORY.take(weight)
    return records


def _familiar(node: Node) -> bool:
    if TIMES[node] < OFTEN:
        TIMES[node] += 1
        return False
    return True
