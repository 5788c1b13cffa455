"""Every view below the exchanges: its key, its line of the help, its widget, and when it is brought up to date."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher

from kdbg.ui.tui import views
from kdbg.ui.tui.app import Browser, help_text
from kdbg.ui.tui.keys import KEYS
from kdbg.ui.tui.pane import Pane
from kdbg.ui.tui.views import VIEWS, View, When

from .driving import CAPTURES, drive, handled, lines, press

TOP = Path(__file__).resolve().parents[2]
ERRORS = CAPTURES / "errors.pcap"
ADDED = """
import asyncio, sys
from pathlib import Path
from textual.widgets import Static
from kdbg.ui.tui import views

def count(shell):
    shell.query_one("#count", Static).update(f"there are {len(shell.feed.index)}")

views.VIEWS += (views.View("count", "count", "4", "how many there are", lambda shell: Static(id="count"), count,
                           ("shown",)),)
from tests.tui.driving import CAPTURES, drive, lines, press

async def steps(app, pilot):
    await press(app, pilot, "4")
    print("\\n".join(lines(app)))
    await press(app, pilot, "question_mark", "end")
    print("\\n".join(lines(app)))

drive(steps, CAPTURES / "errors.pcap", size=(120, 70))
"""


def test_a_view_more_is_one_entry() -> None:
    done = subprocess.run([sys.executable, "-c", ADDED], capture_output=True, text=True, check=True, cwd=TOP)
    assert "there are 58" in done.stdout
    assert "3 diagnosis (3) · 4 count" in done.stdout
    assert re.search(r" 4 +how many there are", done.stdout)


def test_names_and_keys_are_given_once_and_stand_in_the_help() -> None:
    assert len({view.name for view in VIEWS}) == len({view.key for view in VIEWS}) == len(VIEWS)
    text = str(help_text(KEYS))
    for view in VIEWS:
        (key,) = [key for key in KEYS if key.keys == view.key]
        assert key.action == f"below('{view.name}')"
        assert view.help in text
        assert view.when
        assert {*view.when} <= {*get_args(When)}


@pytest.mark.parametrize("view", VIEWS, ids=[view.name for view in VIEWS])
def test_a_view_is_brought_up_by_its_key(view: View) -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "v", view.key)
        switcher = app.query_one("#lower", ContentSwitcher)
        assert switcher.current == view.name
        assert app.below is view
        shown = [child.id for child in switcher.children if child.display]
        assert shown == [view.name]
        assert [pane.id for pane in app.panes] == ["exchanges", *view.panes]
        assert app.pane is (app.query_one(f"#{view.panes[0]}", Pane) if view.takes else app.exchanges)
        (named,) = [line for line in lines(app) if all(f"{each.key} {each.title}" in line for each in VIEWS)]
        assert named.startswith("─")
        await press(app, pilot, view.key)
        assert app.below is view, "the key of what is to be seen changes nothing"

    drive(steps, ERRORS)


def test_what_happens_brings_those_up_to_date_that_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def noting(view: View) -> View:
        def refresh(shell: Any) -> None:
            called.append(view.name)
            view.refresh(shell)

        return view._replace(refresh=refresh)

    noted = tuple(noting(view) for view in VIEWS)
    for module in ("views", "shell", "app"):
        monkeypatch.setattr(f"kdbg.ui.tui.{module}.VIEWS", noted)

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        for shown in noted:
            app.action_below(shown.name)
            for what in get_args(When):
                called.clear()
                app.happened(what)
                wanted = [one.name for one in noted if what in one.when and (one.hidden or one is shown)]
                assert called == wanted, (shown.name, what)
        called.clear()
        app.action_below(VIEWS[0].name)
        await press(app, pilot, "2")
        assert "numbers" in called
        called.clear()
        await press(app, pilot, "slash", *"--errors", "enter")
        assert "numbers" in called
        await press(app, pilot, "3")
        called.clear()
        app.feed.updates += 1
        app.tick()
        assert called == ["diagnosis"]
        await press(app, pilot, "escape")
        called.clear()
        await press(app, pilot, "down")
        assert called == ["exchange"]

    drive(steps, ERRORS)
    assert views.VIEWS is noted


@pytest.mark.parametrize(("before", "after"), [((160, 50), (80, 24)), ((160, 50), (45, 20)), ((80, 24), (160, 50))])
def test_a_terminal_of_another_width_has_the_panes_of_that_width(
    before: tuple[int, int], after: tuple[int, int]
) -> None:
    """A screen that began so narrow, or so wide, looks the same."""
    seen = list[list[str]]()

    async def begun_so(app: Browser, pilot: Pilot[None]) -> None:
        seen.append(lines(app)[1:])  # the first line says how much was read

    async def resized(app: Browser, pilot: Pilot[None]) -> None:
        await pilot.resize_terminal(*after)
        await handled(app)
        assert app.fields.size.width >= after[0] // 3
        seen.append(lines(app)[1:])

    drive(begun_so, ERRORS, size=after)
    drive(resized, ERRORS, size=before)
    assert seen[0] == seen[1]
