"""What is said of values in a hexdump straight from bytes, and rows as lines."""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Callable, Iterator
from functools import cache, partial
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

    `rows` has four values for each, one after the other: where it begins, its name, meaning and type. A row ends where
    the next one begins.
    """

    data: bytes
    name: str
    rows: list[Any]

    def lines(self, grid: Grid) -> Iterator[bytes]:
        """Yield the lines, in pieces."""
        data, rows, per_line = self.data, self.rows, grid.per_line
        starts, names, meanings, types = rows[::4], rows[1::4], rows[2::4], rows[3::4]
        lengths = [*map(len, meanings)]
        ascii = b"".join([meaning for meaning in meanings if type(meaning) is bytes]).isascii()
        if not ascii:  # what is padded is counted by letters
            lengths = [len(bytes(meaning).decode()) for meaning in meanings]
        wide = widest([*map(len, names)], WIDEST_NAME), widest(lengths, WIDEST_MEANING)
        if not ascii:
            meanings = [
                meaning + b" " * (wide[1] - length) if type(meaning) is bytes else meaning
                for meaning, length in zip(meanings, lengths, strict=True)
            ]
        if grid.room >= NOTED:
            left = (grid.left(len(name), wide[0], length, wide[1]) for name, length in zip(names, lengths, strict=True))
            pairs = zip(types, left, strict=True)
            types = [type if len(type) <= room else type.partition(b":")[0] for type, room in pairs]
        template, shift = line_template(per_line, *wide), 0 if self.name else SIZE
        found = zip(starts, [*starts[1:], len(data)], names, meanings, types, strict=True)
        if self.name:
            yield f"\n{heading(grid.look, self.name, len(data))}\n".encode()
        else:
            size = len(data).to_bytes(SIZE, "big")
            yield template % (0, hexlify(size, b" "), size.translate(PRINTABLE), *next(found)[2:])
        for start, stop, name, meaning, type_ in found:
            if stop - start <= per_line:
                raw = data[start:stop]
                yield template % (start + shift, hexlify(raw, b" "), raw.translate(PRINTABLE), name, meaning, type_)
                continue
            raw = data[start : start + per_line]
            yield template % (start + shift, hexlify(raw, b" "), raw.translate(PRINTABLE), name, meaning, type_)
            yield bytes(grid.rest(start + shift + per_line, data[start + per_line : stop]))


@cache
def line_template(per_line: int, names: int, meanings: int) -> bytes:
    """Return the template of a line: its place, its bytes in hex and as text, name, meaning and type."""
    return f"%04x  %-{3 * per_line - 1}b  %-{per_line}b  %-{names}b  %-{meanings}b  %b\n".encode()
