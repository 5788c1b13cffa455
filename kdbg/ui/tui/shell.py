"""The screen of `kdbg browse` without its keys: its panes, how what comes gets there, and how they go together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any

from rich.text import Text
from textual.app import ComposeResult
from textual.css.query import NoMatches
from textual.events import DescendantFocus, Resize
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static

from ...errors import KdbgError
from ...views.render.style import Look
from ...views.render.values import escape
from .contents import ExchangeContents, Looked
from .feed import ExchangeFeed, JobDone
from .index import Order
from .pane import Pane
from .panes import Bytes, Fields
from .status_bar import field_text, keys_text, title
from .table import Exchanges, Heading, Opening, RowTexts
from .terminal import TerminalApp
from .views import VIEWS, View, When, named

TICK = 0.1
"""Seconds between two looks at what has come."""
RESORT = 20
"""Sorting again, as rows come, takes at most one part in so many of the time."""
SHARES = (1, 2, 3, 4, 6, 9, 14)
"""Parts of the height, of `REST`, that exchanges can have."""
REST = 4


class Shell(TerminalApp):
    """Shows what a feed brings; `files` are the names of its sources, `contents` is what it holds, messages as a rule.

    `parse` makes of the text of the filter line what the jobs `filter` and `numbers` take.
    """

    holding: str = ""
    """What a proxy is to hold."""
    held_count: int = 0

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layers: base over; }
    #title, #keys { height: 1; background: $panel; }
    #exchanges { height: 3fr; }
    #lower { height: 4fr; border-top: solid $primary 50%; border-title-color: $text-muted; }
    #fields { width: 1fr; border-right: solid $primary 50%; }
    #bytes { width: 40; max-width: 60%; }
    .wide #bytes { width: 73; }
    #foot { height: 2; background: $panel; padding: 0 1; }
    #line { height: 1; border: none; padding: 0 1; display: none; background: $surface-lighten-2; }
    #line.open { display: block; }
    #line:focus { border: none; }
    #numbers-text { width: auto; }
    """

    def __init__(
        self,
        feed: ExchangeFeed,
        look: Look,
        files: Sequence[str],
        parse: Callable[[str], Any],
        *,
        light: bool = False,
        follow: bool = False,
        contents: ExchangeContents | None = None,
    ) -> None:
        super().__init__()
        self.feed = feed
        self.look = look
        self.files = files
        self.parse = parse
        self.order: Order = Order(feed.index)
        self.marked: set[int] = set()
        self.filter: str = ""
        self.filtering: bool = False
        self.following = follow
        self.looked: Looked | None = None
        self.contents: ExchangeContents = contents or ExchangeContents(feed, look, files)
        self.texts: RowTexts = RowTexts(feed, look, self.contents.about)
        self._light = light
        self._share = 2
        self._asking: Callable[[str], None] = self.take_filter
        self._next_sort = 0.0
        self._seen = -1
        self._updates = (-1, False)
        self._untouched = True

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Static(id="title", markup=False)
        yield Heading(self.order, id="heading")
        yield Exchanges(self.order, self.texts, self.marked, id="exchanges")
        yield from self.between()
        with ContentSwitcher(initial=VIEWS[0].name, id="lower"):
            for view in VIEWS:
                yield view.make(self)
        yield Static(id="foot", markup=False)
        yield Input(id="line", compact=True)
        yield Static(keys_text(), id="keys", markup=False)

    def between(self) -> list[Widget]:
        """Return what stands between the exchanges and what is below."""
        return []

    def on_mount(self) -> None:
        """Begin to listen."""
        self.theme = "textual-light" if self._light else "textual-dark"
        self.feed.listen()
        self._opening = Opening(self.contents, lambda looked: self.later(self.show, looked))
        self.exchanges.focus()
        self.set_interval(TICK, self.tick)
        self.tick()

    def on_unmount(self) -> None:
        """End what works beside the screen."""
        self._opening.close()

    def later(self, do: Callable[..., None], *given: Any, **named: Any) -> None:
        """Have something done in the thread of the screen, for one beside it; nothing once the screen goes away."""

        def run() -> None:
            with suppress(NoMatches):  # the panes went away with the screen
                do(*given, **named)

        self.call_later(run)

    @property
    def exchanges(self) -> Exchanges:
        return self.query_one("#exchanges", Exchanges)

    @property
    def fields(self) -> Fields:
        return self.query_one("#fields", Fields)

    @property
    def bytes(self) -> Bytes:
        return self.query_one("#bytes", Bytes)

    @property
    def pane(self) -> Pane:
        """The pane that has the keys."""
        return self.focused if isinstance(self.focused, Pane) else self.exchanges

    @property
    def below(self) -> View:
        """What stands below the exchanges."""
        return named(str(self.query_one("#lower", ContentSwitcher).current))

    def action_below(self, name: str) -> None:
        """Show a view below the exchanges."""
        before, view = self.below, named(name)
        if view is not before:
            before.leave(self)
            self.query_one("#lower", ContentSwitcher).current = name
            if "shown" in view.when:
                view.refresh(self)
        (self.query_one(f"#{view.panes[0]}", Pane) if view.takes else self.exchanges).focus()
        self.name_views()
        self.foot()

    def happened(self, what: When) -> None:
        """Have the views brought up to date that this matters to."""
        for view in VIEWS:
            if what in view.when and (view.hidden or view is self.below):
                view.refresh(self)

    def name_views(self) -> None:
        """Name the views above that which is to be seen, in bold, each with its key."""
        text = Text()
        for view in VIEWS:
            text.append(" · " if text else "").append(f"{view.key} ")
            text.append(view.title + view.news(self), "bold reverse" if view is self.below else "")
        self.query_one("#lower", ContentSwitcher).border_title = text

    def tick(self) -> None:
        """Show what has come."""
        with suppress(NoMatches):  # while the screen goes away
            position = self.exchanges.position
            if self.feed.forget():  # the cursor stays on its own exchange, if that is left
                self.order.forgot()
                self.marked -= {one for one in self.marked if one < self.feed.index.first}
                self._seen = -1
                self.exchanges.refit()
                self.return_to(position)
            if len(self.order) != self._seen or self.order.unsorted:
                first, self._seen = self._seen <= 0, len(self.order)
                if self.order.unsorted and (monotonic() >= self._next_sort or self.feed.over):
                    self.sort(self.order.by, descending=self.order.descending)
                    if self._untouched:
                        self.exchanges.go(0, notify=False)
                        self.want()
                self.exchanges.grew()
                if self.following:
                    self.exchanges.go(self._seen - 1, notify=False)
                if self.following or (first and self._seen > 0):
                    self.want()
            if (self.feed.updates, self.feed.over) != self._updates:
                self._updates = self.feed.updates, self.feed.over
                self.happened("told")
                self.name_views()
            self.query_one("#title", Static).update(title(self, self.size.width), layout=False)

    def on_resize(self, event: Resize) -> None:
        """Give the bytes as much room as the screen has; `self.size` is still the size before."""
        self.set_class(event.size.width >= 120, "wide")

    def on_pane_moved(self, event: Pane.Moved) -> None:
        """Show what the cursor went to."""
        with suppress(NoMatches):  # as above
            if event.pane is self.exchanges:
                self._untouched = False
                self.following = self.following and self.exchanges.cursor >= self._seen - 1
                self.happened("moved")
            elif event.pane is self.fields:
                self.light()
            else:
                self.foot()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Say at the foot what is under the cursor of the pane that has the keys."""
        if isinstance(event.widget, Pane):
            self.foot()

    def on_exchanges_entered(self) -> None:
        """Go into an exchange."""
        self.fields.focus()

    def on_bytes_touched(self) -> None:
        """Light the field of the byte under the cursor."""
        at = self.bytes.at
        leaf = self.bytes.dump.opened.buffers[at.buffer].at(at.start)
        branch = self.fields.branches.branch_of(leaf) if leaf is not None else None
        if branch is not None:
            self.fields.show(branch)
            place = branch.leaf.place if branch.leaf is not None else None
            self.bytes.lit = branch.places[:1] if place is None else [place]
            self.bytes.refresh()
        self.foot()

    def on_heading_clicked(self, event: Heading.Clicked) -> None:
        """Sort by a column; again: the other way round."""
        same = event.by == self.order.by
        self.sort(event.by, descending=same and not self.order.descending)

    def want(self) -> None:
        """Have the exchange under the cursor read."""
        position = self.exchanges.position
        if position is not None and (self.looked is None or self.looked.position != position):
            self._opening.want(position)

    def show(self, looked: Looked) -> None:
        """Show an exchange that was read, if the cursor is still there."""
        if looked.position != self.exchanges.position:
            return
        self.load(looked)
        more = self.contents.more(looked)
        if more is not None:
            self.feed.ask("more", *more, hear=partial(self.heard_more, looked.position))

    def heard_more(self, position: int, told: Any) -> None:
        """Show more of what is looked at; in the thread of the feed."""
        if isinstance(told, JobDone):
            if told.problem:
                self.later(self.say, told.problem, bad=True)
        else:
            self.later(self.add, position, told)

    def add(self, position: int, told: Any) -> None:
        """Add what was told of an exchange, if that is still looked at."""
        if self.looked is not None and self.looked.position == position == self.exchanges.position:
            self.load(self.contents.fuller(self.looked, told))

    def load(self, looked: Looked) -> None:
        """Show the fields and bytes of what is looked at."""
        path = self.fields.branch.path if self.fields.branch is not None else ""
        self.looked = looked
        self.fields.load(looked.opened, path)
        self.bytes.load(looked.opened)
        self.light()

    def light(self) -> None:
        """Light the bytes of the field under the cursor, and say what it means."""
        branch = self.fields.branch
        self.bytes.light(branch.places if branch is not None else [])
        self.foot()

    def foot(self) -> None:
        """Say what is under the cursor of the view below: a field, as a rule."""
        with suppress(NoMatches):  # as above
            foot = self.below.foot
            text = field_text(self.fields.branch, self.size.width - 2) if foot is None else foot(self)
            self.query_one("#foot", Static).update(text, layout=False)

    def sort(self, by: str, *, descending: bool) -> None:
        """Sort the rows; the cursor stays on its exchange."""
        position, begun = self.exchanges.position, monotonic()
        self.order.sort(by, descending=descending)
        self._next_sort = monotonic() + RESORT * (monotonic() - begun)
        self.query_one(Heading).refresh()
        self.exchanges.refit()
        self.return_to(position)

    def return_to(self, position: int | None) -> None:
        """Put the cursor on an exchange, if it is shown."""
        row = self.order.row_of(position) if position is not None else None
        if row is not None:
            self.exchanges.go(row, notify=False)

    def say(self, text: str, *, bad: bool = False) -> None:
        """Say something in passing."""
        self.notify(escape(text), severity="error" if bad else "information", timeout=4, markup=False)

    def ask(self, prompt: str, text: str, taken: Callable[[str], None]) -> None:
        """Ask for a line of text."""
        line = self.query_one("#line", Input)
        line.placeholder, line.value, self._asking = prompt, text, taken
        line.cursor_position = len(text)
        line.add_class("open")
        line.focus()

    def close_line(self) -> None:
        """Put the line away."""
        self.query_one("#line", Input).remove_class("open")
        self.exchanges.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the line of text."""
        self._asking(event.value.strip())

    def take_filter(self, text: str) -> None:
        """Show what a filter lets through, and keep the line open where it is wrong."""
        try:
            filters = self.parse(text)
        except KdbgError as error:
            self.say(str(error), bad=True)
            return
        self.close_line()
        self.feed.stop("filter")  # what that still lets through is not of this filter
        self.filter, self.filtering = text, bool(text)
        position = self.exchanges.position
        self.order.choose(filtered=bool(text))
        self.sort(self.order.by, descending=self.order.descending)
        if text:
            self.feed.ask("filter", filters, hear=self.heard_filter)
        self.return_to(position)
        self._seen = -1
        self.happened("filtered")

    def heard_filter(self, what: Any) -> None:
        """Take what a filter let through; in the thread of the feed."""
        if isinstance(what, bytes):
            self.order.take(what)
            return
        self.filtering = False
        if what.problem:
            self.later(self.say, what.problem, bad=True)

    def count(self) -> None:
        """Have the numbers made of what is shown."""
        self.query_one("#numbers-text", Static).update(Text("counting …"))
        look = Look("STANDARD", max(self.size.width - 4, 60), local=self.look.local)
        self.feed.ask("numbers", self.parse(self.filter), look, hear=self.heard_numbers)

    def heard_numbers(self, what: Any) -> None:
        """Show numbers; in the thread of the feed."""
        text = Text.from_ansi(what) if isinstance(what, str) else Text(what.problem)
        if text:
            self.later(lambda: self.query_one("#numbers-text", Static).update(text))
