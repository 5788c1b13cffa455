"""How the lines of a hexdump are laid out: a place, bytes in hex and as text, and what stands beside them.

The lines below the first one of a field, of which a long value has hundreds, are made many at a time: columns of a
buffer are filled by strided copies, eight bytes in one go.
"""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from ..style import Look

WIDE, WIDER = 110, 130
"""Columns from which on a line has 16 bytes instead of 8, and shows them as text too."""
BYTES_AT = 6
"""The column in which a line's bytes begin."""
PRINTABLE = bytes(byte if 32 <= byte < 127 else ord(".") for byte in range(256))
"""The ASCII text of bytes, for `translate`: a dot for each byte that is not printable."""
SPACES = bytes(0xFF * (byte == 32) for byte in range(256))
"""All bits for a space, none for any other byte, for `translate`."""
SEGMENT = 0x10000
"""Places that are written with the same digits in front of the last four."""
FEW, MOST = 8, 1 << 9
"""Lines that are made one by one, and lines that are made in one go."""
HUGE, PIECE = 1 << 22, 1 << 16
"""Bytes of a field from which on not all of its lines are held at once, and bytes of which they are made then."""


class Grid:
    """The columns of lines in a look; `text` shows bytes as text too, even where that leaves little room beside them.

    `room` is how many columns there are for name, meaning and type; `fits` whether the look's width has so many.
    """

    def __init__(self, look: Look, *, text: bool) -> None:
        self.look = look
        self.per_line: int = 16 if look.width >= WIDE else 8
        self.text: bool = text or look.width >= WIDER
        names_at = BYTES_AT + 3 * self.per_line + 1 + (self.per_line + 2) * self.text
        self.room: int = max(look.width - names_at, 32)  # come what may
        self.fits: bool = names_at + self.room <= look.width
        self._template: bytes = f"%04x  %-{3 * self.per_line - 1}b  %b\n".encode()

    def left(self, name: int, names: int, meaning: int, meanings: int) -> int:
        """Return how many columns a type has beside a name and a meaning of such lengths in columns of such widths."""
        return self.room - max(name, names) - max(meaning, meanings) - 4

    def rest(self, place: int, data: bytes, style: str = "", *, hidden: bool = False) -> bytes | bytearray:
        """Return the lines of a field's bytes below its first line; `place` is that of the first of these bytes."""
        if self.look.colors or not self.text:
            starts = range(0, len(data), self.per_line)
            pieces = ((place + at, data[at : at + self.per_line]) for at in starts)
            return "".join(f"{self.whole_line(*piece, '', style, hidden=hidden)}\n" for piece in pieces).encode()
        if hidden:
            return self.lines(place, b" ".join([b"**"] * len(data)), b"*" * len(data))
        return self.lines(place, hexlify(data, b" "), data.translate(PRINTABLE))

    def whole_line(self, place: int, data: bytes, beside: str, style: str, *, hidden: bool) -> str:
        """Return the line of some bytes, with what stands beside them."""
        gap = " " * (3 * self.per_line - max(3 * len(data), 1))
        pairs = self.look.paint(style, " ".join(["**"] * len(data)) if hidden else data.hex(" "))
        parts = [self.look.paint("dim", f"{place:04x}"), pairs + gap, beside]
        if self.text:
            text = self.look.paint(style, "*" * len(data) if hidden else printable(data))
            parts.insert(2, text + " " * (self.per_line - len(data)))
        return "  ".join(parts).rstrip()

    def lines(self, place: int, hexed: bytes, text: bytes) -> bytes | bytearray:
        """Return lines of bytes that are given in hex, with a space between them, and as text."""
        size, length = self.per_line, len(text)
        if length <= FEW * size:
            return self._few(place, hexed, text)
        missing = -length % size
        if missing and text[-1] == 32:  # a last line that ends in spaces must end before them
            whole = length + missing - size
            last = self._few(place + whole, hexed[3 * whole :], text[whole:])
            return self.lines(place, hexed[: 3 * whole], text[:whole]) + last
        length += missing
        hexed, text = hexed.ljust(3 * length), text.ljust(length, b"\0")
        if length <= MOST * size and place % SEGMENT + length <= SEGMENT:
            return self._many(place, hexed, text, nul=missing > 0)
        pieces, at = [], 0
        while at < length:
            stop = min(at + MOST * size, length, at + -(-(SEGMENT - (place + at) % SEGMENT) // size) * size)
            pieces.append(self._many(place + at, hexed[3 * at : 3 * stop], text[at:stop], nul=missing > 0))
            at = stop
        return b"".join(pieces)

    def _few(self, place: int, hexed: bytes, text: bytes) -> bytes:
        size, template, lines = self.per_line, self._template, []
        for at in range(0, len(text), size):
            stop = at + size
            line = template % (place + at, hexed[3 * at : 3 * stop - 1], text[at:stop])
            lines.append(line if line[-2] != 32 else line.rstrip(b" \n") + b"\n")
        return b"".join(lines)

    def _many(self, place: int, hexed: bytes, text: bytes, *, nul: bool) -> bytes | bytearray:
        """Return whole lines, the first of which begins within a segment; `nul`: there are zeros, for nothing."""
        size, (high, at) = self.per_line, divmod(place, SEGMENT)
        width = BYTES_AT + 4 * size + 2  # 40 or 72, which are eights
        begin = at // size * width
        lines = bytearray(empty_lines(size, at % size)[begin : begin + len(text) // size * width])
        for at, column, wide in ((BYTES_AT, hexed, 3 * size), (width - 1 - size, text, size)):
            # `wide` bytes a line, copied to the place `at` in it, eight in one go
            source, step = memoryview(column).cast("Q"), wide // 8
            target = memoryview(lines)[at : at + (len(lines) - at) // 8 * 8].cast("Q")
            for i in range(step):
                target[i :: width // 8] = source[i::step]
        if b" " in text[size - 1 :: size]:
            end_before_spaces(lines, width, text, size)
            nul = True
        if nul:
            lines = lines.replace(b"\0", b"")
        if not high:
            return lines
        more = b"%x" % high
        lines = lines.replace(b"\n", b"\n" + more)
        lines[:0] = more
        del lines[-len(more) :]
        return lines


class Block:
    """The lines below the first one of a huge field, made piece by piece when they are asked for."""

    __slots__ = ("data", "grid", "hidden", "place", "start", "style")

    def __init__(self, grid: Grid, data: bytes, start: int, place: int, style: str, hidden: bool) -> None:
        self.grid, self.data, self.start, self.place = grid, data, start, place
        self.style, self.hidden = style, hidden

    def __iter__(self) -> Iterator[str]:
        for at in range(self.start, len(self.data), PIECE):
            piece, place = self.data[at : at + PIECE], self.place + at - self.start
            yield self.grid.rest(place, piece, self.style, hidden=self.hidden).decode()[:-1]


def spread(lines: Iterable[str | Block]) -> Iterator[str]:
    """Yield lines, those of blocks many at a time."""
    for line in lines:
        if isinstance(line, Block):
            yield from line
        else:
            yield line


def widest(lengths: Sequence[int], most: int) -> int:
    """Return how wide a column is for texts of these lengths: those of more than `most` stand out of line."""
    found = max(lengths, default=0)  # nearly always within the limit
    return found if found <= most else max((length for length in lengths if length <= most), default=0)


def printable(data: bytes) -> str:
    """Return the bytes as ASCII text, with a dot for each byte that is not printable."""
    return data.translate(PRINTABLE).decode()


@cache
def empty_lines(size: int, first: int) -> bytes:
    """Return the lines of a whole segment for so many bytes a line, their places filled in, from the place `first`."""
    blank = " " * (4 * size + 3)
    return "".join([f"{place:04x}{blank}\n" for place in range(first, SEGMENT, size)]).encode()


def end_before_spaces(lines: bytearray, width: int, text: bytes, size: int) -> None:
    """Put zeros in place of the spaces at the ends of lines, whose text has so many bytes a line: none ends in spaces.

    A column is looked at for all lines together: the bits of `ending` are set for those with nothing but spaces so far.
    """
    ending = -1
    for back in range(size + 2):
        column = text[size - 1 - back :: size] if back < size else b" " * (len(text) // size)
        ending &= int.from_bytes(column.translate(SPACES), "big")
        if not ending:
            break
        lines[width - 2 - back :: width] = (int.from_bytes(column, "big") & ~ending).to_bytes(len(column), "big")
