"""Source that gathers rows: what is filled into the templates of blocks, and where all of it stands."""

from __future__ import annotations

import struct
from binascii import hexlify
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ....protocol.wire.readings.codegen import Inside
from ..text_source import TextSource
from .blocks import Block, HexRow, Texts
from .grid import PLACE, PRINTABLE

SMALL = 4
"""Bytes of a field that stands alone, up to which its cell is looked for among those that were made before."""


class Rows(TextSource):
    """Writes a function that adds blocks of rows by `add`, and meanings that blocks do not tell of to `meanings`.

    `shift` is added to the places of bytes in `data`. `path` is the variable with the path of the item at hand, "" for
    none, `inner` the path of the field inside it.
    """

    factor = 3.0

    def __init__(self, texts: Texts, *, records: bool, **rest: Any) -> None:
        super().__init__(texts, records=records, **rest)
        self.texts, self.grid = texts, texts.grid
        self.path = self.inner = ""
        self.names |= {
            "PLACE": PLACE, "PRINTABLE": PRINTABLE, "hexlify": hexlify,
            "cells": texts.cells, "parts": texts.parts, "parts_of_string": texts.parts_of_string,
        }  # fmt: skip
        self.held: list[HexRow] = []
        self._place = ""
        self._places: list[tuple[str, int]] = []

    # Rows

    def fixed(self, type: str, code: str, value: str, meaning: str, check: str = "") -> None:
        """Add the row of a value of fixed width to the run: `value` is what its variable will be called."""
        run, (_, place) = self.run_length(), self.place_in_run()
        self.take(code, value, check)
        self.held.append(HexRow(self.inner, type, struct.calcsize(">" + code), place, "", meaning, run=run))

    def varying(
        self, type: str, place: str, cell: str, meaning: str, rest: str = "", note: str = "", *, said: bool = True
    ) -> None:
        """Add the row of bytes whose number varies, or that do not fit on a line, given all that is filled in."""
        self.held.append(HexRow(self.inner, type, None, place, cell, meaning, rest, note, said))

    def run_length(self) -> int:
        """Return the bytes of the run of fields at hand."""
        return struct.calcsize(">" + "".join(code for code, _ in self._run))

    def place_in_run(self) -> tuple[str, str]:
        """Return the expressions of the place after the run at hand, and of its text, good once that is flushed."""
        if not self._place:
            self._place = self.fresh("p")
        behind, text = self.run_length(), self.fresh("q")
        self._places.append((text, behind))
        return f"{self._place} + {behind}" if behind else self._place, text

    def place_now(self, depth: int) -> tuple[str, str]:
        """Write what keeps the place at `pos`, after a flushed run; return the variable, and its text's expression."""
        place = self.fresh("p")
        self.line(depth, f"{place} = pos + shift")
        return place, f"PLACE % {place}"

    def flush(self, depth: int) -> None:
        """Write what reads the run, and what cuts the cells of its rows."""
        place, self._place = self._place, ""
        texts, self._places = self._places, []
        if place:
            self.line(depth, f"{place} = pos + shift")
        for text, behind in texts:
            self.line(depth, f"{text} = PLACE % ({place} + {behind})")
        shown = [row for row in self.held if row.run >= 0]
        if len(shown) == 1 and (shown[0].size or 0) <= SMALL:
            only = shown[0]
            only.cell = f"{self.fresh('h')}, {self.fresh('t')}"
            self.line(depth, f"{only.cell} = cells[data[pos + {only.run}:pos + {only.run + (only.size or 0)}]]")
            only.size = None
        elif shown:
            self._cut(shown, depth)
        for row in shown:
            row.run = -1
        super().flush(depth)

    def _cut(self, shown: list[HexRow], depth: int) -> None:
        """Write what makes the hex digits and the text of all bytes of the run at once, and cuts them."""
        first, end, hexed, text = shown[0].run, shown[0].run, "", ""
        for row in shown:
            size, gap = row.size or 0, row.run - end
            hexed += f"{3 * gap}x{3 * size - 1}sx"
            text += f"{gap}x{size}s"
            end = row.run + size
        raw, names = self.fresh("r"), [(self.fresh("h"), self.fresh("t")) for _ in shown]
        self.line(depth, f"{raw} = data[pos + {first}:pos + {end}]")
        cut = self.named("cut", struct.Struct(hexed[:-1] + text).unpack)
        both = [name for names in zip(*names, strict=True) for name in names]
        self.line(depth, f"{', '.join(both)}, = {cut}(hexlify({raw}, b' ') + {raw}.translate(PRINTABLE))")
        for row, (hexed, text) in zip(shown, names, strict=True):
            row.cell = f"{hexed}, {text}"

    def emit(self, depth: int) -> None:
        """Write what adds the block of the rows at hand."""
        self.flush(depth)
        rows, self.held = self.held, []
        if rows:
            block = self.named("B", Block(self.grid, rows, inside=bool(self.path)))
            filled = ", ".join(part for one in rows for part in one.filled(self.path))
            self.line(depth, f"add(({block}[{f'len({self.path})' if self.path else '0'}], ({filled},)))")

    # Paths

    @contextmanager
    def at(self, name: str) -> Iterator[None]:
        """Write rows at the path of a field inside the one at hand, after that of the item."""
        outer, self.inner = self.inner, f"{self.inner}.{name}" if self.path or self.inner else name
        yield
        self.inner = outer

    def keep_path(self, depth: int, index: str = "") -> str:
        """Write what keeps the path at hand in a variable, with the expression of an index after it; return that."""
        path, index = self.fresh("f"), f"b'[%d]' % {index}" if index else ""
        parts = filter(None, (self.path, repr(self.inner.encode()) if self.inner else "", index))
        self.line(depth, f"{path} = {' + '.join(parts)}")
        return path

    def only(self, depth: int, write: Inside) -> None:
        outer, self.inner = self.inner, f"{self.inner}[0]"
        write(depth)
        self.inner = outer

    def loop_numbered(self, count: str, depth: int, write: Inside) -> None:
        self.emit(depth)
        index, array, path = self.fresh("i"), self.keep_path(depth), self.fresh("f")
        self.line(depth, f"if {count} > len(data): raise Unreadable")
        self.line(depth, f"for {index} in range({count}):")
        self.line(depth + 1, f"{path} = {array} + b'[%d]' % {index}")
        outer = self.path, self.inner
        self.path, self.inner = path, ""
        write(depth + 1)
        self.emit(depth + 1)
        self.path, self.inner = outer
