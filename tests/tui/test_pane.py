"""A pane by itself on a small screen: its cursor, what it scrolls to, where clicks go; pages, which any key closes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from rich.text import Text
from textual.app import App, ComposeResult
from textual.events import DescendantFocus
from textual.pilot import Pilot

from kdbg.ui.tui.app import Page
from kdbg.ui.tui.fields import ByteRange, OpenedExchange
from kdbg.ui.tui.intercept import HeldList
from kdbg.ui.tui.pane import Pane, StyledText
from kdbg.ui.tui.panes import Bytes as BytesPane
from kdbg.ui.tui.panes import Fields
from kdbg.ui.tui.table import Heading

from .driving import click, handled, strike
from .test_panes import held
from .test_pieces import dumped, small


class Lines(Pane):
    """Numbered lines."""

    lines = 30

    @property
    def count(self) -> int:
        return self.lines

    def pieces(self, line: int, width: int) -> list[StyledText]:
        return [StyledText(f"line {line}", "name")]


class Screen(App[None]):
    """A screen of one widget; `heard` are the cursor's lines as the pane tells of them, and what else is told."""

    def __init__(self, widget: Any) -> None:
        super().__init__()
        self.widget = widget
        self.heard: list[Any] = []

    def compose(self) -> ComposeResult:
        yield self.widget

    def on_pane_moved(self, event: Pane.Moved) -> None:
        assert event.pane is self.widget
        self.heard.append(self.widget.cursor)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        if isinstance(event.widget, Pane):
            assert event.widget is self.widget
            self.heard.append("focused")

    def on_heading_clicked(self, event: Heading.Clicked) -> None:
        self.heard.append(event.by)

    def on_held_list_entered(self) -> None:
        self.heard.append("entered")


def on_screen(
    widget: Any, steps: Callable[[Screen, Pilot[None]], Awaitable[None]], size: tuple[int, int] = (80, 10)
) -> None:
    async def run() -> None:
        app = Screen(widget)
        async with app.run_test(size=size) as pilot:
            await handled(app)
            await steps(app, pilot)

    asyncio.run(run())


def shown(app: Screen) -> list[str]:
    rendered = ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]
    return [line[:-1].rstrip() for line in rendered]  # without the bar for scrolling


def test_a_pane_keeps_its_cursor_in_sight() -> None:
    pane = Lines()

    async def steps(app: Screen, pilot: Pilot[None]) -> None:
        async def seen(cursor: int, top: int) -> None:
            await handled(app)
            assert (pane.cursor, pane.scroll_offset.y) == (cursor, top)
            assert shown(app)[:2] == [f"line {top}", f"line {top + 1}"]

        pane.focus()
        await seen(0, 0)
        for move, cursor, top in (
            (lambda: pane.move(1), 1, 0), (lambda: pane.page(1), 10, 1), (lambda: pane.page(1), 19, 10),
            (lambda: pane.page(-1), 10, 10), (lambda: pane.move(-1), 9, 9), (lambda: pane.edge(1), 29, 20),
            (lambda: pane.move(5), 29, 20), (lambda: pane.page(-9), 0, 0), (lambda: pane.edge(1), 29, 20),
            (lambda: pane.edge(-1), 0, 0), (lambda: pane.go(99), 29, 20), (lambda: pane.go(-5), 0, 0),
        ):  # fmt: skip
            move()
            await seen(cursor, top)
        assert app.heard == ["focused", 1, 10, 19, 10, 9, 29, 0, 29, 0, 29, 0], "where it stays nothing is told"
        app.heard.clear()
        pane.go(7, notify=False)
        await seen(7, 0)
        await click(pilot, pane, (3, 5))
        await seen(5, 0)
        assert app.heard == [5]
        pane.lines = 4
        pane.refit()
        await seen(3, 0)
        assert shown(app) == [*(f"line {at}" for at in range(4)), *[""] * 6]
        await click(pilot, pane, (3, 6))
        await seen(3, 0)
        await click(pilot, pane, (3, 2))
        await seen(2, 0)
        assert app.heard == [5, 2]
        assert (pane.highlight(2), pane.highlight(1)) == ("cursor", "")
        app.set_focus(None)
        await handled(app)
        assert (pane.highlight(2), pane.highlight(1)) == ("unfocused", "")
        pane.lines = 12
        pane.grew()
        assert pane.virtual_size.height == 12
        pane.lines = 40
        pane.grew()
        assert pane.virtual_size.height == 40
        pane.lines = 0
        pane.refit()
        assert (pane.cursor, pane.highlight(0)) == (0, "")
        pane.go(3)
        assert pane.cursor == 0

    on_screen(pane, steps)


