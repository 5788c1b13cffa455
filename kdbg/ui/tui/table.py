"""The pane of exchanges: a line for each that is shown, and the heading above them."""

from __future__ import annotations

from typing import Any

from rich.text import Text
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from .index import Order
from .lines import Column, RowTexts, columns
from .pane import Pane
from .pieces import StyledText


class Exchanges(Pane):
    """The exchanges of an order; `marked` are positions."""

    order: Order
    texts: RowTexts
    marked: set[int]

    class Entered(Message):
        """Somebody wants to look at the exchange under the cursor."""

    def __init__(self, order: Order, texts: RowTexts, marked: set[int], **options: Any) -> None:
        super().__init__(**options)
        self.order, self.texts, self.marked = order, texts, marked

    @property
    def count(self) -> int:
        return len(self.order)

    @property
    def position(self) -> int | None:
        """The position of the exchange under the cursor."""
        return self.order[self.cursor] if self.cursor < self.count else None

    def pieces(self, line: int, width: int) -> list[StyledText]:
        position = self.order[line]
        mark = StyledText("●" if position in self.marked else " ", "note")
        found = [mark]
        for cell in self.texts.cells(position, columns(width)):
            found += [*cell, StyledText(" ")]
        return found

    def enter(self) -> None:
        self.post_message(self.Entered())


class Heading(Widget):
    """The titles of the columns; a click sorts by one."""

    order: Order

    DEFAULT_CSS = "Heading { height: 1; color: $text-muted; background: $panel; }"

    class Clicked(Message):
        """Somebody wants the rows sorted by a column."""

        def __init__(self, by: str) -> None:
            super().__init__()
            self.by = by

    def __init__(self, order: Order, **options: Any) -> None:
        super().__init__(**options)
        self.order = order

    def render(self) -> Text:
        """Draw the titles; an arrow stands at that by which rows are sorted."""
        titles = [self._title(column) for column in columns(self._width)]
        return Text(" " + " ".join(titles), no_wrap=True, overflow="crop")

    @property
    def _width(self) -> int:
        return self.size.width - 1  # the bar for scrolling stands beside the rows

    def _title(self, column: Column) -> str:
        arrow = ("↓" if self.order.descending else "↑") if column.name == self.order.by else ""
        title = f"{column.title[: column.width - len(arrow)]}{arrow}"
        return title.rjust(column.width) if column.right else title.ljust(column.width)

    def on_click(self, event: Click) -> None:
        """Sort by the column that was clicked."""
        at = 1
        for column in columns(self._width):
            at += column.width + 1
            if event.x < at:
                self.post_message(self.Clicked(column.name))
                return
