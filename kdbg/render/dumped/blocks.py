"""Rows that stand together: one template for all of them, filled with one `%`; and how wide the columns must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from .. import values
from ..grid import Grid
from ..hexdump import WIDEST_MEANING, WIDEST_NAME, Columns

MOST = 256
"""Templates that a block remembers."""


class Row(NamedTuple):
    """What is known of a row when its layout is: `name` is the end of its path, behind that of the item it is in.

    `size` is how many bytes it has, None if that varies: then the whole cell is filled in, and lines below it. `noted`:
    what is said of its length is filled in behind the type.
    """

    name: str
    type: str
    size: int | None
    noted: bool = False


class Block:
    """Rows of one item; `inside` says that there is one: then the path of the item is filled in before each name.

    For each row these are filled in: place, bytes in hex and as text or the whole cell, path, meaning, note, and
    the lines below.
    """

    def __init__(self, grid: Grid, rows: Sequence[Row], *, inside: bool) -> None:
        self.grid, self.inside = grid, inside
        self.rows: list[Row] = [row._replace(name=values.escape(row.name)) for row in rows]
        self.notes: list[tuple[int, int, int]] = list(self._notes())
        self._widest: dict[int, int] = {}
        self._templates: dict[tuple[int, int, int], bytes] = {}

    def _notes(self) -> list[tuple[int, int, int]]:
        """Return (where its note is filled in, columns of its name behind the path, columns of its type) of rows."""
        found, at = [], 0
        for row in self.rows:
            at += 3 + (row.size is not None) + self.inside
            if row.noted:
                found.append((at, len(row.name), len(row.type)))
            at += row.noted + (row.size is None)
        return found

    def widest(self, path: int) -> int:
        """Return the columns of the widest name behind a path of so many columns, of those within the limit."""
        found = self._widest.get(path)
        if found is None:
            names = [path + len(row.name) for row in self.rows if path + len(row.name) <= WIDEST_NAME]
            found = self._widest[path] = max(names, default=0)
        return found

    def template(self, path: int, columns: Columns) -> bytes:
        """Return the template of the rows behind a path of so many columns."""
        key = path, *columns
        found = self._templates.get(key)
        if found is None:
            if len(self._templates) >= MOST:
                self._templates.clear()
            found = self._templates[key] = "".join(self._line(row, path, columns) for row in self.rows).encode()
        return found

    def _line(self, row: Row, path: int, columns: Columns) -> str:
        name = "%s" * self.inside + row.name.replace("%", "%%")
        type = row.type + "%s" * row.noted
        beside = self.grid.beside(name, path + len(row.name), f"%-{columns.meaning}s", type, columns.name)
        cell = "%s" if row.size is None else self.grid.cell(row.size, "")
        return f"{self.grid.line(cell, beside)}\n{'%s' * (row.size is None)}"


Filled: TypeAlias = "tuple[Block, bytes, tuple[bytes, ...]]"
"""A block, the path of its item, and what is filled in."""


class Buffer(NamedTuple):
    """The rows of a message, or of bytes that were decompressed out of it: those have a name, and so many bytes.

    `meanings` are those that count for the width of their column.
    """

    blocks: list[Filled]
    meanings: list[bytes]
    name: str = ""
    size: int = 0

    def lines(self, grid: Grid) -> list[bytes]:
        """Return the lines, in pieces."""
        ascii = b"".join(self.meanings).isascii()
        widths = list(map(len, self.meanings if ascii else [meaning.decode() for meaning in self.meanings]))
        meaning = max(widths, default=0)
        if meaning > WIDEST_MEANING:
            meaning = max((width for width in widths if width <= WIDEST_MEANING), default=0)
        columns = Columns(max([block.widest(len(path)) for block, path, _ in self.blocks]), meaning)
        out = []
        for block, path, filled in self.blocks:
            template = block.template(len(path), columns)
            if block.notes:
                filled = noted(block, grid, len(path), columns, filled)
            out.append(template % filled if ascii else by_letters(template, filled))
        return out


def by_letters(template: bytes, filled: tuple[bytes, ...]) -> bytes:
    """Fill a template, and count the letters of what is padded, not the bytes."""
    return (template.decode() % tuple(part.decode() for part in filled)).encode()


def noted(block: Block, grid: Grid, path: int, columns: Columns, filled: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return what is filled in, without the notes for which there is no room."""
    parts = list(filled)
    for at, name, type in block.notes:
        meaning = len(parts[at - 1].decode())
        left = grid.room - max(path + name, columns.name) - max(meaning, columns.meaning) - 4
        if type + len(parts[at]) > left:
            parts[at] = b""
    return tuple(parts)
