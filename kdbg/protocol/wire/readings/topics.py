"""Which topics a message is about, and the names of topic ids that it has (KIP-516), found by its grammar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import cache
from itertools import islice
from typing import Any, TypeAlias
from uuid import UUID

from ..nodes import Node, UuidNode, WireStruct
from ..nodes.children import children
from .codegen import CodeGenerator

Topics: TypeAlias = Mapping[UUID, str]
"""The names of topic ids, as far as they are known."""
Pairs = Callable[[Any], Iterator[tuple[UUID, str]]]
"""Gives each (id, name) in a value, which may have been read only in part."""
ALWAYS = {UUID(int=1): "__cluster_metadata"}
"""The id that nobody needs to tell: that of the log of KRaft (KIP-595)."""
MOST = 100_000
"""Names that are remembered: a hostile capture may tell any number of them."""


def learn(grammar: WireStruct, value: Any, topics: MutableMapping[UUID, str]) -> None:
    """Add what a value tells to `topics`; an id keeps the name that it had first, as topics do."""
    pairs = topic_names(grammar)
    for topic_id, name in pairs(value) if pairs is not None else ():
        if len(topics) < MOST:
            topics.setdefault(topic_id, name)


def names_by_then(topics: dict[UUID, str], count: int) -> dict[UUID, str]:
    """Return the first `count` names that were learnt: those known when a message was handed out.

    Names are only ever added, so their order is that in which they were learnt.
    """
    return topics if len(topics) <= count else dict(islice(topics.items(), count))


class NamesThen(Mapping[UUID, str]):
    """The names of topic ids as they were known at a moment: the first `count` that were learnt.

    Exchanges come many at a time, and the later ones of them may tell names that the earlier ones could not know.
    """

    def __init__(self, topics: dict[UUID, str]) -> None:
        self.topics = topics
        self._count, self._then = 0, topics

    def at(self, count: int) -> None:
        """Go to the moment when so many names were known."""
        if count != self._count or len(self._then) > count:  # then more were learnt since
            self._count, self._then = count, names_by_then(self.topics, count)

    def __getitem__(self, topic_id: UUID) -> str:
        return self._then[topic_id]

    def __contains__(self, topic_id: object) -> bool:
        return topic_id in self._then

    def get(self, topic_id: UUID, default: Any = None) -> Any:
        """Return the name of a topic id, or `default` where it is not known."""
        return self._then.get(topic_id, default)

    def __iter__(self) -> Iterator[UUID]:
        return iter(self._then)

    def __len__(self) -> int:
        return len(self._then)


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


TopicsReader = Callable[[bytes, "list[str | bytes]"], None]


@cache
def topics_in(header: Node, body: WireStruct) -> TopicsReader:
    """Return a function that adds the names and the ids of topics in a message, as 16 bytes, to a list.

    It raises one of `UNREADABLE` where it cannot read on; then the list has those in front of that place.
    """
    walk = TopicsIn()
    walk.read(header, 1)
    walk.read(body, 1)
    walk.flush(1)
    return walk.define("topics(data, found, pos=0)", "None")  # type: ignore[no-any-return]


class TopicsIn(CodeGenerator):
    """Writes a function that gathers topics, and passes over all else."""

    def leaf(self, node: Node, depth: int) -> str:
        if node.kind not in ("topic", "topic_id"):
            return super().leaf(node, depth)
        topic = self.take("16s", self.fresh()) if isinstance(node, UuidNode) else self.value(node, depth)
        self.flush(depth)
        self.line(depth, f"found.append({topic})")
        return ""
