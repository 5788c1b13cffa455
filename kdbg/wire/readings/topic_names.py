"""Topic ids and the names beside them: what a message tells of them, found by its grammar (KIP-516).

`topic_names(grammar)` is None for a grammar in which no structure has both, which is nearly all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any, TypeAlias
from uuid import UUID

from ..nodes import Node, WireStruct
from ..nodes.children import children

Topics: TypeAlias = Mapping[UUID, str]
"""The names of topic ids, as far as they are known."""
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


def names_by_then(topics: dict[UUID, str], count: int) -> dict[UUID, str]:
    """Return the first `count` names that were learnt: those known when a message was handed out.

    Names are only ever added, so their order is that in which they were learnt.
    """
    return topics if len(topics) <= count else dict(islice(topics.items(), count))


@cache
def topic_names(node: Node) -> Pairs | None:
    """Return the function that yields (topic id, name) pairs of a value; None where no structure has both."""
    below = [(child, inside) for child in children(node) if (inside := topic_names(child.node)) is not None]
    kinds = {child.node.kind: child.key for child in children(node)}
    id_key, name_key = kinds.get("topic_id"), kinds.get("topic")
    both = bool(id_key and name_key)
    if not below and not both:
        return None

    def pairs(value: Any) -> Iterator[tuple[UUID, str]]:
        topic_id, name = (value.get(id_key), value.get(name_key)) if both and value else (None, None)
        if topic_id and topic_id.int and name:
            yield topic_id, name
        for child, inside in below:
            for item in child.values(value):
                yield from inside(item)

    return pairs
