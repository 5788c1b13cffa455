"""A source that gives exchanges one batch after the other: what is kept of them, and what the screen does meanwhile."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from textual.pilot import Pilot

import kdbg
from kdbg.protocol.wire.readings.outline import NamesThen
from kdbg.ui.cli.browse_captures import parsed
from kdbg.ui.tui.app import Browser
from kdbg.ui.tui.feed import SHARE, STALLED, ExchangeFeed, Note
from kdbg.ui.tui.rows import Rows
from kdbg.ui.tui.spool import SpoolWriter
from kdbg.views.render.style import Look

from .driving import CAPTURES, handled, lines, strike, until, wait

PATH = CAPTURES / "errors.pcap"
COUNT = struct.Struct("<I")


class Growing:
    """A feed of a capture's exchanges, of which so many come at a time."""

    def __init__(self, most: int | None) -> None:
        gate, self._gate = os.pipe()
        given = list(kdbg.read(PATH))

        def read(spool: int, tell: Callable[[Any], None]) -> None:
            writer = SpoolWriter(spool)
            rows = Rows(writer)
            rows.begin()
            at = 0
            while count := COUNT.unpack(os.read(gate, COUNT.size))[0]:
                tell(rows.batch(given[at : at + count], given[0].time, NamesThen({})))
                at += count
            writer.close()
            tell(Note("all was read"))

        self.feed = ExchangeFeed(read, {}, most=most)
        os.close(gate)
        self.feed.listen()
        self.come = 0

    def give(self, *counts: int) -> None:
        """Have some more exchanges read, in batches of these sizes; 0: that was all."""
        for count in counts:
            os.write(self._gate, COUNT.pack(count))
            self.come += count

    def close(self) -> None:
        self.feed.close()
        os.close(self._gate)


@contextmanager
def growing(most: int | None = None) -> Iterator[Growing]:
    found = Growing(most)
    try:
        yield found
    finally:
        found.close()


def drive(steps: Callable[[Growing, Browser, Pilot[None]], Awaitable[None]], most: int | None = None) -> None:
    with growing(most) as source:
        app = Browser(source.feed, Look(width=400, full=False), ["a stream"], parsed, follow=most is not None)

        async def run() -> None:
            async with app.run_test(size=(90, 24), notifications=True) as pilot:
                await steps(source, app, pilot)

        asyncio.run(run())


async def come(source: Growing, app: Browser, pilot: Pilot[None], *counts: int) -> None:
    """Wait until some more exchanges are listed."""
    source.give(*counts)
    await until(pilot, lambda: len(source.feed.index) == source.come)
    app.tick()
    await handled(app)


def test_no_more_is_read_than_there_is_room_for_until_some_is_forgotten() -> None:
    most = 16
    assert (SHARE, STALLED) == (8, 2)
    with growing(most) as source:
        feed = source.feed
        source.give(8, 8)
        wait(lambda: len(feed.index) == 16)
        assert feed.forget() is False, "there are no more than are kept"
        source.give(8, 7)
        wait(lambda: len(feed.index) == 31)
        source.give(8, 8)
        wait(lambda: len(feed.index) == 39)
        assert feed._has_room() is False
        assert feed.forget() is True
        wait(lambda: len(feed.index) == 47)
        assert feed.index.first == 8, "an eighth of what is kept, by whole batches"
        while feed.forget():
            pass
        assert len(feed.index) - feed.index.first <= most
        assert feed.exchange(46).number == 47
        assert not feed.over


def test_a_feed_without_an_end_ends_though_there_is_no_room() -> None:
    with growing(2) as source:
        source.give(4, 4, 4)
        wait(lambda: len(source.feed.index) == 8)
    assert source.feed.over
    with growing() as source:
        source.give(30, 28)
        wait(lambda: len(source.feed.index) == 58)
        assert source.feed.forget() is False, "all of a capture is kept"


