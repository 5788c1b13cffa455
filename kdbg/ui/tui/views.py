"""What can stand below the exchanges, each declared once: the screen makes them, keys and help name them, tests walk
them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from rich.text import Text
from textual.containers import Horizontal, VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from ...protocol.findings import Severity
from .causes import CausePane
from .panes import Bytes, Fields

When: TypeAlias = Literal["shown", "moved", "filtered", "told"]
"""What happens: the view comes to be seen, the cursor is on another exchange, the filter is another, diagnosis has told
something new."""


Shell: TypeAlias = Any
"""The screen, of tui/shell.py, which makes the views."""


class View(NamedTuple):
    """A view below the exchanges: `name` is the id of its widget, `key` brings it up, `help` is the line on that.

    `make` makes the widget. `refresh` brings it up to date, at each thing in `when`: while it is to be seen, with
    `hidden` at any time. `leave` is called when another takes its place. `panes` are the ids of what in it can have
    the keys; `takes` says whether the first of them does so when it is shown. `foot` is what the foot says of what is
    under its cursor; `news` what its title says after its name.
    """

    name: str
    title: str
    key: str
    help: str
    make: Callable[[Shell], Widget]
    refresh: Callable[[Shell], None]
    when: tuple[When, ...]
    hidden: bool = False
    leave: Callable[[Shell], None] = lambda shell: None
    panes: tuple[str, ...] = ()
    takes: bool = False
    foot: Callable[[Shell], Text] | None = None
    news: Callable[[Shell], str] = lambda shell: ""


def _weigh(shell: Shell) -> None:
    feed = shell.feed
    so_far = "" if feed.over else "live" if feed.most is not None else "still reading"
    shell.query_one("#diagnosis", CausePane).load(dict(feed.causes), so_far, shell.contents.unjudged)
    shell.foot()


def _loud(shell: Shell) -> str:
    """Return how many causes above a note there are, for the title."""
    found = [one for each in shell.feed.causes.values() for one in each.objects if one["severity"] != Severity.NOTE]
    return f" ({len(found):,})" if found else ""


VIEWS: tuple[View, ...] = (
    View(
        "exchange", "exchange", "1", "the fields and bytes of the exchange",
        lambda shell: Horizontal(Fields(id="fields"), Bytes(id="bytes"), id="exchange"),
        lambda shell: shell.want(), ("moved",), hidden=True, panes=("fields", "bytes"),
    ),
    View(
        "numbers", "statistics", "2", "statistics of the listed exchanges",
        lambda shell: VerticalScroll(Static(id="numbers-text", markup=False), id="numbers"),
        lambda shell: shell.count(), ("shown", "filtered"), leave=lambda shell: shell.feed.stop("numbers"),
    ),
    View(
        "diagnosis", "diagnosis", "3", "causes of problems; Enter on #N goes to that exchange",
        lambda shell: CausePane(shell.texts, shell.files, id="diagnosis"),
        _weigh, ("shown", "told"), panes=("diagnosis",), takes=True,
        foot=lambda shell: shell.query_one("#diagnosis", CausePane).foot(), news=_loud,
    ),
)  # fmt: skip
"""All of them; the first is there at first."""


def named(name: str) -> View:
    """Return the view of a name."""
    return next(view for view in VIEWS if view.name == name)
