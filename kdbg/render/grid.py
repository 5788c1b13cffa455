"""How the lines of a hexdump are laid out: a place, bytes in hex and as text, and what stands beside them.

The first line of a field is made by a template, which the row of one field fills as well as the rows of a whole block
(dumped/). The lines below it, of which a long value has hundreds, are made many at a time: columns of a buffer are
filled by strided copies, eight bytes in one go.
"""

from __future__ import annotations

from binascii import hexlify
from functools import cache

from .look import Look

WIDE, WIDER = 110, 130
"""Columns from which on a line has 16 bytes instead of 8, and shows them as text too."""
BYTES_AT = 6
"""The column in which a line's bytes begin."""
PRINTABLE = bytes(byte if 32 <= byte < 127 else ord(".") for byte in range(256))
"""The ASCII text of bytes, for `translate`: a dot for each byte that is not printable."""
SEGMENT = 0x10000
"""Places that are written with the same digits in front of the last four."""
FEW, MOST = 8, 1 << 9
"""Lines that are made one by one, and lines that are made in one go."""


PLACE, NEAR = b"%04x", 4096
"""The template of a place, and up to where places are looked up."""
PLACES = [PLACE % place for place in range(NEAR)]


class Grid:
    """The columns of lines in a look; `text` shows bytes as text too, even where that leaves little room beside them.

    `room` is how many columns there are for name, meaning and type.
    """

    def __init__(self, look: Look, *, text: bool) -> None:
        self.look = look
        self.per_line: int = 16 if look.width >= WIDE else 8
        self.text: bool = text or look.width >= WIDER
        names_at = BYTES_AT + 3 * self.per_line + 1 + (self.per_line + 2) * self.text
        self.room: int = max(look.width - names_at, 32)
        self._template: bytes = f"%b  %-{3 * self.per_line - 1}b  %b\n".encode()
        self._cell: bytes = f"%-{3 * self.per_line - 1}b  %-{self.per_line}b".encode()

    def cell(self, size: int, style: str) -> str:
        """Return the template of so many bytes: of their hex digits and, where that is shown, their text."""
        hexed, text = (self.look.paint(style, "%s") for _ in range(2))
        cell = hexed + " " * (3 * self.per_line - max(3 * size, 1))
        return f"{cell}  {text}{' ' * (self.per_line - size)}" if self.text else cell

    def line(self, cell: str, beside: str) -> str:
        """Return the template of a line: `%s` stands for its place, and for what `cell` and `beside` leave open."""
        return "  ".join([self.look.paint("dim", "%s"), cell, beside])

    def beside(self, name: str, cells: int, meaning: str, type: str, width: int) -> str:
        """Return what stands beside the bytes: the name, of so many columns, in `width` columns, meaning and type."""
        both = f"{self.look.paint('name', name)}{' ' * (width - cells)}  {meaning}"
        return f"{both}  {self.look.paint('dim', type)}" if type else both

    def rest(self, place: int, data: bytes, style: str = "", *, hidden: bool = False) -> bytes:
        """Return the lines of a field's bytes below its first line; `place` is that of the first of these bytes."""
        if self.look.colors or not self.text:
            return self._singly(place, data, style, hidden)
        if hidden:
            return self.lines(place, b" ".join([b"**"] * len(data)), b"*" * len(data))
        return self.lines(place, hexlify(data, b" "), data.translate(PRINTABLE))

    def _singly(self, place: int, data: bytes, style: str, hidden: bool) -> bytes:
        starts = range(0, len(data), self.per_line)
        return b"".join(self._one(place + at, data[at : at + self.per_line], style, hidden) for at in starts)

    def _one(self, place: int, data: bytes, style: str, hidden: bool) -> bytes:
        line = self.line(self.cell(len(data), style), "") % (f"{place:04x}", *self.columns(data, hidden))
        return f"{line.rstrip()}\n".encode()

    def columns(self, data: bytes, hidden: bool) -> list[str]:
        """Return bytes in hex and, where that is shown, as text: what a cell leaves open."""
        pairs = " ".join(["**"] * len(data)) if hidden else data.hex(" ")
        return [pairs, "*" * len(data) if hidden else printable(data)] if self.text else [pairs]

    def parts(self, place: int, data: bytes, text: bytes) -> tuple[bytes, bytes | Rest]:
        """Return the cell of the first of some bytes, given as text too, and the lines below.

        Many lines are made when they are filled into a template: so those of a message need not be kept while its other
        rows are gathered.
        """
        size = self.per_line
        if len(data) > FEW * size:
            cell = self._cell % (hexlify(data[:size], b" "), text[:size])
            return cell, Rest(self, place + size, data[size:], text[size:])
        hexed = hexlify(data, b" ")
        rest = self._few(place + size, hexed[3 * size :], text[size:]) if len(data) > size else b""
        return self._cell % (hexed[: 3 * size - 1], text[:size]), rest

    def lines(self, place: int, hexed: bytes, text: bytes) -> bytes:
        """Return lines of bytes that are given in hex, with a space between them, and as text."""
        size = self.per_line
        whole = len(text) // size
        if whole <= FEW:
            return self._few(place, hexed, text)
        pieces: list[bytes | bytearray] = []
        line = 0
        while line < whole:
            at, high = (place + line * size) % SEGMENT, (place + line * size) // SEGMENT
            count = min(whole - line, MOST, -(-(SEGMENT - at) // size))
            stop = line + count
            pairs = hexed[3 * size * line : 3 * size * stop].ljust(3 * size * count)
            pieces.append(self._many(at, high, count, pairs, text[size * line : size * stop]))
            line = stop
        pieces.append(self._few(place + size * whole, hexed[3 * size * whole :], text[size * whole :]))
        return b"".join(pieces)

    def _few(self, place: int, hexed: bytes, text: bytes) -> bytes:
        size, template, lines = self.per_line, self._template, []
        for at in range(0, len(text), size):
            here, stop = place + at, at + size
            named = PLACES[here] if here < NEAR else PLACE % here
            line = template % (named, hexed[3 * at : 3 * stop - 1], text[at:stop])
            lines.append(line if line[-2] != 32 else line.rstrip(b" \n") + b"\n")
        return b"".join(lines)

    def _many(self, at: int, high: int, count: int, hexed: bytes, text: bytes) -> bytes | bytearray:
        """Return so many whole lines, the first of which is at `at`, all of them behind `high` segments."""
        size = self.per_line
        width = BYTES_AT + 4 * size + 2  # 40 or 72, which are eights
        begin = at // size * width
        lines = bytearray(empty_lines(size, at % size)[begin : begin + count * width])
        fill(lines, BYTES_AT, width, hexed, 3 * size)
        fill(lines, BYTES_AT + 3 * size + 1, width, text, size)
        ends = text[size - 1 :: size]
        last = ends.rfind(b" ")
        while last >= 0:  # no line ends in spaces
            end, kept = (last + 1) * width - 1, len(text[size * last : size * (last + 1)].rstrip(b" "))
            del lines[end - size + (kept or -2) : end]
            last = ends.rfind(b" ", 0, last)
        if not high:
            return lines
        more = b"%x" % high
        return b"".join((more, memoryview(lines.replace(b"\n", b"\n" + more))[: -len(more)]))


class Rest:
    """The lines of bytes, made when they are asked for; `place` is that of the first."""

    __slots__ = ("data", "grid", "place", "text")

    def __init__(self, grid: Grid, place: int, data: bytes, text: bytes) -> None:
        self.grid, self.place, self.data, self.text = grid, place, data, text

    def __bytes__(self) -> bytes:
        return self.grid.lines(self.place, hexlify(self.data, b" "), self.text)


def printable(data: bytes) -> str:
    """Return the bytes as ASCII text, with a dot for each byte that is not printable."""
    return data.translate(PRINTABLE).decode()


@cache
def empty_lines(size: int, first: int) -> bytes:
    """Return the lines of a whole segment for so many bytes a line, their places filled in, from the place `first`."""
    blank = " " * (4 * size + 3)
    return "".join([f"{place:04x}{blank}\n" for place in range(first, SEGMENT, size)]).encode()


def fill(lines: bytearray, at: int, width: int, column: bytes, size: int) -> None:
    """Copy a column into lines of a width: `size` bytes a line, to the place `at` in it; both in eights."""
    source, step = memoryview(column).cast("Q"), size // 8
    end = at + (len(lines) - at) // 8 * 8
    target = memoryview(lines)[at:end].cast("Q")
    for i in range(step):
        target[i :: width // 8] = source[i::step]
