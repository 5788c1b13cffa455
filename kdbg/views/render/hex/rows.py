"""Source that gathers rows: what is filled into the templates of blocks, and where all of it stands."""

from __future__ import annotations

import struct
from binascii import hexlify
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from ....protocol.wire.readings.codegen import Inside
from ..text_source import TextSource
from .blocks import Block, HexRow, Texts
from .grid import NEAR, PLACE, PLACES, PRINTABLE

KEPT = 256
"""Places of one run that are remembered."""


class Places(dict[int, tuple[bytes, ...]]):
    """The texts of the places of a run, by the place where it begins; those near to a message's beginning are kept."""

    def __init__(self, behind: Sequence[int]) -> None:
        super().__init__()
        self.behind: tuple[int, ...] = tuple(behind)

    def __missing__(self, place: int) -> tuple[bytes, ...]:
        texts = tuple([PLACE % (place + behind) for behind in self.behind])
        if place < NEAR:
            if len(self) >= KEPT:
                self.clear()
            self[place] = texts
        return texts


def place_text(place: str) -> str:
    """Return the expression of the text of a place."""
    return f"PLACES[{place}] if {place} < {NEAR} else PLACE % {place}"


MOST_CHOICES = 2
"""Ways behind which rows at hand are not kept for another choice: each way has source of its own."""
NUMBERS = {number: b"%d" % number for number in range(-1, 1024)}
"""Small numbers as digits."""
INDEX = b"[%d]"
INDEXES = [INDEX % index for index in range(256)]
SMALL = 4
"""Bytes of a field that stands alone, up to which its cell is looked for among those that were made before."""