def test_a_cursor_that_moves_before_there_is_room_scrolls_nothing_out_of_sight() -> None:
    class Early(Lines):
        def on_mount(self) -> None:
            self.refit()
            self.go(3)

    pane = Early()

    async def steps(app: Screen, pilot: Pilot[None]) -> None:
        await handled(app)
        assert (pane.cursor, pane.scroll_offset.y) == (3, 0)

    on_screen(pane, steps)


def test_a_page_is_a_line_less_than_what_is_seen_and_a_line_at_least() -> None:
    for rows, cursors in ((1, [1, 2, 1]), (2, [1, 2, 1]), (3, [2, 4, 2])):
        pane = Lines()

        async def steps(app: Screen, pilot: Pilot[None], pane: Lines = pane, cursors: list[int] = cursors) -> None:
            for pages, cursor in zip((1, 1, -1), cursors, strict=True):
                pane.page(pages)
                assert pane.cursor == cursor

        on_screen(pane, steps, (80, rows))


def test_lines_are_drawn_in_their_styles() -> None:
    pane = Lines()

    async def steps(app: Screen, pilot: Pilot[None]) -> None:
        pane.focus()
        await handled(app)
        first, second = pane.render_line(0), pane.render_line(1)
        assert first.text == "line 0".ljust(first.cell_length)
        assert first.cell_length == second.cell_length == pane.size.width
        name, under = pane.style_of("name"), pane.style_of("cursor")
        assert name.color is not None
        assert next(iter(second)).style.color == name.color  # type: ignore[union-attr]
        backs = {segment.style.bgcolor for segment in first if segment.style}
        assert len(backs) == 1
        assert backs != {segment.style.bgcolor for segment in second if segment.style}
        assert under.bgcolor is not None
        assert pane.style_of("").color is None
        assert pane.render_line(30).text.strip() == ""
        assert pane.render_line(29).text.strip() == "line 29"
        pane.go(25)
        await handled(app)
        assert pane.render_line(0).text.strip() == f"line {pane.scroll_offset.y}"

    on_screen(pane, steps)


def test_any_of_its_keys_closes_a_page() -> None:
    async def steps(app: Screen, pilot: Pilot[None]) -> None:
        for key in ("escape", "q", "question_mark", "a", "enter", ""):
            page = Page(Text("a text\nto read"))
            app.push_screen(page)
            await handled(app)
            lines = [line.strip() for line in shown(app)]
            assert "a text" in "\n".join(lines)
            assert "to read" in "\n".join(lines)
            await (strike(pilot, key) if key else click(pilot, page, (9, 4)))
            assert app.screen is not page, key

    on_screen(Lines(), steps)


def test_the_list_of_held_messages_takes_room_for_those_that_there_are() -> None:
    pane = HeldList()

    async def steps(app: Screen, pilot: Pilot[None]) -> None:
        assert not pane.display
        for number, height in ((1, 1), (2, 2), (3, 3), (4, 4), (5, 4)):
            pane.add(held(number, "request"))
            await handled(app)
            assert pane.display
            assert pane.size.height == height
        pane.go(4)
        assert pane.message is pane.messages[4]
        first = pane.messages[0]
        assert pane.take_out(9) is None
        assert pane.take_out(1) is first
        assert pane.message is pane.messages[-1]
        pane.enter()
        await handled(app)
        assert app.heard[-1] == "entered"
        for number in range(2, 6):
            assert pane.take_out(number) is not None
        await handled(app)
        assert not pane.display
        assert pane.message is None

    on_screen(pane, steps)


def test_a_click_on_a_title_sorts_by_its_column() -> None:
    from types import SimpleNamespace

    order = SimpleNamespace(by="time", descending=False)
    heading = Heading(order)  # type: ignore[arg-type]

    async def steps(app: Screen, pilot: Pilot[None]) -> None:
        line = "      # time UTC↑    conn API                   req resp   lat details"
        assert str(heading.render()).rstrip() == line
        for column in (0, 1, 6, 7, 8, 20, 21, 24, 25, 26, 78):
            await click(pilot, heading, (column, 0))
        await handled(app)
        names = ["number"] * 3 + ["number", "time", "time", "ends", "ends", "ends", "api", "flags"]
        assert app.heard == names
        order.by, order.descending = "latency", True
        assert "  lat↓ details" in str(heading.render())

    on_screen(heading, steps)


