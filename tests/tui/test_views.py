"""Every view below the exchanges: its key, its line of the help, its widget, and when it is brought up to date."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher

from kdbg.tui import views
from kdbg.tui.app import Browser
from kdbg.tui.keys import KEYS
from kdbg.tui.pages import help_text
from kdbg.tui.pane import Pane
from kdbg.tui.views import BY_NAME, VIEWS, View, When

from .driving import CAPTURES, drive, lines, press

ERRORS = CAPTURES / "errors.pcap"


def test_names_and_keys_are_given_once_and_stand_in_the_help() -> None:
    assert len({view.name for view in VIEWS}) == len({view.key for view in VIEWS}) == len(VIEWS) == len(BY_NAME)
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
    by_name = {view.name: view for view in noted}
    for module in ("views", "shell", "app"):
        for name, value in (("VIEWS", noted), ("BY_NAME", by_name)):
            monkeypatch.setattr(f"kdbg.tui.{module}.{name}", value, raising=False)

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        for shown in noted:
            app.show_below(shown.name)
            for what in get_args(When):
                called.clear()
                app.happened(what)
                wanted = [one.name for one in noted if what in one.when and (one.hidden or one is shown)]
                assert called == wanted, (shown.name, what)
        called.clear()
        app.show_below(VIEWS[0].name)
        await press(app, pilot, "2")
        assert "numbers" in called
        called.clear()
        await press(app, pilot, "slash", *"--errors", "enter")
        assert "numbers" in called
        await press(app, pilot, "3")
        called.clear()
        app.feed.told += 1
        app.tick()
        assert called == ["diagnosis"]
        await press(app, pilot, "escape")
        called.clear()
        await press(app, pilot, "down")
        assert called == ["exchange"]

    drive(steps, ERRORS)
    assert views.VIEWS is noted
