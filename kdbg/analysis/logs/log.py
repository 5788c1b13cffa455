"""A log, opened: in place of a capture for readers of exchanges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...capture.source import Source
from ...exchanges.messages.message import UNTIMED
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import CaptureTrouble

if TYPE_CHECKING:
    from .lines import ProtocolLine

FARTHEST = 1 << 20
"""Bytes at the beginning of a file in which the first protocol line of a log is looked for."""
TOGETHER = 1 << 16
"""Bytes after which lines are handed on together."""


class ApplicationLog:
    """A context manager, to be gone through once, by `blocks`. Its attributes are those of `Capture`.

    `lines` counts those read so far, `understood` those that speak of an exchange. `first_time` is that of the first
    protocol line, in nanoseconds, None before there is one, or where lines have no time.
    """

    packets = 0
    """How many packets were read: none."""
    lost = None
    """How many packets are missing: nobody counts them."""

    def __init__(self, source: Source) -> None:
        self.source: Source = source
        self.name: str = source.name
        self.first_time: int | None = None
        from .lines import Lines  # which captures do without

        self._lines: Lines = Lines()

    @property
    def lines(self) -> int:
        """How many lines were read so far."""
        return self._lines.count

    @property
    def understood(self) -> int:
        """How many of them say something of an exchange."""
        return self._lines.understood

    @property
    def problems(self) -> list[Finding]:
        """What is wrong with the file itself, as far as it was read."""
        trouble = self.source.feed.trouble
        return [Finding(Kind.DAMAGED_CAPTURE, facts=CaptureTrouble(trouble))] if trouble else []

    def secrets(self, paths: Iterable[str] | None) -> None:
        """Return nothing: a log needs no decryption."""

    def blocks(self, *, pause: float | None = None, singly: bool = False) -> Iterator[list[ProtocolLine]]:
        """Yield the protocol lines, as many at a time as have come; `singly`: one at a time."""
        data: bytes | None = None
        while data != b"":
            data = self.source.stream.read1(TOGETHER)
            block = self._lines.take(data, end=not data)
            if self.first_time is None and block:
                self.first_time = next((line.facts.time for line in block if line.facts.time != UNTIMED), None)
            if singly:
                yield from ([line] for line in block)
            elif data or block:
                yield block

    def __enter__(self) -> ApplicationLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a stream that was handed in stays open."""
        self.source.close()


def has_lines(source: Source) -> bool:
    """Return whether a source begins as a log with protocol lines does; nothing of it is used up.

    Of a pipe no more is waited for than it takes to tell.
    """
    from .lines import Lines

    lines, seen, head = Lines(), 0, source.feed.ahead(1)
    while b"\0" not in head[seen:]:
        if lines.take(head[seen:]) or (len(head) == seen and lines.take(b"", end=True)):
            return True
        if len(head) == seen or len(head) >= FARTHEST:
            return False
        seen, head = len(head), source.feed.ahead(len(head) + 1)
    return False
