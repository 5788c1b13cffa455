"""What the screen says in passing, and where the cursor goes: jumps, filters, copies, what is written."""

from __future__ import annotations

import asyncio
import json
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from kdbg.errors import InputError
from kdbg.ui.cli.browse_captures import parsed
from kdbg.ui.tui import app as module
from kdbg.ui.tui.app import Browser, Page
from kdbg.ui.tui.feed import JobDone
from kdbg.ui.tui.shell import SHARES, TICK
from kdbg.views.render.style import Look

from .driving import CAPTURES, drive, feed, handled, lines, press, settled, strike, until

ERRORS = CAPTURES / "errors.pcap"


def hearing(app: Browser) -> list[str]:
    """What the screen says from now on."""
    said: list[str] = []

    def notify(message: str, *, severity: str, timeout: float, markup: bool) -> None:
        said.append(f"{severity}: {message}")
        assert (timeout, markup) == (4, False)

    app.notify = notify  # type: ignore[method-assign, assignment]
    return said


def forgotten(position: int) -> Any:
    raise InputError("forgotten")


def test_what_is_copied_and_what_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.MOST == 1 << 20

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        said, text = hearing(app), ""

        def copy(what: str) -> list[str]:
            said.clear()
            app.action_copy(what)
            return said[:]

        app.exchanges.go(5)
        await settled(app, pilot)
        assert copy("send") == [f"information: copied the command that sends the request again: {app.clipboard[:59]}…"]
        text = app.clipboard
        for most, expected in ((len(text), "information: copied"), (len(text) - 1, "error: cannot copy")):
            monkeypatch.setattr(module, "MOST", most)
            assert copy("send")[0].startswith(expected)
        assert copy("send") == ["error: cannot copy the command that sends the request again: "
                                f"too long ({len(text)} characters)"]  # fmt: skip
        app.bytes.lit = []
        assert copy("hex") == ["error: cannot copy the bytes of the field: it is missing or redacted"]
        assert app.looked is not None
        app.looked = app.looked._replace(exchange=None)
        assert copy("json") == ["error: tables contain no messages to copy; open the capture"]
        app.looked = None
        assert copy("json")[0].startswith("error: cannot copy the exchange as JSON: too long")
        app.contents.look_at = forgotten  # type: ignore[method-assign]
        app.looked = None
        assert copy("json") == ["error: forgotten"]

    drive(steps, ERRORS, named=["errors.pcap" + "x" * 40])


def test_what_is_copied_is_under_the_cursor_however_fast_keys_are() -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        app._opening.want = lambda position: None  # type: ignore[method-assign]
        for number in (2, 3):
            await strike(pilot, "down", "y")
            assert json.loads(app.clipboard)["number"] == number
            assert app.looked is not None
            assert app.looked.position == number - 1

    drive(steps, ERRORS)


def test_what_an_earlier_filter_still_lets_through_is_not_shown() -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        asked: list[Any] = []
        app.feed.ask = lambda job, *given, hear: asked.append((job, [*app.order]))  # type: ignore[method-assign]
        app.feed.stop = lambda job: asked.append((job, len(app.order)))  # type: ignore[method-assign]
        app.take_filter("--errors")
        app.order.take(array("I", [2, 6]).tobytes())
        app.take_filter("--api Fetch")
        app.take_filter("")
        assert asked == [("filter", 58), ("filter", []), ("filter", 2), ("filter", []), ("filter", 0)]

    drive(steps, ERRORS)


def test_light_and_dark_notes_and_marks() -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        themes = [app.theme]
        for _ in range(2):
            app.action_dark()
            themes.append(app.theme)
        assert themes == ["textual-dark", "textual-light", "textual-dark"]
        app.feed.notes[:] = ["a note", "another"]
        await strike(pilot, "a")
        page = app.screen
        assert isinstance(page, Page)
        assert page._text.plain == "a note\nanother"
        await strike(pilot, "a", "end", "up", "m")
        assert (app.screen is page, app.marked, app.exchanges.cursor) == (False, {56}, 57)
        assert lines(app)[app.exchanges.region.bottom - 2].startswith("●")
        await strike(pilot, "M")
        assert not any(line.startswith("●") for line in lines(app)), "it is drawn anew"

    drive(steps, ERRORS)
    drive(lambda app, pilot: is_light(app), ERRORS, make=partial(Browser, light=True))


async def is_light(app: Browser) -> None:
    assert app.theme == "textual-light"


