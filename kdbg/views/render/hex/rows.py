"""What is said of values in a hexdump straight from bytes, and rows as lines."""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, pairwise
from struct import Struct
from typing import Any, NamedTuple

from ....protocol.findings.amounts import count
from ....protocol.wire.nodes import Fixed, Node, Sized
from ....protocol.wire.readings.outline import Topics
from ..style import Look
from ..text_source import Encoded, ValueTexts, encoded
from ..values import Memo
from .annotations import Describer, note_on_length, size_text
from .grid import PRINTABLE, Grid, widest
from .hexdump import WIDEST_MEANING, WIDEST_NAME, heading

LONGEST = 64
"""Bytes of a value that is put in quotes before it is written."""
PLAINLY = PRINTABLE.replace(b"\\", b".")
"""Changes whatever does not stand in quotes as it is, for `translate`."""
NOTED = 28 + 20
"""Columns in which the shortest type with a note on a length may have room, and what stands before it."""
SIZE = 4
"""Bytes of the size in front of a message."""
SHORT = 64
"""Bytes of a value whose lines are remembered."""
MOST = 4096
"""Texts of a kind that are remembered."""
MOST_TEMPLATES, FEW_ROWS = 256, 128
"""Templates that are remembered, and rows of one."""


class Quoted:
    """A long value in quotes, copied out of `data` when it is written."""

    __slots__ = ("data", "start", "stop")

    def __init__(self, data: bytes, start: int, stop: int) -> None:
        self.data, self.start, self.stop = data, start, stop

    def __len__(self) -> int:
        return self.stop - self.start + 2

    def __bytes__(self) -> bytes:
        return b'"%b"' % self.data[self.start : self.stop]


