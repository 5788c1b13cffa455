"""A feed of captures, and the screen over it, driven by Textual's pilot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual.app import App
from textual.events import Key, MouseDown, MouseUp
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widget import Widget

from kdbg.exchanges.filters.filter_set import Filters
from kdbg.ui.cli.browse_captures import Files, jobs, parsed
from kdbg.ui.tui.app import Browser
from kdbg.ui.tui.feed import ExchangeFeed, JobDone
from kdbg.views.render.style import Look

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
PATIENCE = 60
"""Seconds after which what should come will not."""
Drive = Callable[[Browser, "Pilot[None]"], Awaitable[None]]


@contextmanager
def feed(*files: Path, filters: Filters | None = None) -> Iterator[ExchangeFeed]:
    """A feed of captures."""
    wanted = filters or Filters()
    source = Files([*map(str, files)], wanted)
    found = ExchangeFeed(source, jobs(source.files, wanted))
    try:
        yield found
    finally:
        found.close()


def wait(until: Callable[[], object]) -> None:
    """Wait for something."""
    end = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


@contextmanager
def whole(*files: Path, filters: Filters | None = None) -> Iterator[ExchangeFeed]:
    """A feed that has read all."""
    with feed(*files, filters=filters) as found:
        found.listen()
        wait(lambda: found.over)
        yield found


def told(found: ExchangeFeed, job: str, *arguments: Any) -> list[Any]:
    """What a job tells."""
    heard: list[Any] = []
    found.ask(job, *arguments, hear=heard.append)
    wait(lambda: heard and isinstance(heard[-1], JobDone))
    assert heard[-1] == JobDone()
    return heard[:-1]


def drive(
    steps: Drive, *files: Path, size: tuple[int, int] = (80, 24), named: Sequence[str] = (),
    make: Callable[..., Browser] = Browser, **look: Any,
) -> None:  # fmt: skip
    """Do steps on a screen that has read captures, which are called as they are `named`."""
    with feed(*files) as found:
        app = make(found, Look(width=400, full=False, **look), named or [*map(str, files)], parsed)

        async def run() -> None:
            async with app.run_test(size=size, notifications=True) as pilot:
                await settled(app, pilot)
                await steps(app, pilot)
                await handled(app)

        asyncio.run(run())


async def until(pilot: Pilot[None], fits: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not fits():
        assert time.monotonic() < end, "it never came"
        await pilot.pause(0.01)


async def handled(app: App[None]) -> None:
    """Wait until no message waits for a widget, none is being handled, and all is drawn.

    Textual's `Pilot.pause` waits until the process uses little time, which it does on a busy machine anyway; and a
    key, or a click, goes through several widgets, which hand on messages of their own.
    """
    end = time.monotonic() + PATIENCE
    while app.is_running and not _is_still(app):
        assert time.monotonic() < end, "it never came to rest"
        await asyncio.sleep(0.001)
        if app.is_running:
            app.screen._on_timer_update()


def _is_still(app: App[None]) -> bool:
    screen = app.screen
    if screen._layout_required or screen._dirty_widgets or screen._callbacks:
        return False
    ready = [each._message_queue.ready_event for each in (app, *(one for top in app.screen_stack
             for one in top.walk_children(with_self=True)))]  # fmt: skip
    return all(event._waiters and not event.is_set() for event in ready)  # each waits for its next message


async def settled(app: Browser, pilot: Pilot[None]) -> None:
    """Wait until all is read, and the exchange under the cursor is shown."""
    await until(pilot, lambda: app.feed.over and len(app.order) == app.exchanges.virtual_size.height)
    await shown(app, pilot)


async def shown(app: Browser, pilot: Pilot[None]) -> None:
    """Wait until a filter has let through what it does, and the exchange under the cursor is shown, if there is one."""
    await handled(app)
    if not app.is_running:
        return
    if app.feed.over:
        await until(pilot, lambda: not app.filtering)
        app.tick()
        await handled(app)
    if app.exchanges.position is not None:
        await until(pilot, lambda: app.looked is not None and app.looked.position == app.exchanges.position)
        app.tick()
        await handled(app)


async def press(app: Browser, pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and wait after each until what it leads to is shown."""
    for key in keys:
        await strike(pilot, key)
        await shown(app, pilot)


async def strike(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and wait after each until the screen has handled it; an exchange may still have to be read."""
    await handled(pilot.app)
    for key in keys:
        name, letter = (_character_to_key(key), key) if len(key) == 1 else (key, None)
        pilot.app.post_message(Key(name, letter))
        await handled(pilot.app)


async def click(pilot: Pilot[None], where: Widget | str, offset: tuple[int, int]) -> None:
    """Click on a widget, and wait until the screen has handled that."""
    await handled(pilot.app)
    widget = pilot.app.screen.query_one(where) if isinstance(where, str) else where
    x, y = widget.region.offset + offset
    for event in (MouseDown, MouseUp):
        pilot.app.post_message(event(widget, x, y, 0, 0, 1, False, False, False, x, y))
        await handled(pilot.app)


def lines(app: Browser) -> list[str]:
    """What stands on the screen."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]
