"""Exchanges as compact trees, down to a depth, or only as far as they failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ....exchanges.messages.exchange import CapturedMessage, Exchange
from ....exchanges.messages.message import Message
from ....exchanges.messages.rejection import went_wrong
from ....protocol.wire import Api
from ....protocol.wire.language.api import Direction
from ....protocol.wire.nodes import Node, WireStruct
from ....protocol.wire.nodes.children import children
from ..exchange_header import findings_of
from ..exchanges import TreeView
from ..findings import finding_line
from ..style import Look
from ..tree import Topics
from ..tree_codegen import Drawing
from ..values import escape
from .folding import NAMES, codes_in, places
from .tree import CompactTree


class CompactView(TreeView):
    """An exchange under one heading, its halves as compact branches."""

    tree: CompactTree

    def __init__(self, look: Look, topics: Topics) -> None:
        super().__init__(look, topics)
        self.tree = CompactTree(look, topics)

    def compiled(self, api: Api, version: int, direction: Direction) -> Drawing | None:
        return None

    def drawn(self, half: CapturedMessage, message: Message, body: Any, below: str) -> None:
        self.tree.noted = places(message.findings, body)
        super().drawn(half, message, body, below)


class FailuresView(CompactView):
    """The exchanges in which something went wrong, and of these the items that failed, with their paths."""

    def __call__(self, exchange: Exchange) -> bytes:
        return self.in_parts(exchange) if went_wrong(exchange) else b""

    def drawn(self, half: CapturedMessage, message: Message, body: Any, below: str) -> None:
        tree, failed, odd = self.tree, list(failures(message.grammar, body)), findings_of(half, message)
        tree.noted = places(message.findings, body)
        for i, one in enumerate(failed):
            last = i == len(failed) - 1 and not odd
            guide, under = (tree.last, tree.last_below) if last else (tree.mid, tree.mid_below)
            names = "".join(f"  {self.named(name)}" for name in one.names)
            tree.lines.append(f"{below}{guide}{self.look.paint('heading', one.path or half.direction)}{names}")
            tree.fields(one.grammar, one.value, below + under)
        tree.lines += [f"{below}{finding_line(finding, self.look)}" for finding in odd]

    def named(self, name: Any) -> str:
        """Return a topic, partition or group that a failed item is in."""
        return self.look.paint("text", escape(str(self.tree.topics.get(name) or name)))


class Failure(NamedTuple):
    """A structure with an error code that is not 0: its path, the topics and groups around it, and its own fields."""

    path: str
    names: tuple[Any, ...]
    grammar: WireStruct
    value: Mapping[str, Any]


def failures(node: Node, value: Any, path: str = "", names: tuple[Any, ...] = ()) -> Iterator[Failure]:
    """Yield the structures of a value that failed, in the order of the wire; of each the plain fields alone."""
    if value is None or (codes := codes_in(node)) is None or not codes(value):
        return
    if isinstance(node, WireStruct):
        own = WireStruct(tuple(field for field in node.fields if not children(field.node)), None)
        own_codes = codes_in(own)
        if own_codes is not None and own_codes(value):
            yield Failure(
                path, names, own, {field.name: value[field.name] for field in own.fields if field.name in value}
            )
        told = (value.get(field.name) for field in node.members if field.node.kind in NAMES)
        names = (*names, *(one for one in told if one is not None))
    for child in children(node):
        for i, inside in enumerate(child.values(value)):
            step = f"[{i}]" if child.repeated else f"{'.' * bool(path and child.key)}{child.key}"
            yield from failures(child.node, inside, path + step, names)
