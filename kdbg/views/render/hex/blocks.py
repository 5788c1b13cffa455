"""What is filled into the rows of a hexdump: what stands beside the bytes of values, and rows as one template.

Rows that stand together are filled with one `%`; how wide their columns must be is known when all are.
"""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter, mod
from typing import Any, NamedTuple, TypeAlias

from ....protocol.findings.amounts import count
from ....protocol.wire.nodes import Fixed, Node, Sized
from ....protocol.wire.readings.outline import Topics
from .. import values
from ..style import Look
from ..text_source import Encoded, ValueTexts, encoded
from ..values import MOST_KEPT, Memo
from .annotations import Describer, note_on_length, size_text
from .grid import PRINTABLE, Grid, LazyBytes, Parts, widest
from .hexdump import WIDEST_MEANING, WIDEST_NAME

LONGEST = 64
"""Bytes of a string whose parts are remembered, and of a value that is put in quotes before it is written."""
PLAINLY = PRINTABLE.replace(b"\\", b".")
"""Changes whatever does not stand in quotes as it is, for `translate`."""


class Cells(dict[bytes, tuple[bytes, bytes]]):
    """The hex digits and the text of bytes that fit on a line, not too many."""

    def __missing__(self, data: bytes) -> tuple[bytes, bytes]:
        if len(self) >= MOST_KEPT:
            self.clear()
        found = self[data] = hexlify(data, b" "), data.translate(PRINTABLE)
        return found


def in_quotes(data: bytes) -> bytes:
    """Return bytes in quotes."""
    return b'"%b"' % data


Octets: TypeAlias = Callable[[bytes, int, int, list[bytes]], bytes | LazyBytes]