class Texts(ValueTexts):
    """What is said of values in a look that shows all and has no colours; what is remembered serves all layouts."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.grid: Grid = Grid(look, text=True)
        self.lines: Lines = Lines(self.grid)
        self.describe: Describer = Describer(look, topics, self.grid.room)
        super().__init__(self.describe.text, lambda node: partial(self.describe.value, node), topics)
        self.counts: Memo[bytes] = Memo(encoded(lambda size: count(size, "byte")))
        """The text for bytes of which only the count is shown."""

    def number(self, node: Node) -> Memo[bytes] | Encoded | None:
        """Return the texts of numbers by value, or what makes them; None for those that are shown as digits."""
        show = self.describe.number(node)
        if show is None:
            return encoded(str) if isinstance(node, Fixed) and node.code == "d" else None
        return self.numbers(node, show)

    def size(self, node: Node) -> Memo[bytes]:
        """Return the texts of lengths and counts by their number; -1 is null."""
        return self.memo(("size", type(node)), lambda size: size_text(node, None if size < 0 else size))

    def type_and_note(self, node: Sized) -> Memo[bytes]:
        """Return the type of a string or bytes with its note on the length, by that; -1 is null."""

        def text(size: int) -> str:
            return node.bnf + note_on_length(node, None if size < 0 else size)

        return self.memo(("note", node.bnf, node.length.bias), text)

    def octets(self, node: Sized) -> Callable[[bytes, int, int], bytes | Quoted]:
        """Return what says the meaning of bytes, given the data and where they begin and end in it."""
        describe, plain = self.describe, node.kind != "address"

        def octets(data: bytes, start: int, stop: int) -> bytes | Quoted:
            value = data[start:stop]
            if plain and value.translate(PLAINLY) == value != b"":
                return Quoted(data, start, stop) if stop - start > LONGEST else b'"%b"' % value
            return describe.value(node, value).encode()

        return octets


class Buffer(NamedTuple):
    """The rows of a message, or of bytes that were decompressed out of it: those have a name.

    `rows` has three values for each, one after the other: where it begins in `data`, its first line's bytes as a cell,
    and its meaning. `shapes` has three for some rows together, in the same order: the path before their names, the
    names, and the types. `long` are the rows of several lines: index in `rows`, end in `data`.
    """

    data: bytes
    name: str
    rows: list[Any]
    shapes: list[Any]
    long: list[tuple[int, int]]


def opened(buffers: list[Buffer], path: bytes, data: bytes) -> Buffer:
    """Return a new buffer of decompressed bytes, added to the others."""
    buffers.append(Buffer(data, path.decode(), [], [], []))
    return buffers[-1]


class Lines:
    """Writes rows as lines; those of rows with the same names and types have one template, filled at once."""

    def __init__(self, grid: Grid) -> None:
        self.grid, size = grid, grid.per_line
        cell = f"%-{3 * size - 1}b  %-{size}b".encode()
        self.cells: Memo[bytes] = Memo(lambda raw: cell % (hexlify(raw, b" "), raw.translate(PRINTABLE)), most=MOST)
        """Bytes of one line in hex and as text."""
        self.numbers: dict[str, Memo[bytes]] = {code: self._of_numbers(Struct(f">{code}")) for code in "bBhHiIqQ"}
        """The same for numbers, by their letter in `struct`."""
        self._places = Memo(encoded("%04x".__mod__)), Memo(encoded(lambda place: f"{place + SIZE:04x}"))
        """Offsets in decompressed bytes, and in a message after its size."""
        self._rests: Memo[bytes] = Memo(lambda rest: bytes(grid.rest(*rest)), most=MOST)
        """The lines below the first one of short values, by place and bytes."""
        self._templates: Callable[..., list[bytes]] = lru_cache(MOST_TEMPLATES)(templates)
        """Those of few rows; the many rows of a message with many records are seldom those of another."""

    def _of_numbers(self, number: Struct) -> Memo[bytes]:
        return Memo(lambda value: self.cells[number.pack(value)], most=MOST)

    def buffer_of(self, data: bytes) -> Buffer:
        """Return the buffer of a message, with the row of its size."""
        size = len(data)
        return Buffer(data, "", [-SIZE, self.numbers["i"][size], b"%d" % size], [b"", (b"size",), (b"INT32",)], [])

    def of(self, buffer: Buffer) -> Iterator[bytes]:
        """Yield the lines of a buffer's rows, in pieces."""
        data, values, shapes, starts = buffer.data, buffer.rows, buffer.shapes, buffer.rows[::3]
        if buffer.name:
            yield f"\n{heading(self.grid.look, buffer.name, len(data))}\n".encode()
        values[::3] = map(self._places[not buffer.name].__getitem__, starts)
        meanings = values[2::3]
        try:
            ascii = b"".join(meanings).isascii()
        except TypeError:  # long values, in quotes only where they are printable ASCII
            ascii = b"".join([meaning for meaning in meanings if type(meaning) is bytes]).isascii()
        lengths = [*map(len, meanings)] if ascii else [len(bytes(meaning).decode()) for meaning in meanings]
        wide = widest(lengths, WIDEST_MEANING)
        if not ascii:  # what is padded is counted by letters
            values[2::3] = [
                meaning + b" " * (wide - length) if type(meaning) is bytes else meaning
                for meaning, length in zip(meanings, lengths, strict=True)
            ]
        if self.grid.room >= NOTED:
            names, types = named_and_typed(shapes)
            named = widest([*map(len, names)], WIDEST_NAME)
            left = (self.grid.left(len(name), named, length, wide) for name, length in zip(names, lengths, strict=True))
            pairs = zip(types, left, strict=True)
            fitting = tuple([type if len(type) <= room else type.partition(b":")[0] for type, room in pairs])
            shapes = [b"", (*names,), fitting]
        made = self._templates if len(starts) <= FEW_ROWS else templates
        *before, last = made((*shapes,), wide, tuple([at for at, _ in buffer.long]))
        done = 0
        for template, (at, stop) in zip(before, buffer.long, strict=True):
            yield template % (*values[done : at + 3],)
            start = starts[at // 3] + self.grid.per_line
            place = start + SIZE * (not buffer.name)
            if stop - start <= SHORT:
                yield self._rests[place, data[start:stop]]
            else:
                yield bytes(self.grid.rest(place, data[start:stop]))
            done = at + 3
        yield last % (*values[done:],)


def named_and_typed(shapes: Sequence[Any]) -> tuple[list[bytes], list[bytes]]:
    """Return the name and the type of each row."""
    names = [path + name for path, names in zip(shapes[::3], shapes[1::3], strict=True) for name in names]
    return names, [*chain.from_iterable(shapes[2::3])]


def templates(shapes: tuple[Any, ...], wide: int, long: tuple[int, ...]) -> list[bytes]:
    """Return the templates of lines, one up to each row of several lines, and one up to the end.

    Of each row its place, its cell and its meaning, in so many columns, are to fill in.
    """
    names, types = named_and_typed(shapes)
    named = widest([*map(len, names)], WIDEST_NAME)
    rows = zip(names, types, strict=True)
    lines = [b"%%b  %%b  %-*b  %%-%db  %b\n" % (named, name, wide, type) for name, type in rows]
    ends = [0, *(at // 3 + 1 for at in long), len(lines)]
    return [b"".join(lines[start:stop]) for start, stop in pairwise(ends)]
