"""Rows that stand together: one template for all of them, filled with one `%`; and how wide the columns must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter, mod
from typing import Any, NamedTuple, TypeAlias

from .. import values
from ..grid import Grid, GridLines
from ..hexdump import WIDEST_MEANING, WIDEST_NAME
from .texts import Quoted

MOST = 256
"""Templates that are remembered of a block below paths of one length."""
Filling: TypeAlias = bytes | GridLines | Quoted
Widths: TypeAlias = tuple[int, int]
Taking: TypeAlias = Callable[[tuple[Filling, ...]], Sequence[Any]]
MOST_DIGITS = len("-9223372036854775808")
"""Columns of the longest number."""


class HexRow(NamedTuple):
    """What is known of a row when its layout is: `name` is the end of its path, behind that of the item it is in.

    `size` is how many bytes it has, None if that varies. `rest`: there may be lines
    below, which are filled in. `noted`: what is said of its length is filled in behind the type.

    `said`: its meaning counts for the width of the column; of others whoever gathers the rows tells those that do.
    `digits`: it is a number in digits, which counts only where nothing that is said is wider than those are.
    """

    name: str
    type: str
    size: int | None = None
    rest: bool = False
    noted: bool = False
    said: bool = True
    digits: bool = False


class Block(dict[int, "Placed"]):
    """Rows of one item, by the columns of its path; `inside` says that there is one, and its path in front of names.

    Of each row these are filled in: place, bytes in hex and as text, path, meaning, note, and lines below.
    """

    def __init__(self, grid: Grid, rows: Sequence[HexRow], *, inside: bool) -> None:
        super().__init__()
        self.grid, self.inside = grid, inside
        self.rows: list[HexRow] = [row._replace(name=values.escape(row.name)) for row in rows]
        meanings = list(self._meanings())
        rows_at = list(zip(meanings, self.rows, strict=True))
        self.said: Taking = _several([at for at, row in rows_at if row.said and not row.digits])
        """What takes the meanings that count out of what is filled in."""
        self.digits: Taking = _several([at for at, row in rows_at if row.digits])
        self.notes: list[tuple[int, int, int]] = [
            (at + 1, len(row.name), len(row.type)) for at, row in rows_at if row.noted
        ]
        """Where notes are filled in, and the columns of names behind the path, and of types."""

    def _meanings(self) -> Iterator[int]:
        """Yield where the meaning of each row is filled in."""
        at = 0
        for row in self.rows:
            at += 3 + self.inside
            yield at
            at += 1 + row.noted + row.rest

    def __missing__(self, path: int) -> Placed:
        found = self[path] = Placed(self, path)
        return found

    def template(self, path: int, names: int, meanings: int) -> bytes:
        """Return the template of the rows behind a path of so many columns, for columns of these widths."""
        return "".join(self._line(row, path, names, meanings) for row in self.rows).encode()

    def _line(self, row: HexRow, path: int, names: int, meanings: int) -> str:
        name = "%s" * self.inside + row.name.replace("%", "%%")
        type = row.type + "%s" * row.noted
        beside = self.grid.beside(name, path + len(row.name), f"%-{meanings}s", type, names)
        cell = self.grid.any_cell if row.size is None else self.grid.cell(row.size, "")
        return f"{self.grid.line(cell, beside)}\n{'%s' * row.rest}"


class Placed(dict[Widths, bytes]):
    """The templates of a block behind a path of so many columns, by the widths of the columns for names and meanings.

    `widest` are the columns of its widest name, of those within the limit.
    """

    def __init__(self, block: Block, path: int) -> None:
        super().__init__()
        self.block, self.path, self.said = block, path, block.said
        names = [path + len(row.name) for row in block.rows if path + len(row.name) <= WIDEST_NAME]
        self.widest: int = max(names, default=0)

    def __missing__(self, columns: Widths) -> bytes:
        if len(self) >= MOST:
            self.clear()
        found = self[columns] = self.block.template(self.path, *columns)
        return found

    def with_notes(self, filled: tuple[Filling, ...], columns: Widths) -> tuple[Filling, ...]:
        """Return what is filled in, without the notes for which there is no room."""
        parts, room, (names, meanings) = list(filled), self.block.grid.room, columns
        for at, name, type in self.block.notes:
            meaning = len(bytes(parts[at - 1]).decode())
            left = room - max(self.path + name, names) - max(meaning, meanings) - 4
            if type + len(bytes(parts[at])) > left:
                parts[at] = b""
        return tuple(parts)


def _several(places: Sequence[int]) -> Taking:
    """Return what takes several parts out of a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1)) if places else itemgetter(slice(0))


Filled: TypeAlias = "tuple[Placed, tuple[Filling, ...]]"
"""A block behind the path of its item, and what is filled in."""


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
        meaning = widest(said if ascii else [part.decode() for part in said])
        if meaning < MOST_DIGITS:
            meaning = max([meaning, *[len(digits) for one, filled in blocks for digits in one.block.digits(filled)]])
        columns = max([one.widest for one, _ in blocks]), meaning
        templates = [one[columns] for one, _ in blocks]
        values = [filled for _, filled in blocks]
        if noted:
            values = [one.with_notes(filled, columns) for one, filled in blocks]
        return map(mod if ascii else by_letters, templates, values)


def widest(said: Sequence[bytes | str]) -> int:
    """Return the length of the longest meaning, of those within the limit."""
    found = max(map(len, said), default=0)
    if found > WIDEST_MEANING:
        found = max((length for length in map(len, said) if length <= WIDEST_MEANING), default=0)
    return found


def by_letters(template: bytes, filled: tuple[Filling, ...]) -> bytes:
    """Fill a template, and count the letters of what is padded, not the bytes."""
    return (template.decode() % tuple(bytes(part).decode() for part in filled)).encode()
