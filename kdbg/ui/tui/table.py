"""The rows of the table as texts: what stands in each column, in a width, and what an exchange was about."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, NamedTuple

from rich.text import Text
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from ...errors import KdbgError
from ...views.render.style import Look
from ...views.render.summary import short, size
from ...views.render.values import Clock, cells, cut, escape
from .contents import ExchangeContents, Looked
from .feed import ExchangeFeed
from .index import NOTHING, Order
from .pane import Pane, StyledText

KEPT = 4096
"""Rows whose last column is remembered."""


class Column(NamedTuple):
    """A column: its name, by which rows are sorted, its title, its width, and whether it stands at the right."""

    name: str
    title: str
    width: int
    right: bool = False


def columns(width: int) -> list[Column]:
    """Return the columns that there is room for; the last, what an exchange was about, takes what is left."""
    found = [Column("number", "#", 6, True), Column("time", "time UTC", 12)]
    if width >= 150:
        found.append(Column("ends", "client → broker", 43))
    else:
        found.append(Column("ends", "conn", 4))
    if width >= 110:
        found.append(Column("client id", "client id", 14))
    found += [
        Column("api", "API", 20 if width < 110 else 24),
        Column("request", "req", 4, True),
        Column("response", "resp", 4, True),
        Column("latency", "lat", 5, True),
    ]
    left = width - 1 - sum(column.width + 1 for column in found)
    return [*found, Column("flags", "details", max(left, 8))]


class RowTexts:
    """Makes the texts of rows; exchanges are read for the last column alone: `about` says what stands there."""

    def __init__(self, feed: ExchangeFeed, look: Look, about: Callable[[int], list[StyledText]]) -> None:
        self.feed = feed
        self.look = look
        self.clock: Clock = Clock(local=look.local)
        self.about: Callable[[int], list[StyledText]] = lru_cache(KEPT)(about)

    def cells(self, position: int, layout: list[Column]) -> list[list[StyledText]]:
        """Return what stands in each column, cut to its width."""
        found = []
        for column in layout[:-1]:
            text = cut(self.cell(position, column), column.width)
            space = " " * (column.width - cells(text))
            found.append([StyledText(f"{space}{text}" if column.right else f"{text}{space}")])
        return [*found, fitted(self.about(position), layout[-1].width)]

    def cell(self, position: int, column: Column) -> str:
        """Return what stands in a column but the last."""
        index, name = self.feed.index, column.name
        who = index.who_of(position)
        if name == "number":
            return str(index.value(name, position))
        if name == "time":
            return self.time(position)
        if name == "ends":
            return f"c{who.connection}" if column.width <= 4 else f"{who.client} → {who.broker}"
        if name == "client id":
            return escape(who.client_id or "")
        if name == "api":
            version = f" v{who.version}" if who.api != "?" else ""
            return cut(who.api, column.width - len(version)) + version
        if name == "latency":
            latency, answered = index.value(name, position), index.value("response", position)
            return short(None if answered == NOTHING or latency == NOTHING else latency)
        count = index.value(name, position)
        return "–" if count == NOTHING else size(count)

    def row(self, number: int, file: int) -> list[StyledText]:
        """Return what the row of an exchange says, in a few words, by its number in a file."""
        position = self.feed.index.find(number, file)
        if position is None:
            return [StyledText("not loaded", "dim")]
        who = self.feed.index.who_of(position)
        what = [StyledText(self.time(position), "dim"), StyledText(f"{who.api} v{who.version}"), *self.about(position)]
        return [each for piece in what for each in (StyledText(" "), piece)][1:]

    def time(self, position: int) -> str:
        """Return when an exchange began."""
        return self.clock.times[self.feed.index.value("time", position) // 1_000_000]


def fitted(pieces: list[StyledText], width: int) -> list[StyledText]:
    """Return as much of pieces as there is room for, with a space between them, in exactly so many columns."""
    found, left = list[StyledText](), width
    for piece in pieces:
        if found and left > 1:
            found.append(StyledText(" "))
            left -= 1
        text = cut(piece.text, left)
        if left <= 0 or not text:
            break
        found.append(StyledText(text, piece.style))
        left -= cells(text)
    return [*found, StyledText(" " * max(left, 0))]


class Exchanges(Pane):
    """The exchanges of an order; `marked` are positions."""

    class Entered(Message):
        """Somebody wants to look at the exchange under the cursor."""

    def __init__(self, order: Order, texts: RowTexts, marked: set[int], **options: Any) -> None:
        super().__init__(**options)
        self.order = order
        self.texts = texts
        self.marked = marked

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

    DEFAULT_CSS = "Heading { height: 1; color: $text-muted; background: $panel; }"

    @dataclass
    class Clicked(Message):
        """Somebody wants the rows sorted by a column."""

        by: str

    def __init__(self, order: Order, **options: Any) -> None:
        super().__init__(**options)
        self.order = order

    def render(self) -> Text:
        """Draw the titles; an arrow stands at that by which rows are sorted."""
        titles = []
        for column in columns(self._width):
            arrow = ("↓" if self.order.descending else "↑") if column.name == self.order.by else ""
            title = f"{column.title[: column.width - len(arrow)]}{arrow}"
            titles.append(title.rjust(column.width) if column.right else title.ljust(column.width))
        return Text(" " + " ".join(titles), no_wrap=True, overflow="crop")

    @property
    def _width(self) -> int:
        return self.size.width - 1  # the bar for scrolling stands beside the rows

    def on_click(self, event: Click) -> None:
        """Sort by the column that was clicked."""
        at = 1
        for column in columns(self._width):
            at += column.width + 1
            if event.x < at:
                self.post_message(self.Clicked(column.name))
                return


class Opening:
    """`want` an exchange; once it is read, `shown` is called with it, in the thread."""

    def __init__(self, contents: ExchangeContents, shown: Callable[[Looked], None]) -> None:
        self._contents, self._shown = contents, shown
        self._wanted: SimpleQueue[int | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def want(self, position: int) -> None:
        """Read this one next."""
        self._wanted.put(position)

    def close(self) -> None:
        """End the thread, after what it is at."""
        self._wanted.put(None)

    def _work(self) -> None:
        while True:
            position = self._wanted.get()
            while not self._wanted.empty():  # only the last one matters
                position = self._wanted.get()
            if position is None:
                return
            with suppress(KdbgError, OSError):
                self._shown(self._contents.look_at(position))
