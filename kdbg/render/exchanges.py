"""Exchanges as trees and as hexdumps: one heading, then both halves."""

from __future__ import annotations

from ..messages.exchange import CapturedMessage, Exchange
from ..messages.message import grammar_of, header_grammar
from ..wire import Api
from ..wire.language.api import Direction
from ..wire.readings.compiled import UNREADABLE
from ..wire.readings.topic_names import ALWAYS, Topics
from .drawn import Drawing, Texts, drawing
from .findings import finding_line
from .heading import Headings, findings_of
from .hexdump import hexdump
from .look import Look
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
        self._drawings: dict[tuple[Api, int, Direction], Drawing | None] = {}

    def __call__(self, exchange: Exchange) -> bytes:
        tree, headings = self.tree, self.headings
        lines = [headings.title(exchange), *(f"  {finding_line(finding, self.look)}" for finding in exchange.findings)]
        request, response = exchange.request, exchange.response
        out: list[bytes] = []
        lines.append(f"{tree.mid}{headings.half(request, exchange, 'request')}\n")
        out.append(encode("\n".join(lines)))
        self.half(request, tree.mid_below, out)
        out.append(encode(f"{tree.last}{headings.half(response, exchange, 'response')}\n"))
        self.half(response, tree.last_below, out)
        out.append(b"\n")
        return b"".join(out)

    def half(self, half: CapturedMessage | None, below: str, out: list[bytes]) -> None:
        """Add the lines below the heading of one half to `out`."""
        if half is None or half.api is None:
            return
        key = half.api, half.version, half.direction
        draw = self._drawings[key] if key in self._drawings else self.drawing(*key, below)
        before = len(out)
        try:
            if draw is not None:
                draw(half.data, out, half.known.topics if half.known is not None else ALWAYS)
                half.sound = True
                return
        except UNREADABLE:
            del out[before:]
        out.append(encode(self.by_value(half, below)))

    def drawing(self, api: Api, version: int, direction: Direction, below: str) -> Drawing | None:
        """Return what draws such messages straight from their bytes, made when the first one comes; None for none."""
        found = None
        if version in api.versions and api.reads(direction, version) and not api.headerless:
            header = header_grammar(api, version, direction)
            found = drawing(self.texts, header, grammar_of(api, version, direction), below)
        self._drawings[api, version, direction] = found
        return found

    def by_value(self, half: CapturedMessage, below: str) -> str:
        """Return the lines below the heading of one half, drawn by its value; then the findings of that half."""
        message = half.message()
        if message is None:
            return ""
        body = message.body if self.look.show_secrets else message.open_body
        self.tree.fields(message.grammar, body, below)
        for finding in findings_of(half, message):
            self.tree.lines.append(f"{below}{finding_line(finding, self.look)}")
        return self.tree.take()


def encode(text: str) -> bytes:
    """Return text as bytes; captured text in it is escaped."""
    return text.encode("utf-8", "backslashreplace")


def hex_view(exchange: Exchange, look: Look, topics: Topics) -> str:
    """Return an exchange as explained hexdumps of its request and response, under one heading."""
    headings = Headings(look)
    lines = [headings.title(exchange), *(f"  {finding_line(finding, look)}" for finding in exchange.findings)]
    for half, name in ((exchange.request, "request"), (exchange.response, "response")):
        lines += ["", headings.half(half, exchange, name)]
        if half is not None:
            asked = (half.data, exchange.api, exchange.version, half.direction, look, topics)
            lines += hexdump(*asked, size=half.size - 4, text=True, context=half.context)
    return "\n".join(lines) + "\n\n"
