"""The bytes of an exchange as lines of a hexdump, made when they are drawn: a heading for each buffer, its bytes."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

from textual.message import Message

from ...views.render.hex.grid import PRINTABLE
from ...views.render.values import cut, escape
from .fields import Branch, Branches, ByteRange, OpenedExchange
from .pane import FIELD_COLOURS, Pane, StyledText
from .table import fitted

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

    def __init__(self, opened: OpenedExchange, per_line: int) -> None:
        self.opened = opened
        self.per_line = per_line
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


def per_line(width: int) -> int:
    """Return how many bytes a line has in so many columns."""
    return 16 if width >= WIDE else 8


NOWHERE = OpenedExchange([], [])


class Fields(Pane):
    """The fields of an exchange; the cursor is on a branch."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.branches = Branches(NOWHERE)

    @property
    def count(self) -> int:
        return len(self.branches.lines)

    @property
    def branch(self) -> Branch | None:
        """The branch under the cursor."""
        return self.branches.lines[self.cursor] if self.cursor < self.count else None

    def load(self, opened: OpenedExchange, path: str, part: int = 0) -> None:
        """Show the fields of another exchange; the cursor goes to the field of this path, if it has one, at best in
        this message."""
        self.branches = Branches(opened)
        found = [line for line, one in enumerate(self.branches.lines) if one.name and one.path == path]
        self.cursor = next((line for line in found if self.branches.lines[line].part == part), (found or [0])[0])
        self.refit()
        self.show_cursor()

    def pieces(self, line: int, width: int) -> list[StyledText]:
        branch = self.branches.lines[line]
        arrow = ("▸ " if branch.folded else "▾ ") if branch.below else "  "
        front = f"{'  ' * branch.depth}{arrow}"
        if branch.above is None:
            note = StyledText(f"  {branch.note}" * bool(branch.note), "dim")
            return [StyledText(front), StyledText(branch.name, "heading"), note]
        if not branch.name:
            text = cut(branch.note, max(width - len(front), 8))
            return [StyledText(front), StyledText(text, "bad" if "✗" in branch.note else "note")]
        says = StyledText(next((one.leaf.says for one in branch.below if one.leaf is not None), ""), "dim")
        if branch.leaf is not None:
            says = StyledText(branch.leaf.says, "note" if branch.leaf.hidden else "")
        field = [StyledText(escape(branch.name), "name"), says]
        return [StyledText(front, "dim"), *fitted(field, max(width - len(front), 8))]

    def side(self, direction: int) -> None:
        branch = self.branch
        if branch is None:
            return
        if direction < 0 and (branch.folded or not branch.below) and branch.above is not None:
            self.go(self.branches.line_of(branch.above))
        else:
            self.fold(folded=direction < 0)

    def fold(self, *, folded: bool | None = None) -> None:
        """Fold or unfold the branch under the cursor."""
        if self.branch is not None:
            self.branches.fold(self.branch, folded=folded)
            self.refit()

    def enter(self) -> None:
        self.fold()

    def fold_all(self) -> None:
        """Fold all, or unfold all where something is folded."""
        branch, lines = self.branch, self.branches.lines
        self.branches.fold_all(folded=not any(one.folded for one in lines))
        while branch is not None and branch not in self.branches.lines:
            branch = branch.above
        self.refit()
        if branch is not None:
            self.go(self.branches.line_of(branch), notify=False)

    def clicked(self, line: int, column: int) -> None:
        self.go(line)
        branch = self.branch
        if branch is not None and branch.below and column < 2 * branch.depth + 2:
            self.fold()

    def show(self, branch: Branch) -> None:
        """Put the cursor on a branch, without a word."""
        line = self.branches.line_of(branch)
        self.refit()
        self.go(line, notify=False)


