"""The screen over a proxy: the messages that it holds, their list, and the keys for what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import orjson
from textual.binding import Binding
from textual.events import DescendantFocus
from textual.message import Message
from textual.widget import Widget

from ...errors import KdbgError
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.peers import endpoint
from ...live.actions import value_at
from ...live.holds import BOTH, Hand, Held, with_bytes, with_field
from ...protocol.findings.amounts import count
from ...views.render.values import cut, escape
from .app import Browser
from .contents import Looked
from .fields import SIZE, opened
from .keys import HOLD_KEYS, KEYS, Key
from .pane import Pane, StyledText
from .table import Exchanges

SIDED = re.compile(r"(request|response)s?\s*:\s*(.*)", re.DOTALL)


@dataclass
class HeldMessage:
    """A message that is `held`: the bytes that it has by now, and the exchange that these make."""

    held: Held
    data: bytes
    exchange: Exchange
    changed: bool = False

    @property
    def half(self) -> CapturedMessage | None:
        """The message itself."""
        return self.exchange.request if self.held.direction == "request" else self.exchange.response


class HeldList(Pane):
    """The messages that are held, one a line; it takes no room where there are none."""

    DEFAULT_CSS = """
    HeldList { height: auto; max-height: 5; border-top: solid $warning; display: none; }
    HeldList.some { display: block; }
    """

    class Entered(Message):
        """Somebody wants to look at the message under the cursor."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.messages: list[HeldMessage] = []
        self.border_title = "held: V change a field, B bytes, F forward, A forward all, D drop"

    @property
    def count(self) -> int:
        return len(self.messages)

    def get_content_height(self, *given: Any) -> int:
        """Return how many lines there are to show."""
        return self.count

    @property
    def message(self) -> HeldMessage | None:
        """The message under the cursor."""
        return self.messages[self.cursor] if self.cursor < self.count else None

    def pieces(self, line: int, width: int) -> list[StyledText]:
        one = self.messages[line]
        exchange = one.exchange
        api = "?" if exchange.api is None else f"{exchange.api.name} v{exchange.version}"
        text = f" {one.held.direction:<8} {api}  {endpoint(exchange.peers.client)}  {escape(exchange.client_id or '')}"
        size = f"  {count(len(one.data) + 4, 'byte')}"
        return [StyledText(cut(text, max(width - 24, 20)), "name"), StyledText(size, "dim"),
                StyledText("  changed" * one.changed, "note")]  # fmt: skip

    def add(self, message: HeldMessage) -> None:
        """Take one more."""
        self.messages.append(message)
        self._fit()

    def take_out(self, number: int) -> HeldMessage | None:
        """Take one out; return it, None where it is not there."""
        found = next((one for one in self.messages if one.held.number == number), None)
        if found is not None:
            at = self.messages.index(found)
            del self.messages[at]
            self.cursor -= at < self.cursor
            self._fit()
        return found

    def _fit(self) -> None:
        self.set_class(bool(self.messages), "some")
        self.refresh(layout=True)
        self.refit()

    def enter(self) -> None:
        self.post_message(self.Entered())


HOLDS = "hold: api == 'Produce', or response: --errors, or * for all; empty for nothing"
PARTS = ("request", "response")