class Texts(ValueTexts):
    """What is said of values in a look that shows all and has no colours; what is remembered serves all layouts."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.grid: Grid = Grid(look, text=True)
        self.describe: Describer = Describer(look, topics, self.grid.room)
        super().__init__(self.describe.text, lambda node: partial(self.describe.value, node), topics)
        self.noted: bool = self.grid.room >= 28 + 20
        """Whether there may be room for the shortest type with a note on a length, and for what stands before it."""
        self.parts: Callable[[bytes, int, int, int], Parts] = self.grid.parts
        self.cells: Cells = Cells()
        self.counts: Memo[bytes] = Memo(encoded(lambda size: count(size, "byte")))
        """What is said of bytes that are not told but by their number."""
        self._parts: dict[tuple[bytes, int], Parts] = {}

    def parts_of_string(self, data: bytes, place: int) -> Parts:
        """Return the parts of a string with its length in front, of which many are the same at the same place."""
        key = data, place
        found = self._parts.get(key)
        if found is None:
            found = self.parts(data, 0, len(data), place)
            if len(data) <= LONGEST:
                if len(self._parts) >= MOST_KEPT:
                    self._parts.clear()
                self._parts[key] = found
        return found

    def number(self, node: Node) -> Memo[bytes] | Encoded | None:
        """Return the texts of numbers by value, or what makes them; None for those that are shown as digits."""
        show = self.describe.number(node)
        if show is None:
            return encoded(str) if isinstance(node, Fixed) and node.code == "d" else None
        return self.numbers(node, show)

    def size(self, node: Node) -> Memo[bytes]:
        """Return the texts of lengths and counts by their number; -1 is null."""
        return self.memo(("size", type(node)), lambda size: size_text(node, None if size < 0 else size))

    def note(self, node: Sized) -> Memo[bytes]:
        """Return the notes on lengths by the length; -1 is null."""
        return self.memo(("note", node.length.bias), lambda size: note_on_length(node, None if size < 0 else size))

    def octets(self, node: Sized) -> Octets:
        """Return what says the meaning of bytes.

        It takes the data, where the bytes begin and end in it, and a list of meanings that count for the width of their
        column: to those it adds its own, if it is short enough.
        """
        describe, plain = self.describe, node.kind != "address"

        def octets(data: bytes, start: int, stop: int, meanings: list[bytes]) -> bytes | LazyBytes:
            value = data[start:stop]
            if plain and value.translate(PLAINLY) == value != b"":
                if stop - start > LONGEST:
                    return LazyBytes(in_quotes, data, start, stop)
                meaning = in_quotes(value)
            else:
                meaning = describe.value(node, value).encode()
            if len(meaning) <= WIDEST_MEANING or not meaning.isascii():
                meanings.append(meaning)
            return meaning

        return octets


MOST = 256
"""Templates that are remembered of a block below paths of one length."""
Filling: TypeAlias = bytes | LazyBytes
Widths: TypeAlias = tuple[int, int]
Taking: TypeAlias = Callable[[tuple[Filling, ...]], Sequence[Any]]


@dataclass
class HexRow:
    """A row while its layout is all that is known: `name` is the end of its path, after that of the item it is in.

    `size` is how many bytes it has, None if that varies. The others are expressions of what is filled in: `note` of
    what is said of its length, after the type, `rest` of the lines below; "" where there is none.

    `said`: its meaning counts for the width of the column; of others whoever gathers the rows tells those that do.
    `run` is where it begins in the run of fields of fixed width at hand, -1 once that is flushed.
    """

    name: str
    type: str
    size: int | None
    place: str
    cell: str
    meaning: str
    rest: str = ""
    note: str = ""
    said: bool = True
    run: int = -1

    def filled(self, path: str) -> list[str]:
        """Return the expressions in the order of the template."""
        return [self.place, self.cell, *filter(None, (path, self.meaning, self.note, self.rest))]


class Block(dict[int, "Placed"]):
    """Rows of one item, by the columns of its path; `inside` says that there is one, and its path in front of names.

    Of each row these are filled in: place, bytes in hex and as text, path, meaning, note, and lines below.
    """

    def __init__(self, grid: Grid, rows: Sequence[HexRow], *, inside: bool) -> None:
        super().__init__()
        self.grid, self.inside = grid, inside
        self.rows: list[HexRow] = [replace(row, name=values.escape(row.name)) for row in rows]
        self.notes: list[tuple[int, int, int]] = []
        """Where notes are filled in, and the columns of names after the path, and of types."""
        meanings, at = [], 0
        for row in self.rows:
            at += 3 + inside
            meanings += [at] * row.said
            self.notes += [(at + 1, len(row.name), len(row.type))] * bool(row.note)
            at += 1 + bool(row.note) + bool(row.rest)
        one = meanings[0] if meanings else 0
        self.said: Taking = itemgetter(*meanings) if len(meanings) > 1 else itemgetter(slice(one, one + len(meanings)))
        """What takes the meanings that count out of what is filled in."""

    def __missing__(self, path: int) -> Placed:
        found = self[path] = Placed(self, path)
        return found

    def template(self, path: int, names: int, meanings: int) -> bytes:
        """Return the template of the rows after a path of so many columns, for columns of these widths."""
        lines = []
        for row in self.rows:
            name = "%s" * self.inside + row.name.replace("%", "%%")
            type = row.type + "%s" * bool(row.note)
            beside = self.grid.beside(name, path + len(row.name), f"%-{meanings}s", type, names)
            cell = self.grid.any_cell if row.size is None else self.grid.cell(row.size, "")
            lines.append(f"{self.grid.line(cell, beside)}\n{'%s' * bool(row.rest)}")
        return "".join(lines).encode()


class Placed(dict[Widths, bytes]):
    """The templates of a block after a path of so many columns, by the widths of the columns for names and meanings.

    `widest` are the columns of its widest name, of those within the limit.
    """

    def __init__(self, block: Block, path: int) -> None:
        super().__init__()
        self.block, self.path, self.said = block, path, block.said
        self.widest: int = widest((path + len(row.name) for row in block.rows), WIDEST_NAME)

    def __missing__(self, columns: Widths) -> bytes:
        if len(self) >= MOST:
            self.clear()
        found = self[columns] = self.block.template(self.path, *columns)
        return found

    def with_notes(self, filled: tuple[Filling, ...], columns: Widths) -> tuple[Filling, ...]:
        """Return what is filled in, without the notes for which there is no room."""
        parts, left, (names, meanings) = list(filled), self.block.grid.left, columns
        for at, name, type in self.block.notes:
            meaning = len(bytes(parts[at - 1]).decode())
            if type + len(bytes(parts[at])) > left(self.path + name, names, meaning, meanings):
                parts[at] = b""
        return tuple(parts)


Filled: TypeAlias = "tuple[Placed, tuple[Filling, ...]]"
"""A block after the path of its item, and what is filled in."""


class Buffer(NamedTuple):
    """The rows of a message, or of bytes that were decompressed out of it: those have a name, and so many bytes.

    `meanings` are those that count for the width of their column beside those that the blocks tell of.
    """

    blocks: list[Filled]
    meanings: list[bytes]
    name: str = ""
    size: int = 0

    def lines(self, *, noted: bool) -> Iterator[bytes]:
        """Return the lines, in pieces; `noted`: there may be room for notes."""
        blocks, said = self.blocks, self.meanings
        for one, filled in blocks:
            said += one.said(filled)
        ascii = b"".join(said).isascii()
        lengths = [*map(len, said)] if ascii else [len(part.decode()) for part in said]
        meaning = max(lengths, default=0)  # nearly always within the limit
        if meaning > WIDEST_MEANING:
            meaning = widest(lengths, WIDEST_MEANING)
        columns = max([one.widest for one, _ in blocks]), meaning
        templates = [one[columns] for one, _ in blocks]
        values = [filled for _, filled in blocks]
        if noted:
            values = [one.with_notes(filled, columns) for one, filled in blocks]
        return map(mod if ascii else by_letters, templates, values)


def by_letters(template: bytes, filled: tuple[Filling, ...]) -> bytes:
    """Fill a template, and count the letters of what is padded, not the bytes."""
    return (template.decode() % tuple(bytes(part).decode() for part in filled)).encode()
