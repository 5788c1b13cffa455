"""Messages that the proxy holds: what is known of each, the list of them, and who does what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol, TypeAlias

from textual.message import Message

from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.peers import endpoint
from ...protocol.findings.amounts import count
from ...protocol.wire.language.api import Direction
from ...views.render.values import cut, escape
from .pane import Pane
from .pieces import StyledText


@dataclass
class HeldMessage:
    """A message that is held: its number, the bytes that it has by now, and the exchange that these make."""

    number: int
    direction: Direction
    data: bytes
    exchange: Exchange
    changed: bool = False
    since: float = field(default_factory=monotonic)

    @property
    def half(self) -> CapturedMessage | None:
        """The message itself."""
        return self.exchange.request if self.direction == "request" else self.exchange.response


Heard: TypeAlias = "HeldMessage | int | str"
"""What is told of messages: one that is held, the number of one that is gone, a line to show."""


class Intercept(Protocol):
    """Who holds messages, and does what becomes of them; what cannot be raises `KdbgError`."""

    def listen(self, hear: Callable[[Heard], None]) -> None:
        """Tell of what is held, in another thread."""

    def want(self, text: str) -> None:
        """Hold what an expression fits from now on; "" for nothing."""

    def resume(self, message: HeldMessage) -> None:
        """Pass a message on, as it is by now."""

    def drop(self, message: HeldMessage) -> None:
        """Let a message vanish."""

    def repeat(self, exchange: Exchange) -> None:
        """Send the request of an exchange once more."""

    def put(self, message: HeldMessage, text: str) -> None:
        """Change a field of a message: PATH=VALUE."""

    def overwrite(self, message: HeldMessage, start: int, end: int, text: str) -> None:
        """Change bytes of a message, counted without its size, to those in hex."""


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
        self.border_title = "held: V change a field, B bytes, F pass on, A all, D drop"

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
        text = f" {one.direction:<8} {api}  {endpoint(exchange.peers.client)}  {escape(exchange.client_id or '')}"
        size = f"  {count(len(one.data) + 4, 'byte')}"
        return [StyledText(cut(text, max(width - 24, 20)), "name"), StyledText(size, "dim"),
                StyledText("  changed" * one.changed, "note")]  # fmt: skip

    def add(self, message: HeldMessage) -> None:
        """Take one more."""
        self.messages.append(message)
        self._fit()

    def take_out(self, number: int) -> HeldMessage | None:
        """Take one out; return it, None where it is not there."""
        found = next((one for one in self.messages if one.number == number), None)
        if found is not None:
            self.messages.remove(found)
            self._fit()
        return found

    def _fit(self) -> None:
        self.set_class(bool(self.messages), "some")
        self.refresh(layout=True)
        self.refit()

    def enter(self) -> None:
        self.post_message(self.Entered())
