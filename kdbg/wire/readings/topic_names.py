"""Topic ids and the names beside them: what a message tells of them, found by its grammar (KIP-516).

`topic_names(grammar)` is None for a grammar in which no structure has both, which is nearly all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from uuid import UUID

from ..nodes import LengthPrefixed, Node, NullableStruct, WireArray, WireStruct

Pairs = Callable[[Any], Iterator[tuple[UUID, str]]]
"""Gives each (id, name) in a value, which may have been read only in part."""
ALWAYS = {UUID(int=1): "__cluster_metadata"}
"""The id that nobody needs to tell: that of the log of KRaft (KIP-595)."""
MOST = 100_000
"""Names that are remembered: a hostile capture may tell any number of them."""


def learn(grammar: WireStruct, value: Any, topics: dict[UUID, str]) -> None:
    """Add what a value tells to `topics`."""
    pairs = topic_names(grammar)
    for topic_id, name in pairs(value) if pairs is not None else ():
        if len(topics) < MOST or topic_id in topics:
            topics[topic_id] = name


@cache
def topic_names(node: Node) -> Pairs | None:
    """What gives the ids and names in values of a grammar; None where no structure has both."""
    if isinstance(node, WireStruct):
        return _structure(node)
    if isinstance(node, NullableStruct):
        return topic_names(node.struct)
    if not isinstance(node, (WireArray, LengthPrefixed)):
        return None
    inside = topic_names(node.item)
    if inside is None or isinstance(node, LengthPrefixed):
        return inside
    return lambda items: (pair for item in items or () for pair in inside(item))


def _structure(node: WireStruct) -> Pairs | None:
    kinds = {known.node.kind: known.name for known in node.fields}
    id_key, name_key = kinds.get("topic_id"), kinds.get("topic")
    below = [(known.name, inside) for known in node.members if (inside := topic_names(known.node)) is not None]
    if not below and (id_key is None or name_key is None):
        return None

    def pairs(value: Any) -> Iterator[tuple[UUID, str]]:
        topic_id, name = (value.get(key) for key in (id_key, name_key)) if value else (None, None)
        if topic_id and topic_id.int and name:
            yield topic_id, name
        for key, inside in below if value else ():
            yield from inside(value.get(key))

    return pairs
