"""The view of exchanges as trees: one heading, both halves as branches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ....exchanges.messages.exchange import CapturedMessage, Exchange
from ....exchanges.messages.message import Message
from ....protocol.wire import Api
from ....protocol.wire.language import DIRECTIONS, Direction
from ....protocol.wire.readings.compiled import UNREADABLE
from ....protocol.wire.readings.outline import ALWAYS, Topics
from ....protocol.wire.readings.runtime import Odd
from ..exchange_header import Headings, encode, findings_of, remarks
from ..findings import finding_line
from ..style import Look
from ..text_source import layout_of
from ..without_values import shown_body
from .lines import Texts
from .source import Drawing, drawing
from .tree import Tree


class TreeView:
    """An exchange under one heading, its halves as branches.

    What is clean is drawn straight from its bytes, and what is not by its value: the text is the same.
    """

    def __init__(self, look: Look, topics: Topics) -> None:
        self.look = look
        self.tree: Tree = Tree(look, topics)
        self.texts: Texts = Texts(self.tree)
        self.headings: Headings = Headings(look)
        self.guides: tuple[bytes, bytes] = encode(f"\n{self.tree.mid}"), encode(self.tree.last)
        self.drawing: Callable[[Api, int, Direction], Drawing | None] = cache(self.compiled)

    def __call__(self, exchange: Exchange) -> bytes:
        out = [self.headings.title(exchange)]
        out += [encode(f"\n  {line}") for line in remarks(exchange, self.look)]
        for half, name, guide in zip((exchange.request, exchange.response), DIRECTIONS, self.guides, strict=True):
            out += guide, self.headings.half(half, exchange, name), b"\n"
            if half is not None:
                self.half(half, out)
        out.append(b"\n")
        return b"".join(out)

    def half(self, half: CapturedMessage, out: list[bytes]) -> None:
        """Add the lines below the heading of one half to `out`, those of its findings last."""
        if half.api is None:
            return
        draw = self.drawing(half.api, half.version, half.direction)
        if draw is not None:
            odd: list[Odd] = []
            before = len(out)
            try:
                draw(half.data, out, half.known.topics if half.known is not None else ALWAYS, odd)
                findings = half.prove(odd)
            except UNREADABLE:
                del out[before:]
            else:
                below = self.below(half.direction)
                out += [encode(f"{below}{finding_line(finding, self.look)}\n") for finding in findings]
                return
        message, below = half.message(), self.below(half.direction)
        if message is None:
            return
        body = shown_body(message, self.look)
        if self.look.read is not None:
            from ....payloads.records.sources import read_in_place

            read_in_place(message.grammar, body, self.tree.topics, self.look.read)
        self.drawn(half, message, body, below)
        out.append(encode(self.tree.take()))

    def compiled(self, api: Api, version: int, direction: Direction) -> Drawing | None:
        """Return what draws such messages straight from their bytes; None where there is no such thing."""
        found = layout_of(api, version, direction, self.look)
        return drawing(self.texts, *found, self.below(direction)) if found is not None else None

    def below(self, direction: Direction) -> str:
        """Return what stands in front of the lines of a half."""
        return self.tree.mid_below if direction == "request" else self.tree.last_below

    def drawn(self, half: CapturedMessage, message: Message, body: Any, below: str) -> None:
        """Draw the fields of a half, then what is odd about them."""
        self.tree.fields(message.grammar, body, below)
        for finding in findings_of(half, message):
            self.tree.lines.append(f"{below}{finding_line(finding, self.look)}")
