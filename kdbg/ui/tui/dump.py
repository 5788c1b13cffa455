"""The bytes of an exchange as lines of a hexdump, made when they are drawn: a heading for each buffer, its bytes."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from ...views.render.grid import PRINTABLE
from .fields import ByteRange, OpenedExchange, OpenedField

WIDE = 4 + 2 + 3 * 16 + 1 + 16
"""Columns from which on a line has 16 bytes instead of 8."""


class DumpCell(NamedTuple):
    """A byte as it is drawn: two digits and a letter, the number of its field, and its place."""

    digits: str
    letter: str
    field: int | None
    place: int


class DumpLine(NamedTuple):
    """A line: a heading, or bytes of a buffer from a place on."""

    buffer: int
    start: int
    heading: str
    cells: list[DumpCell]


class ExchangeDump:
    """All lines of an exchange, `len` of them."""

    opened: OpenedExchange
    per_line: int

    def __init__(self, opened: OpenedExchange, per_line: int) -> None:
        self.opened, self.per_line = opened, per_line
        self._firsts: list[int] = []
        self._count = 0
        for buffer in opened.buffers:
            self._firsts.append(self._count)
            self._count += 1 + -(-len(buffer.data) // per_line)

    def __len__(self) -> int:
        return self._count

    def line(self, number: int) -> DumpLine:
        """Return a line."""
        at = bisect_right(self._firsts, number) - 1
        buffer, row = self.opened.buffers[at], number - self._firsts[at] - 1
        if row < 0:
            return DumpLine(at, -1, buffer.name, [])
        start = row * self.per_line
        cells = []
        for place in range(start, min(start + self.per_line, len(buffer.data))):
            field = buffer.number(place)
            if field is not None and buffer.fields[field].hidden:
                cells.append(DumpCell("**", "*", field, place))
            else:
                byte = buffer.data[place]
                cells.append(DumpCell(f"{byte:02x}", chr(PRINTABLE[byte]), field, place))
        return DumpLine(at, start, "", cells)

    def line_of(self, place: ByteRange) -> int:
        """Return the line on which a place begins."""
        return self._firsts[place.buffer] + 1 + place.start // self.per_line

    def field_at(self, buffer: int, place: int) -> OpenedField | None:
        """Return the field that a byte belongs to."""
        return self.opened.buffers[buffer].at(place)


def per_line(width: int) -> int:
    """Return how many bytes a line has in so many columns."""
    return 16 if width >= WIDE else 8
