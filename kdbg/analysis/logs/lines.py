"""Every dialect, declared once. To add one, write a file like `librdkafka.py` and add its `dialect` here."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import NamedTuple

from . import broker, java, kafka_python, kafkajs, librdkafka, sarama
from .dialect import Dialect, LineFacts

DIALECTS: dict[str, Dialect] = {
    one.dialect.name: one.dialect for one in (librdkafka, java, kafka_python, kafkajs, sarama, broker)
}
"""The dialects by their names."""
MARKED = tuple((mark.encode(), one) for one in DIALECTS.values() for mark in one.marks)


def line_facts(line: bytes) -> tuple[Dialect, LineFacts] | None:
    """Return what a line says of an exchange, and in which dialect; None where it says nothing of one."""
    for mark, one in MARKED:
        if mark in line and (found := one.read(line.decode("utf-8", "replace"))) is not None:
            return one, found
    return None


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
    """Reads a log; `count` is how many lines there were so far, `understood` how many of them speak of an exchange."""

    def __init__(self) -> None:
        self.count: int = 0
        self.understood: int = 0
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
        self.understood += 1
        return ProtocolLine(self.count, *found)


def blocks(stream: io.BufferedReader, lines: Lines) -> Iterator[list[ProtocolLine]]:
    """Yield the protocol lines of a stream, those together that came together; an empty block where none did."""
    while data := stream.read1(TOGETHER):
        yield lines.take(data)
    if last := lines.take(b"", end=True):
        yield last