def test_fields_are_folded_around_the_cursor() -> None:
    pane = Fields()

    async def steps(app: Screen, pilot: Pilot[None]) -> None:
        def at() -> str:
            return pane.branch.path if pane.branch is not None else ""

        pane.load(small(), "topics[0].parts[1].id")
        assert (pane.cursor, at()) == (10, "topics[0].parts[1].id")
        pane.load(small(), "no such")
        assert pane.cursor == 0
        pane.load(small(), "throttle", 1)
        assert pane.cursor == 13, "the first, where no other message has it"
        pane.go(10)
        for direction, path, count in (
            (-1, "topics[0].parts[1]", 16), (-1, "topics[0].parts[1]", 15), (-1, "topics[0].parts", 15),
            (1, "topics[0].parts", 15), (-1, "topics[0].parts", 12), (1, "topics[0].parts", 15),
        ):  # fmt: skip
            pane.side(direction)
            assert (at(), pane.count) == (path, count)
        pane.fold_all()
        assert pane.count == 16, "something is folded: all is unfolded"
        assert at() == "topics[0].parts"
        pane.fold_all()
        assert (at(), pane.count) == ("topics", 7)
        pane.enter()
        assert pane.count == 9
        await handled(app)
        await click(pilot, pane, (3, 3))
        assert pane.count == 7
        await click(pilot, pane, (4, 3))
        assert (pane.cursor, pane.count) == (3, 7)
        branch = pane.branches.lines[3].below[0].below[0]
        pane.show(branch)
        assert pane.branch is branch

    on_screen(pane, steps, (80, 24))


def test_the_cursor_of_bytes_goes_from_byte_to_byte() -> None:
    """Twenty bytes of one buffer on three lines, then three of another, each under a heading."""
    pane = BytesPane()

    async def steps(app: Screen, pilot: Pilot[None]) -> None:
        pane.load(dumped())
        assert (pane.at, pane.lit, pane.cursor, pane.count) == (ByteRange(0, 0, 0), [], 0, 6)
        for move, buffer, place, line in (
            (lambda: pane.side(1), 0, 1, 1), (lambda: pane.move(1), 0, 9, 2), (lambda: pane.move(1), 0, 17, 3),
            (lambda: pane.move(1), 1, 1, 5), (lambda: pane.move(1), 1, 1, 5), (lambda: pane.side(1), 1, 2, 5),
            (lambda: pane.side(1), 1, 2, 5), (lambda: pane.edge(-1), 0, 0, 1), (lambda: pane.side(-1), 0, 0, 1),
            (lambda: pane.edge(1), 1, 2, 5), (lambda: pane.move(-1), 0, 18, 3), (lambda: pane.touch(0, 19), 0, 19, 3),
            (lambda: pane.side(1), 1, 0, 5), (lambda: pane.side(-1), 0, 19, 3), (lambda: pane.move(-9), 0, 3, 1),
        ):  # fmt: skip
            move()
            assert (pane.at, pane.cursor) == (ByteRange(buffer, place, place + 1), line)
        await handled(app)
        for column, line, place in ((6, 2, 8), (8, 2, 8), (9, 2, 9), (29, 2, 15), (31, 2, 8), (38, 2, 15)):
            pane.clicked(line, column)
            assert pane.at.start == place, column
        for column, line in ((0, 2), (39, 2), (31, 0), (18, 5)):
            before = pane.at
            pane.clicked(line, column)
            assert pane.at == before, column
        pane.light([ByteRange(1, 0, 2), ByteRange(0, 0, 1)])
        assert (pane.at, pane.cursor) == (ByteRange(1, 0, 2), 5)
        pane.light([])
        assert (pane.at, pane.lit) == (ByteRange(1, 0, 2), [])
        pane.load(OpenedExchange([], []))
        for move in (lambda: pane.side(1), lambda: pane.edge(1), lambda: pane.move(1)):
            move()
            assert (pane.at, pane.cursor) == (ByteRange(0, 0, 0), 0)

    on_screen(pane, steps, (45, 12))