class Intercepting(Browser):
    """The screen over a proxy, whose messages are held by the `hand`."""

    BINDINGS: ClassVar[list[Any]] = [Binding(key.keys, key.action, key.help, show=False) for key in HOLD_KEYS]
    KEYS_HERE: ClassVar[tuple[Key, ...]] = (*KEYS, *HOLD_KEYS)

    def __init__(self, *given: Any, hand: Hand, **named: Any) -> None:
        super().__init__(*given, **named)
        self.hand = hand
        self._of_held = False

    def between(self) -> list[Widget]:
        return [HeldList(id="held")]

    def on_mount(self) -> None:
        """Begin to hear of what is held; Textual calls that of the class above as well."""
        self.hand.listen(lambda what: self.later(self.take_held, what))

    @property
    def held(self) -> HeldList:
        return self.query_one("#held", HeldList)

    @property
    def panes(self) -> list[Pane]:
        panes = super().panes
        return [panes[0], self.held, *panes[1:]] if self.held.count else panes

    @property
    def held_count(self) -> int:  # type: ignore[override]  # it is read alone
        return self.held.count

    def take_held(self, what: Held | int | str) -> None:
        """Show what is held, take away what is gone, say what there is to say."""
        if isinstance(what, str):
            self.say(what, bad=True)
        elif isinstance(what, Held):
            self.held.add(HeldMessage(what, what.data, what.exchange({})))
        else:
            self._let_go(what)

    def _let_go(self, number: int) -> None:
        """Take a message out of the list; show the next, or the exchange under the cursor where none is left."""
        self.held.take_out(number)
        if not self.held.count:
            self._of_held = False
            if self.pane is not self.exchanges:
                self.exchanges.focus()
            self.looked = None
            self.want()
        elif self._of_held:
            self.look_at_held()

    def look_at_held(self) -> None:
        """Show the fields and bytes of the message under the cursor."""
        message = self.held.message
        if message is None:
            return
        self._of_held = True
        path = self.fields.branch.path if self.fields.branch is not None else ""
        part = self.fields.branch.part if self.fields.branch is not None else 0
        self.looked = Looked(-message.held.number, message.exchange, opened(message.exchange, {}, self.look), {})
        self.fields.load(self.looked.opened, path, part)
        self.bytes.load(self.looked.opened)
        self.light()

    def under_cursor(self) -> Looked | None:
        return self.looked if self._of_held else super().under_cursor()

    def show(self, looked: Looked) -> None:
        if not self._of_held:
            super().show(looked)

    def on_pane_moved(self, event: Pane.Moved) -> None:
        if event.pane is self.held:
            self.look_at_held()
        elif event.pane is self.exchanges and self._of_held and self.pane is not self.exchanges:
            event.prevent_default()  # it follows what comes; the user looks at what is held

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Show what belongs to the pane that has the keys now."""
        if isinstance(event.widget, HeldList):
            self.look_at_held()
        elif isinstance(event.widget, Exchanges) and self._of_held:
            self._of_held = False
            self.looked = None
            self.want()

    def on_held_list_entered(self) -> None:
        """Go into a message that is held."""
        self.fields.focus()

    def _message(self) -> HeldMessage | None:
        """Return the message that is looked at; None, and a word, where it is none that is held."""
        message = self.held.message
        if message is None:
            self.say("no message is held: press i to set what to hold")
        elif not self._of_held:
            self.held.focus()
        else:
            return message
        return None

    def action_intercept(self) -> None:
        """Ask what is to be held."""
        self.ask(HOLDS, self.holding, self.take_holding)

    def take_holding(self, text: str) -> None:
        """Hold what fits, and keep the line open where it is wrong."""
        found = SIDED.fullmatch(text)
        expression = found[2] if found is not None else text
        sides = BOTH if found is None else frozenset(side for side in BOTH if side == found[1])
        try:
            wanted = self.parse("" if expression == "*" else expression) if text else None
        except KdbgError as error:
            self.say(str(error), bad=True)
            return
        self.hand.ask("want", wanted, sides)
        self.holding = text
        self.close_line()

    def action_held(self) -> None:
        """Go to the messages that are held."""
        if self.held.count:
            self.held.focus()
        else:
            self.say("no message is held: press i to set what to hold")

    def action_resume(self) -> None:
        """Pass on the message that is looked at, or the first."""
        message = self.held.message
        if message is None:
            self.say("no message is held")
            return
        self._resume(message)

    def action_resume_all(self) -> None:
        """Pass on all."""
        for message in list(self.held.messages):
            self._resume(message)

    def _resume(self, message: HeldMessage) -> None:
        self.hand.ask("resume", message.held.number, message.data if message.changed else None)
        self._let_go(message.held.number)

    def action_drop(self) -> None:
        """Drop the message that is looked at."""
        message = self._message()
        if message is not None:
            self.hand.ask("drop", message.held.number)
            self._let_go(message.held.number)

    def action_repeat(self) -> None:
        """Send the selected request again."""
        looked = self.under_cursor()
        exchange = looked.exchange if looked is not None else None
        if exchange is None or exchange.request is None or exchange.request.missing or exchange.api is None:
            self.say("the selected exchange has no complete request", bad=True)
        else:
            self.hand.ask("repeat", exchange.peers.client, exchange.request.data)
            self.say(f"resent: {exchange.api.name}")

    def action_change_field(self) -> None:
        """Ask for another value of the field under the cursor."""
        message, branch = self._message(), self.fields.branch
        if message is None:
            return
        if branch is None or branch.above is None or PARTS[branch.part] != message.held.direction:
            self.say(f"go to a field of the {message.held.direction} first")
            return
        self.ask("PATH=VALUE", f"{branch.path}={_value(message, branch.path)}", partial(
            self._change, message, lambda text: with_field(message.held, message.data, text, {})
        ))  # fmt: skip

    def action_change_bytes(self) -> None:
        """Ask for other bytes in place of those that are lit."""
        message = self._message()
        if message is None or self.looked is None:
            return
        place = self.bytes.lit[0] if self.bytes.lit else self.bytes.at
        buffers = self.looked.opened.buffers
        first = next((at for at, one in enumerate(buffers) if PARTS[one.part] == message.held.direction), -1)
        if place.buffer != first or place.end <= SIZE:
            self.say(f"select bytes after the size field of the {message.held.direction}; the size is computed")
            return
        start, end = max(place.start - SIZE, 0), place.end - SIZE
        self.ask("bytes in hex", message.data[start:end].hex(" "), partial(
            self._change, message, lambda text: with_bytes(message.data, start, end, text)
        ))  # fmt: skip

    def _change(self, message: HeldMessage, change: Callable[[str], bytes], text: str) -> None:
        """Change a message to what was typed, and keep the line open where that cannot be."""
        if message not in self.held.messages:
            self.say("the message is no longer held", bad=True)
            return
        try:
            data = change(text)
        except KdbgError as error:
            self.say(str(error), bad=True)
            return
        message.changed = message.changed or data != message.data
        message.data, message.exchange = data, message.held.exchange({}, data)
        self.close_line()
        self.held.focus()
        self.look_at_held()
        self.held.refresh()


def _value(message: HeldMessage, path: str) -> str:
    """Return what stands at a path of a message's body, as it is written after the sign; "" where nothing does."""
    found = message.half.message() if message.half is not None else None
    try:
        value = value_at(path, found.body if found is not None else None)
    except (LookupError, TypeError):
        return ""
    if isinstance(value, str):
        try:
            orjson.loads(value)  # a text that is JSON would be taken for what that says
        except orjson.JSONDecodeError:
            return value
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return str(value)
