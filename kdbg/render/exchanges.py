"""Exchanges as trees and as hexdumps: one heading, then both halves."""

from __future__ import annotations

from ..messages.exchange import CapturedMessage, Exchange
from ..wire.readings.topic_names import Topics
from .findings import finding_line
from .heading import Headings, findings_of
from .hexdump import hexdump
from .look import Look
from .tree import Tree


class TreeView:
    """An exchange under one heading, its halves as branches."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.look = look
        self.tree: Tree = Tree(look, topics)
        self.headings: Headings = Headings(look)

    def __call__(self, exchange: Exchange) -> str:
        tree, headings = self.tree, self.headings
        tree.lines.append(headings.title(exchange))
        for finding in exchange.findings:
            tree.lines.append(f"  {finding_line(finding, self.look)}")
        request, response = exchange.request, exchange.response
        self.half(request, f"{tree.mid}{headings.half(request, exchange, 'request')}", tree.mid_below)
        self.half(response, f"{tree.last}{headings.half(response, exchange, 'response')}", tree.last_below)
        tree.lines.append("")
        return tree.take()

    def half(self, half: CapturedMessage | None, head: str, below: str) -> None:
        """Draw the body of one half below its heading, then the findings of that half."""
        message = half.message() if half is not None else None
        if half is None or message is None:
            self.tree.lines.append(head)
            return
        body = message.body if self.look.show_secrets else message.open_body
        self.tree.struct(message.grammar)(body, head, below)
        for finding in findings_of(half, message):
            self.tree.lines.append(f"{below}{finding_line(finding, self.look)}")


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