def test_evidence_that_a_filter_hides_is_gone_to() -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        said = hearing(app)
        app.jump(0, 99)
        assert said == ["information: #99 is not loaded"]
        app.take_filter("--api Fetch")
        await until(pilot, lambda: not app.filtering)
        app.following = True
        app.action_below("diagnosis")
        app.jump(0, 8)
        assert said[1:] == ["information: removed the filter, which excluded #8: --api Fetch"]
        assert (app.filter, app.exchanges.position, app.following, app.below.name) == ("", 7, False, "exchange")
        app.order.choose(filtered=True)
        app.jump(0, 9)
        assert app.exchanges.cursor == 7, "it is not listed, though there is no filter"

    drive(steps, ERRORS)


@pytest.mark.parametrize("last", [
    lambda app: app.exchanges.go(5), lambda app: app.fields.go(5), lambda app: app.bytes.focus(),
    lambda app: app.action_below("diagnosis"),
])  # fmt: skip
def test_a_screen_may_end_while_it_does_something(last: Callable[[Browser], None]) -> None:
    """What it does comes when its panes are gone."""

    async def run() -> None:
        with feed(ERRORS) as found:
            app = Browser(found, Look(width=400, full=False), ["errors"], parsed)
            async with app.run_test() as pilot:
                await settled(app, pilot)
                last(app)

    asyncio.run(run())


def test_leaving_goes_one_step_back() -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        line = app.query_one("#line", Input)
        app.take_filter("--errors")
        await until(pilot, lambda: not app.filtering)
        await strike(pilot, "3", "tab", "tab", "slash")
        assert (line.value, line.cursor_position, line.has_class("open"), app.focused is line) \
            == ("--errors", 8, True, True)  # fmt: skip
        assert line.placeholder.startswith("filter: latency_ms > 100 && api == 'Fetch'")
        await strike(pilot, "escape")
        assert (line.has_class("open"), app.pane, app.below.name) == (False, app.exchanges, "diagnosis")
        await strike(pilot, "tab")
        assert app.pane.id == "diagnosis"
        await strike(pilot, "escape")
        assert (app.pane, app.below.name) == (app.exchanges, "diagnosis")
        await strike(pilot, "escape")
        assert (app.below.name, app.filter) == ("exchange", "--errors")
        await strike(pilot, "escape")
        assert (app.filter, len(app.order)) == ("", 58)
        await strike(pilot, "escape", "down", "m", "w")
        assert (line.placeholder, line.value) == ("write marked exchanges to: marked.pcapng", "")
        await strike(pilot, "enter")
        assert not line.has_class("open")

    drive(steps, ERRORS)


def test_what_is_marked_is_written_and_what_goes_wrong_is_said(tmp_path: Path) -> None:
    asked: list[tuple[Any, ...]] = []

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        said = hearing(app)
        await press(app, pilot, "w")
        assert said == ["information: no exchange is marked: press m to mark one"]
        await press(app, pilot, "down", "m", "home", "m")
        assert (app.marked, app.exchanges.cursor) == ({0, 1}, 1)
        app.feed.ask = lambda job, *given, hear: asked.append((job, *given))  # type: ignore[method-assign]
        app.take_target("")
        app.take_target("x.pcap")
        assert asked == [("export", "x.pcap", {0: [1, 2]})]
        said.clear()
        for what in ("written: x", JobDone(), JobDone("no room\n")):
            app.heard_export(what)
        app.heard_filter(JobDone("no such field"))
        for told in (JobDone(), JobDone("no capture")):
            app.heard_more(0, told)
        await handled(app)
        assert said == ["information: written: x", "error: no room\\n", "error: no such field", "error: no capture"]
        assert app.filtering is False
        app.action_unmark()
        assert app.marked == set()

    drive(steps, ERRORS)


def test_exchanges_have_a_share_of_the_height_and_jumps_that_lead_nowhere_are_said() -> None:
    assert (SHARES, TICK) == ((1, 2, 3, 4, 6, 9, 14), 0.1)

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        said, heights = hearing(app), []
        for more in (-1, -1, -1, 1, 1, 1, 1, 1, 1, 1):
            app.action_share(more)
            height = app.exchanges.styles.height
            heights.append(0 if height is None else int(height.value))
        assert heights == [2, 1, 1, 2, 3, 4, 6, 9, 14, 14]
        app.action_find("mark", 1)
        app.action_find("error", -1)
        assert said == ["information: no further exchange: mark", "information: no earlier exchange: error"]
        app.order.by = "no column"
        app.action_sort()
        assert app.order.by == ""

    drive(steps, ERRORS)
