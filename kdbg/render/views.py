"""The four views of an exchange: tree, summary, hex, json. Each turns an exchange into text, lines included."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from ..messages.exchange import CapturedMessage, Exchange
from .findings import finding_line
from .heading import Headings, findings_of
from .hexdump import hexdump
from .jsonlines import json_line
from .look import Look
from .summary import summary_line
from .tree import Tree

View = Callable[[Exchange], str | bytes]
Topics = Mapping[uuid.UUID, str]
FORMATS = ("tree", "summary", "hex", "json")


def view(format: str, look: Look, topics: Topics) -> View:
    """The function that renders exchanges in one of the FORMATS."""
    if format == "tree":
        return TreeView(look, topics)
    if format == "summary":
        return lambda exchange: summary_line(exchange, look, topics)
    if format == "hex":
        return lambda exchange: hex_view(exchange, look, topics)
    return lambda exchange: json_line(exchange, topics, show_secrets=look.show_secrets)


class TreeView:
    """An exchange under one heading, its halves as branches."""

    def __init__(self, look: Look, topics: Topics) -> None:
        self.look = look
        self.tree = Tree(look, topics)
        self.headings = Headings(look)

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
        """The body of one half, and what is odd about it."""
        message = half.message() if half is not None else None
        if half is None or message is None:
            self.tree.lines.append(head)
            return
        body = message.body if self.look.show_secrets else message.open_body
        self.tree.struct(message.grammar)(body, head, below)
        for finding in findings_of(half, message):
            self.tree.lines.append(f"{below}{finding_line(finding, self.look)}")


def hex_view(exchange: Exchange, look: Look, topics: Topics) -> str:
    """An exchange with every byte of its halves named."""
    headings = Headings(look)
    lines = [headings.title(exchange), *(f"  {finding_line(finding, look)}" for finding in exchange.findings)]
    for half, name in ((exchange.request, "request"), (exchange.response, "response")):
        lines += ["", headings.half(half, exchange, name)]
        if half is not None:
            asked = (half.data, exchange.api, exchange.version, half.direction, look, topics)
            lines += hexdump(*asked, size=half.size - 4, text=True, context=half.context)
    return "\n".join(lines) + "\n\n"
