"""Messages that the proxy holds, as the screen has them: what is known of each, and who does what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...live.holds import BOTH, Hand, Held, with_bytes, with_field
from ...protocol.wire.language import Direction

SIDED = re.compile(r"(request|response)s?\s*:\s*(.*)", re.DOTALL)


@dataclass
class HeldMessage:
    """A message that is `held`: its number, the bytes that it has by now, and the exchange that these make."""

    number: int
    direction: Direction
    data: bytes
    exchange: Exchange
    changed: bool = False
    held: Held | None = None

    @property
    def half(self) -> CapturedMessage | None:
        """The message itself."""
        return self.exchange.request if self.direction == "request" else self.exchange.response


Heard: TypeAlias = "HeldMessage | int | str"
"""What is told of messages: one that is held, the number of one that is gone, a line to show."""


class Interception:
    """Holds messages of the proxy, and does with them what the screen says; what cannot be raises `KdbgError`."""

    def __init__(self, hand: Hand, parse: Callable[[str], Filters]) -> None:
        self._hand, self._parse = hand, parse

    def listen(self, hear: Callable[[Heard], None]) -> None:
        """Tell of what is held, in another thread."""

        def take(what: Held | int | str) -> None:
            if isinstance(what, Held):
                hear(HeldMessage(what.number, what.direction, what.data, what.exchange({}), held=what))
            else:
                hear(what)

        self._hand.listen(take)

    def want(self, text: str) -> None:
        """Hold what an expression fits from now on; "" for nothing."""
        found = SIDED.fullmatch(text.strip())
        expression = found[2] if found is not None else text.strip()
        if found is None and not expression:
            self._hand.want(None)
            return
        sides = BOTH if found is None else frozenset(side for side in BOTH if side == found[1])
        self._hand.want(self._parse("" if expression == "*" else expression), sides)

    def resume(self, message: HeldMessage) -> None:
        """Pass a message on, as it is by now."""
        self._hand.resume(message.number, message.data if message.changed else None)

    def drop(self, message: HeldMessage) -> None:
        """Let a message vanish."""
        self._hand.drop(message.number)

    def repeat(self, exchange: Exchange) -> None:
        """Send the request of an exchange once more."""
        assert exchange.request is not None
        self._hand.repeat(exchange.peers.client, exchange.request.data)

    def put(self, message: HeldMessage, text: str) -> None:
        """Change a field of a message: PATH=VALUE."""
        self._change(message, lambda held: with_field(held, message.data, text, {}))

    def overwrite(self, message: HeldMessage, start: int, end: int, text: str) -> None:
        """Change bytes of a message, counted without its size, to those in hex."""
        self._change(message, lambda held: with_bytes(message.data, start, end, text))

    def _change(self, message: HeldMessage, change: Callable[[Held], bytes]) -> None:
        assert message.held is not None, "the relay has reported it"
        data = change(message.held)
        message.changed = message.changed or data != message.data
        message.data, message.exchange = data, message.held.exchange({}, data)