def test_one_large_batch_is_never_forgotten() -> None:
    with growing(8) as source:
        source.give(20, 1)
        wait(lambda: len(source.feed.index) == 21)
        assert source.feed.forget() is True
        assert source.feed.index.first == 20
        assert source.feed.forget() is False


def test_the_cursor_follows_what_comes_until_it_is_moved() -> None:
    async def steps(source: Growing, app: Browser, pilot: Pilot[None]) -> None:
        assert lines(app)[0].startswith(" kdbg a stream · 0 exchanges · following · live")
        await come(source, app, pilot, 5)
        assert app.exchanges.cursor == 4
        await until(pilot, lambda: app.looked is not None and app.looked.position == 4)
        await come(source, app, pilot, 5)
        assert app.exchanges.cursor == 9
        await until(pilot, lambda: app.looked is not None and app.looked.position == 9)
        await strike(pilot, "up", "down")
        assert not app.following
        await come(source, app, pilot, 5)
        assert app.exchanges.cursor == 9
        await strike(pilot, "f")
        assert (app.following, app.exchanges.cursor) == (True, 14)
        await come(source, app, pilot, 5)
        assert app.exchanges.cursor == 19
        await strike(pilot, "f")
        await come(source, app, pilot, 5)
        assert (app.following, app.exchanges.cursor) == (False, 19)

    drive(steps, 100)


def test_what_is_forgotten_is_listed_and_marked_no_more_and_the_cursor_stays_on_its_exchange() -> None:
    async def steps(source: Growing, app: Browser, pilot: Pilot[None]) -> None:
        await come(source, app, pilot, 4, 4, 4)
        await strike(pilot, "home", "m", "end", "up", "m")
        assert app.marked == {0, 10}
        assert app.exchanges.position == 11
        await come(source, app, pilot, 6)
        assert app.feed.index.first == 4
        assert app.marked == {10}
        assert (app.exchanges.position, app.exchanges.cursor, app.exchanges.count) == (11, 7, 14)
        assert app.exchanges.virtual_size.height == 14
        assert " · last 14 kept · 1 marked · live" in lines(app)[0]
        await strike(pilot, "home")
        assert app.exchanges.position == 4
        await until(pilot, lambda: app.looked is not None and app.looked.position == 4)
        await strike(pilot, "x")
        await come(source, app, pilot, 8)
        await until(pilot, lambda: app.feed.index.first == 12)
        assert app.exchanges.position == 12, "the first that is left"
        app.jump(0, 2)
        assert app.exchanges.position == 12, "#2 is forgotten"

    drive(steps, 16)


def test_rows_stay_sorted_as_more_come() -> None:
    async def steps(source: Growing, app: Browser, pilot: Pilot[None]) -> None:
        index = app.feed.index

        def latencies() -> list[int]:
            return [index.value("latency", app.order[row]) for row in range(len(app.order))]

        await come(source, app, pilot, 10)
        await strike(pilot, "down", "down")
        app.sort("latency", descending=True)
        position = app.exchanges.position
        app._next_sort = 0.0
        await come(source, app, pilot, 20)
        assert latencies() == sorted(latencies(), reverse=True)
        assert app.exchanges.position == position == 2
        app._next_sort = float("inf")
        await come(source, app, pilot, 10)
        assert app.order.unsorted == 10, "sorting took long: they stand behind the others for now"
        assert "by latency ↓" in lines(app)[0]
        source.give(0)
        await until(pilot, lambda: app.feed.over)
        app.tick()
        assert app.order.unsorted == 0, "no more comes"

    drive(steps)


def test_until_somebody_moves_the_cursor_is_on_the_first_of_sorted_rows() -> None:
    async def steps(source: Growing, app: Browser, pilot: Pilot[None]) -> None:
        await come(source, app, pilot, 10)
        app.sort("number", descending=True)
        assert app.exchanges.position == 0
        app._next_sort = 0.0
        await come(source, app, pilot, 10)
        assert (app.exchanges.position, app.exchanges.cursor) == (19, 0)
        await until(pilot, lambda: app.looked is not None and app.looked.position == 19)

    drive(steps)
