"""The screen of `kdbg browse` with its keys: what they jump to, copy and show."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ...errors import KdbgError
from ...exchanges.messages.peers import endpoint
from ...protocol.findings.amounts import count
from ...views.render.jsonlines import json_line
from ...views.render.style import Look
from ...views.render.values import cut, escape
from .causes import CausePane
from .contents import Looked
from .fields import ByteRange
from .index import HALF, SORTS, WRONG, Order, Who
from .keys import KEYS, Key
from .pane import Pane
from .shell import SHARES, Shell
from .table import columns
from .views import VIEWS

OF_WHO: dict[str, Callable[[Who], object]] = {
    "connection": lambda who: (who.file, who.connection),
    "client": lambda who: who.client_id,
}
OF_NAMES = {"topic": "topics", "group": "groups", "producer": "producers"}
"""What of an exchange can be jumped to, beside one that went wrong, or is marked."""


def found(order: Order, row: int, kind: str, direction: int, marked: Collection[int] = ()) -> int | None:
    """Return the next row that fits, or the one before; None where there is none, or nothing to go by."""
    if not len(order):
        return None
    index, rows = order.index, range(row + 1, len(order)) if direction > 0 else range(row - 1, -1, -1)
    if kind == "mark":
        return next((each for each in rows if order[each] in marked), None)
    column, which = "flags", {WRONG, WRONG | HALF}
    if kind in OF_WHO:
        part = OF_WHO[kind]
        wanted = part(index.who_of(order[row]))
        column, which = "who", {number for number, who in enumerate(index.who) if part(who) == wanted}
    elif kind in OF_NAMES:
        column = OF_NAMES[kind]
        same = {*index.names_of(column, order[row])}
        which = {number for number, names in enumerate(index.names) if not same.isdisjoint(names)}
    return next((each for each in rows if index.value(column, order[each]) in which), None) if which else None


MOST = 1 << 20
"""Bytes that are copied: terminals take no more of OSC 52, and many less."""


def hex_of(looked: Looked, places: list[ByteRange], look: Look) -> str | None:
    """Return the bytes of the field, which are lit, in hex; None where it has none, or they hold what is hidden."""
    if not places:
        return None
    place = places[0]
    buffer = looked.opened.buffers[place.buffer]
    for one in buffer.fields:
        if one.hidden and one.place is not None and one.place.start < place.end and place.start < one.place.end:
            return None
    return buffer.data[place.start : place.end].hex(" ")


def json_of(looked: Looked, places: list[ByteRange], look: Look) -> str | None:
    """Return the exchange as `kdbg decode -f json` prints it."""
    assert looked.exchange is not None
    look = Look(show_secrets=look.show_secrets, hide_values=look.hide_values)
    return json_line(looked.exchange, dict(looked.topics), look).decode().rstrip("\n")


def send_command(looked: Looked, places: list[ByteRange], look: Look) -> str | None:
    """Return the command that sends the request again; None without one, or where what no file has is hidden."""
    exchange, request = looked.exchange, looked.exchange.request if looked.exchange is not None else None
    if exchange is None or request is None or exchange.api is None or exchange.api.headerless:
        return None
    broker = endpoint(exchange.peers.broker)
    if looked.file:
        return escape(f"kdbg send --from {shlex.quote(f'{looked.file}#{exchange.number}')} --broker {broker}")
    hidden = any(one.hidden for part in looked.opened.parts if part.name == "request" for one in part.fields)
    if request.missing or hidden:
        return None
    data = len(request.data).to_bytes(4, "big") + request.data
    return f"kdbg send --raw {data.hex()} --broker {broker}"


COPIES: dict[str, tuple[str, Callable[[Looked, list[ByteRange], Look], str | None]]] = {
    "hex": ("the bytes of the field", hex_of),
    "json": ("the exchange as JSON", json_of),
    "send": ("the command that sends the request again", send_command),
}
"""What can be copied: what it is called, and how it is made."""


WIDEST = 8
"""Columns of the names of keys."""


class Page(ModalScreen[None]):
    """A text to read; any of its keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,question_mark,a,enter", "dismiss", "close")]
    DEFAULT_CSS = """
    Page { align: center middle; }
    Page VerticalScroll {
        width: 78; max-width: 100%; max-height: 100%; height: auto; background: $panel; padding: 0 1;
    }
    """

    def __init__(self, text: Text) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        with VerticalScroll():
            yield Static(self._text)

    def on_click(self) -> None:
        """Close it."""
        self.dismiss()


def help_text(all_keys: Sequence[Key]) -> Text:
    """Return keys with what they do."""
    text = Text()
    for section in dict.fromkeys(key.section for key in all_keys):
        text.append(f"{section}\n", "bold")
        for key in [one for one in all_keys if one.section == section]:
            text.append(f"  {key.shown:<{WIDEST}}", "bold").append(f"{key.help}\n")
    return text.append("With the mouse: click a row, a field, a byte, the title of a column; scroll with its wheel.")


