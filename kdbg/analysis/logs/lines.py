"""Every dialect, declared once, and the lines of a log. To add one, write it in `clients.py`, and list it here."""

from __future__ import annotations

from typing import NamedTuple

from .clients import KAFKA_PYTHON, KAFKAJS, LIBRDKAFKA, SARAMA
from .dialect import Dialect, LineFacts
from .java import BROKER, JAVA

DIALECTS: dict[str, Dialect] = {one.name: one for one in (LIBRDKAFKA, JAVA, KAFKA_PYTHON, KAFKAJS, SARAMA, BROKER)}
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
        if self._skipping and whole:
            del whole[0]
            self._skipping = False
        if len(rest) > MOST and not self._skipping:
            whole.append(rest[:MOST])
            self._skipping = True
        self._rest = b"" if self._skipping else rest
        found = []
        for raw in whole:
            self.count += 1
            if (facts := line_facts(raw)) is not None:
                self.understood += 1
                found.append(ProtocolLine(self.count, *facts))
        return found