class Bytes(Pane):
    """The bytes of an exchange; the cursor is on a byte, and the bytes of a field are lit."""

    class Touched(Message):
        """The cursor went to another byte."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.dump: ExchangeDump = ExchangeDump(NOWHERE, 8)
        self.lit: list[ByteRange] = []
        self.at: ByteRange = ByteRange(0, 0, 0)

    @property
    def count(self) -> int:
        return len(self.dump)

    def load(self, opened: OpenedExchange) -> None:
        """Show the bytes of another exchange."""
        self.dump, self.at = ExchangeDump(opened, per_line(self.size.width)), ByteRange(0, 0, 0)
        self.lit = []
        self.refit()

    def refit(self) -> None:
        if per_line(self.size.width) != self.dump.per_line:
            self.dump = ExchangeDump(self.dump.opened, per_line(self.size.width))
            self.cursor = self.dump.line_of(self.at) if self.count else 0
        super().refit()

    def light(self, places: list[ByteRange]) -> None:
        """Light the bytes of a field, and go to them."""
        self.lit = places
        if places:
            self.at = places[0]
            self.go(self.dump.line_of(self.at), notify=False)
        self.refresh()

    def highlight(self, line: int) -> str:
        return ""

    def pieces(self, line: int, width: int) -> list[StyledText]:
        found = self.dump.line(line)
        if found.heading:
            return [StyledText(cut(escape(found.heading), width), "heading")]
        lit = [place for place in self.lit if place.buffer == found.buffer]
        styles = [self._style(found.buffer, cell.place, cell.field, lit) for cell in found.cells]
        pieces = [StyledText(f"{found.start:04x}  ", "dim")]
        for number, (cell, style) in enumerate(zip(found.cells, styles, strict=True)):
            joined = style == "lit" and number + 1 < len(styles) and styles[number + 1] == "lit"
            pieces += (
                [StyledText(f"{cell.digits} ", style)] if joined else [StyledText(cell.digits, style), StyledText(" ")]
            )
        pieces.append(StyledText(" " * (3 * (self.dump.per_line - len(styles)) + 1)))
        return pieces + [StyledText(cell.letter, style) for cell, style in zip(found.cells, styles, strict=True)]

    def _style(self, buffer: int, place: int, field: int | None, lit: list[ByteRange]) -> str:
        if self.has_focus and (buffer, place) == (self.at.buffer, self.at.start):
            return "byte"
        if any(one.start <= place < one.end for one in lit):
            return "lit"
        return "bad" if field is None else f"field{field % FIELD_COLOURS}"

    def touch(self, buffer: int, place: int) -> None:
        """Put the cursor on a byte."""
        if not self.dump.opened.buffers:
            return
        buffers = self.dump.opened.buffers
        if place < 0 and buffer:
            buffer, place = buffer - 1, len(buffers[buffer - 1].data) - 1
        elif place >= len(buffers[buffer].data) and buffer + 1 < len(buffers):
            buffer, place = buffer + 1, 0
        place = max(min(place, len(buffers[buffer].data) - 1), 0)
        self.at = ByteRange(buffer, place, place + 1)
        self.go(self.dump.line_of(self.at), notify=False)
        self.post_message(self.Touched())

    def move(self, lines: int) -> None:
        line = max(min(self.cursor + lines, self.count - 1), 0)
        if not self.count:
            return
        found = self.dump.line(line)
        if found.heading and lines < 0 < line:
            found = self.dump.line(line - 1)
        column = self.at.start % self.dump.per_line
        self.touch(found.buffer, max(found.start, 0) + column)

    def edge(self, direction: int) -> None:
        buffers = self.dump.opened.buffers
        if buffers:
            self.touch(*((0, 0) if direction < 0 else (len(buffers) - 1, len(buffers[-1].data) - 1)))

    def side(self, direction: int) -> None:
        self.touch(self.at.buffer, self.at.start + direction)

    def clicked(self, line: int, column: int) -> None:
        found = self.dump.line(line)
        if found.heading:
            return
        size = self.dump.per_line
        letters = 6 + 3 * size + 1
        at = column - letters if column >= letters else (column - 6) // 3
        if 0 <= at < len(found.cells):
            self.touch(found.buffer, found.start + at)