class Browser(Shell):
    """The screen with its keys."""

    BINDINGS: ClassVar[list[Any]] = [Binding(key.keys, key.action, key.help, show=False) for key in KEYS]
    KEYS_HERE: ClassVar[tuple[Key, ...]] = KEYS

    def action_cursor(self, how: str, *given: int) -> None:
        """Move the cursor of the pane that has the keys, or go into what is under it: a method of `Pane`."""
        getattr(self.pane, how)(*given)

    @property
    def panes(self) -> list[Pane]:
        """The panes that can have the keys now."""
        return [self.exchanges, *(self.query_one(f"#{name}", Pane) for name in self.below.panes)]

    def action_pane(self, direction: int) -> None:
        """Go to the next pane, or the one before."""
        panes = self.panes
        panes[(panes.index(self.pane) + direction) % len(panes)].focus()

    def action_other(self) -> None:
        """Go from the fields of one message to those of the other."""
        branch, roots = self.fields.branch, self.fields.branches.roots
        if branch is not None:
            self.fields.show(roots[(branch.part + 1) % len(roots)])
            self.light()

    def action_follow(self) -> None:
        """Stay at the last exchange, or no longer."""
        self.following = not self.following
        if self.following:
            self.exchanges.edge(1)

    def action_filter(self) -> None:
        """Ask for a filter."""
        self.ask(
            "filter: latency_ms > 100 && api == 'Fetch', or --topic orders --errors", self.filter, self.take_filter
        )

    def action_leave(self) -> None:
        """Leave what is open."""
        if self.query_one("#line", Input).has_class("open"):
            self.close_line()
        elif self.pane is not self.exchanges:
            self.exchanges.focus()
        elif self.below is not VIEWS[0]:
            self.action_below(VIEWS[0].name)
        elif self.filter:
            self.take_filter("")

    def action_find(self, kind: str, direction: int) -> None:
        """Go to the next exchange of a kind."""
        row = found(self.order, self.exchanges.cursor, kind, direction, self.marked)
        if row is None:
            self.say(f"no {'further' if direction > 0 else 'earlier'} exchange: {kind}")
        else:
            self.exchanges.go(row)

    def action_sort(self) -> None:
        """Sort by the next column."""
        names = ["", *dict.fromkeys(one.name for one in columns(self.size.width - 1) if one.name in SORTS)]
        self.sort(
            names[(names.index(self.order.by) + 1) % len(names)] if self.order.by in names else "", descending=False
        )

    def action_reverse(self) -> None:
        """Sort the other way round."""
        self.sort(self.order.by, descending=not self.order.descending)

    def action_view(self) -> None:
        """Show the next view below the exchanges."""
        self.action_below(VIEWS[(VIEWS.index(self.below) + 1) % len(VIEWS)].name)

    def action_fold_all(self) -> None:
        """Fold or unfold all fields."""
        self.fields.fold_all()

    def action_share(self, more: int) -> None:
        """Give exchanges more room, or less."""
        self._share = max(min(self._share + more, len(SHARES) - 1), 0)
        self.exchanges.styles.height = f"{SHARES[self._share]}fr"

    def action_dark(self) -> None:
        """Change between dark and light."""
        self.theme = "textual-light" if self.theme == "textual-dark" else "textual-dark"

    def action_notes(self) -> None:
        """Show what was said about the source."""
        self.push_screen(Page(Text("\n".join(self.feed.notes) or "no messages about the source")))

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(Page(help_text(self.KEYS_HERE)))

    def action_mark(self) -> None:
        """Mark the exchange under the cursor, or take its mark away; go to the next."""
        position = self.exchanges.position
        if position is not None:
            self.marked ^= {position}
            self.exchanges.move(1)
            self.exchanges.refresh()

    def action_unmark(self) -> None:
        """Take all marks away."""
        self.marked.clear()
        self.exchanges.refresh()

    def action_write(self) -> None:
        """Ask where to write what is marked."""
        if not self.marked:
            self.say("no exchange is marked: press m to mark one")
        else:
            self.ask("write marked exchanges to: marked.pcapng", "", self.take_target)

    def take_target(self, target: str) -> None:
        """Write what is marked."""
        self.close_line()
        if target:
            index = self.feed.index
            wanted: dict[int, list[int]] = {}
            for position in sorted(self.marked):
                wanted.setdefault(index.who_of(position).file, []).append(index.value("number", position))
            self.feed.ask("export", target, wanted, hear=self.heard_export)

    def heard_export(self, what: Any) -> None:
        """Say what was written; in the thread of the feed."""
        text = what if isinstance(what, str) else what.problem
        if text:
            self.later(self.say, text, bad=not isinstance(what, str))

    def under_cursor(self) -> Looked | None:
        """Return what is looked at; keys may be faster than the reading, and are meant for what is under the cursor."""
        position = self.exchanges.position
        if position is not None and (self.looked is None or self.looked.position != position):
            try:
                self.show(self.contents.look_at(position))
            except (KdbgError, OSError) as error:
                self.say(str(error), bad=True)
                return None
        return self.looked

    def action_copy(self, what: str) -> None:
        """Copy something of the exchange."""
        looked = self.under_cursor()
        if looked is None:
            return
        if looked.exchange is None:
            self.say("tables contain no messages to copy; open the capture", bad=True)
            return
        name, make = COPIES[what]
        text = make(looked, self.bytes.lit, self.look)
        if text is None:
            self.say(f"cannot copy {name}: it is missing or redacted", bad=True)
        elif len(text) > MOST:
            self.say(f"cannot copy {name}: too long ({count(len(text), 'character')})", bad=True)
        else:
            self.copy_to_clipboard(text)
            self.say(f"copied {name}: {cut(text, 60)}")

    def on_cause_pane_wanted(self, event: CausePane.Wanted) -> None:
        """Go to an exchange that is evidence of a cause."""
        self.jump(event.file, event.number)

    def jump(self, file: int, number: int) -> None:
        """Go to an exchange, and show it below; take a filter away that hides it."""
        position = self.feed.index.find(number, file)
        if position is None:
            self.say(f"#{number} is not loaded")
            return
        row = self.order.row_of(position)
        if row is None and self.filter:
            self.say(f"removed the filter, which excluded #{number}: {self.filter}")
            self.take_filter("")
            row = self.order.row_of(position)
        if row is not None:
            self.following = False
            self.exchanges.go(row)
            self.action_below("exchange")
