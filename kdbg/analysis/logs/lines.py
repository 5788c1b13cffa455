"""A stream of bytes goes in, its protocol lines come out, as they come; all other lines are passed over."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import NamedTuple

from .dialect import Dialect, LineFacts
from .dialects import line_facts

MOST = 1 << 22
"""Bytes of a line that are read: of a longer one, only its beginning."""
TOGETHER = 1 << 16
"""Bytes after which lines are handed on together."""


class ProtocolLine(NamedTuple):
    """A protocol line: its number in the log, from 1, its dialect and what it says."""

    number: int
    dialect: Dialect
    facts: LineFacts


class Lines:
    """Reads a log; `count` is how many lines there were so far, `told` how many of them say something."""

    count: int
    told: int

    def __init__(self) -> None:
        self.count = self.told = 0
        self._rest = b""
        self._skipping = False

    def take(self, data: bytes, *, end: bool = False) -> list[ProtocolLine]:
        """Return what the lines say that these bytes complete; `end`: no more bytes follow."""
        *whole, rest = (self._rest + data).split(b"\n")
        if end and rest:
            whole, rest = [*whole, rest], b""
        found = []
        for raw in whole:
            if self._skipping:
                self._skipping = False
                continue
            self.count += 1
            if (told := self._line(raw)) is not None:
                found.append(told)
        if len(rest) > MOST and not self._skipping:
            self.count += 1
            if (told := self._line(rest[:MOST])) is not None:
                found.append(told)
            self._skipping = True
        self._rest = b"" if self._skipping else rest
        return found

    def _line(self, raw: bytes) -> ProtocolLine | None:
        found = line_facts(raw)
        if found is None:
            return None
        self.told += 1
        return ProtocolLine(self.count, *found)


def blocks(stream: io.BufferedReader, lines: Lines) -> Iterator[list[ProtocolLine]]:
    """Yield the protocol lines of a stream, those together that came together; an empty block where none did."""
    while data := stream.read1(TOGETHER):
        yield lines.take(data)
    if last := lines.take(b"", end=True):
        yield last