@dataclass
class Pending:
    """A row that was not written yet: what it is, and the expressions of what is filled in.

    `run` is where it begins in the run of fields of fixed width at hand, -1 once that is flushed.
    """

    row: HexRow
    place: str
    cell: str
    meaning: str
    rest: str = ""
    note: str = ""
    run: int = -1

    def filled(self, path: str) -> list[str]:
        """Return the expressions in the order of the template."""
        return [self.place, self.cell, *filter(None, (path, self.meaning, self.note, self.rest))]


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
            "PLACE": PLACE,
            "INDEX": INDEX,
            "INDEXES": INDEXES,
            "NUMBERS": NUMBERS,
            "PLACES": PLACES,
            "PRINTABLE": PRINTABLE,
            "hexlify": hexlify,
        }
        self.names |= {"cells": texts.cells, "parts": texts.parts, "parts_of_string": texts.parts_of_string}
        self._pending: list[Pending] = []
        self._choices: list[tuple[str, list[Pending]]] = []
        """Rows in front of those, by conditions of which the first that holds says which; the last always holds."""
        self._place = ""
        self._places: list[tuple[str, int]] = []
        self._straight = True

    # Rows

    def fixed(self, type: str, code: str, value: str, meaning: str, check: str = "") -> None:
        """Add the row of a value of fixed width to the run: `value` is what its variable will be called."""
        run, (_, place) = self.run_length(), self.place_in_run()
        self.take(code, value, check)
        row = HexRow(self.inner, type, struct.calcsize(">" + code), digits=self.is_digits(meaning))
        self._pending.append(Pending(row, place, "", meaning, run=run))

    def varying(self, type: str, place: str, cell: str, meaning: str, rest: str = "", note: str = "",
                *, said: bool = True, digits: bool = False) -> None:  # fmt: skip
        """Add the row of bytes whose number varies, or that do not fit on a line, given all that is filled in."""
        row = HexRow(self.inner, type, None, bool(rest), bool(note), said, digits)
        self._pending.append(Pending(row, place, cell, meaning, rest, note))

    def digits(self, value: str) -> str:
        """Return the expression of a number's digits."""
        return f"(NUMBERS.get({value}) or b'%d' % {value})"

    def is_digits(self, meaning: str) -> bool:
        """Return whether the expression of a meaning is one of a number's digits."""
        return meaning.startswith("(NUMBERS.get(")

    def run_length(self) -> int:
        """Return the bytes of the run of fields at hand."""
        return struct.calcsize(">" + "".join(code for code, _ in self._run))

    def place_in_run(self) -> tuple[str, str]:
        """Return the expressions of the place behind the run at hand, and of its text, good once that is flushed."""
        if not self._place:
            self._place = self.fresh("p")
        behind, text = self.run_length(), self.fresh("q")
        self._places.append((text, behind))
        return f"{self._place} + {behind}" if behind else self._place, text

    def place_now(self, depth: int) -> tuple[str, str]:
        """Write what keeps the place at `pos`, behind a flushed run; return the variable, and its text's expression."""
        place = self.fresh("p")
        self.line(depth, f"{place} = pos + shift")
        return place, place_text(place)

    def flush(self, depth: int) -> None:
        """Write what reads the run, and what cuts the cells of its rows."""
        place, self._place = self._place, ""
        texts, self._places = self._places, []
        if place:
            self.line(depth, f"{place} = pos + shift")
            if len(texts) == 1 and not texts[0][1]:
                self.line(depth, f"{texts[0][0]} = {place_text(place)}")
            else:
                places = self.named("places", Places([behind for _, behind in texts]))
                self.line(depth, f"{', '.join(text for text, _ in texts)}, = {places}[{place}]")
        shown = [pending for pending in self._pending if pending.run >= 0]
        if len(shown) == 1 and (shown[0].row.size or 0) <= SMALL:
            self._look_up(shown[0], depth)
        elif shown:
            self._cut(shown, depth)
        for pending in shown:
            pending.run = -1
        super().flush(depth)

    def _look_up(self, pending: Pending, depth: int) -> None:
        """Write what looks for the cell of the only row of a run."""
        pending.cell = f"{self.fresh('h')}, {self.fresh('t')}"
        at, size = pending.run, pending.row.size or 0
        pending.row = pending.row._replace(size=None)
        self.line(depth, f"{pending.cell} = cells[data[pos + {at}:pos + {at + size}]]")

    def _cut(self, shown: list[Pending], depth: int) -> None:
        """Write what makes the hex digits and the text of all bytes of the run at once, and cuts them."""
        first, end, hexed, text = shown[0].run, shown[0].run, "", ""
        for pending in shown:
            size, gap = pending.row.size or 0, pending.run - end
            hexed += f"{3 * gap}x{3 * size - 1}sx"
            text += f"{gap}x{size}s"
            end = pending.run + size
        raw, names = self.fresh("r"), [(self.fresh("h"), self.fresh("t")) for _ in shown]
        self.line(depth, f"{raw} = data[pos + {first}:pos + {end}]")
        cut = self.named("cut", struct.Struct(hexed[:-1] + text).unpack)
        both = [name for names in zip(*names, strict=True) for name in names]
        self.line(depth, f"{', '.join(both)}, = {cut}(hexlify({raw}, b' ') + {raw}.translate(PRINTABLE))")
        for pending, (hexed, text) in zip(shown, names, strict=True):
            pending.cell = f"{hexed}, {text}"

    def emit(self, depth: int) -> None:
        """Write what adds the block of the rows at hand, by what was chosen where they depend on that."""
        self.flush(depth)
        (choices, self._choices), (pending, self._pending) = (self._choices, []), (self._pending, [])
        if not any(rows for _, rows in choices):
            self._emit(pending, depth)
            return
        word = "if"
        for test, rows in choices:
            self.under(f"{word} {test}:" if test else "else:", depth, partial(self._emit, rows + pending))
            word = "elif"

    def _emit(self, rows: list[Pending], depth: int) -> None:
        """Write what adds a block of rows, if there are any."""
        if not rows:
            return
        block = self.named("B", Block(self.grid, [one.row for one in rows], inside=bool(self.path)))
        filled = ", ".join(part for one in rows for part in one.filled(self.path))
        self.line(depth, f"add(({block}[{f'len({self.path})' if self.path else '0'}], ({filled},)))")

    # Paths

    def below(self, name: str) -> str:
        """Return the path of a field inside the one at hand, behind that of the item."""
        return f"{self.inner}.{name}" if self.path or self.inner else name

    @contextmanager
    def at(self, name: str) -> Iterator[None]:
        """Write rows at the path of a field inside the one at hand."""
        outer, self.inner = self.inner, self.below(name)
        yield
        self.inner = outer

    def in_item(self, path: str, write: Callable[[], None]) -> None:
        """Write rows inside an item, whose path the variable `path` has."""
        outer = self.path, self.inner
        self.path, self.inner = path, ""
        write()
        self.path, self.inner = outer

    def keep_path(self, depth: int, index: str = "") -> str:
        """Write what keeps the path at hand in a variable, with the expression of an index behind it; return that."""
        path, index = self.fresh("f"), self.index(index) if index else ""
        parts = filter(None, (self.path, repr(self.inner.encode()) if self.inner else "", index))
        self.line(depth, f"{path} = {' + '.join(parts)}")
        return path

    def index(self, number: str) -> str:
        """Return the expression of an index behind a path."""
        return f"(INDEXES[{number}] if {number} < {len(INDEXES)} else INDEX % {number})"

    def numbered(self, count: str, depth: int, write: Callable[[int], None]) -> None:
        """Write what adds the rows of items; `write` writes the rows of one.

        Most arrays have one item or none: its rows join those at hand, without a loop. Inside a loop there is no source
        of its own for one item, lest the source of nested arrays be too long.
        """

        def several(depth: int) -> None:
            straight, self._straight = self._straight, False
            self.loop_numbered(count, depth, write)
            self._straight = straight

        def not_one(depth: int) -> None:
            self.either(f"{count} > 0", depth, several)

        if self._straight:
            self.either(f"{count} == 1", depth, lambda depth: self.only(depth, write), not_one)
        else:
            not_one(depth)

    def either(self, condition: str, depth: int, one: Inside, other: Inside | None = None) -> None:
        """Write a choice. The rows at hand go on in both ways, and behind it those at hand depend on the condition."""
        self.flush(depth)
        if len(self._choices) > MOST_CHOICES:
            self.emit(depth)
        choices, pending = self._choices, self._pending
        behind: list[tuple[str, list[Pending]]] = []
        for test, write in ((condition, one), ("", other)):
            self._choices, self._pending = choices, pending[:]
            if write is not None:
                self.under(f"if {test}:" if test else "else:", depth, self.flushed(write))
            for also, rows in self._choices or [("", [])]:
                behind.append((" and ".join(filter(None, (test, also))), rows + self._pending))
        self._choices, self._pending = behind, []

    def flushed(self, write: Inside) -> Inside:
        """Return what writes that, and the run behind it."""

        def both(depth: int) -> None:
            write(depth)
            self.flush(depth)

        return both

    def under(self, line: str, depth: int, write: Inside) -> None:
        """Write a line and what stands below it."""
        self.line(depth, line)
        written = len(self.lines)
        write(depth + 1)
        if len(self.lines) == written:
            self.line(depth + 1, "pass")

    def only(self, depth: int, write: Callable[[int], None]) -> None:
        """Write what adds the rows of the only item of an array."""
        outer, self.inner = self.inner, f"{self.inner}[0]"
        write(depth)
        self.inner = outer

    def loop_numbered(self, count: str, depth: int, write: Callable[[int], None]) -> None:
        """Write the loop over items."""
        self.emit(depth)
        index, array, path = self.fresh("i"), self.keep_path(depth), self.fresh("f")
        self.line(depth, f"if {count} > len(data): raise Unreadable")
        self.line(depth, f"for {index} in range({count}):")
        self.line(depth + 1, f"{path} = {array} + {self.index(index)}")

        def inside() -> None:
            write(depth + 1)
            self.emit(depth + 1)

        self.in_item(path, inside)
