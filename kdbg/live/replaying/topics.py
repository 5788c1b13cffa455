"""The topics that a capture speaks of, as a new cluster needs them before requests are sent to it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from ...exchanges.messages.exchange import Exchange
from .plan import ReplayStep

INTERNAL = "__"
"""How the names of topics begin that brokers make for themselves."""


class TopicShape(NamedTuple):
    """A topic: how many partitions it had, and how many replicas."""

    partitions: int
    replicas: int


def wanted(steps: Iterable[ReplayStep], names: Mapping[UUID, str]) -> dict[str, TopicShape]:
    """Return the topics to create, by name; not those that the capture itself shows being created."""
    found: dict[str, TopicShape] = {}
    created = set[str]()
    for step in steps:
        if step.left_out:
            continue
        exchange = step.exchange
        if exchange.api is not None and exchange.api.name == "CreateTopics" and exchange.request is not None:
            message = exchange.request.message()
            asked = message.body.get("topics") or () if message is not None else ()
            created |= {topic["name"] for topic in asked if topic["name"] not in found}
        _take(exchange, names, found)
    return {name: topic for name, topic in found.items() if name not in created and not name.startswith(INTERNAL)}


def _take(exchange: Exchange, names: Mapping[UUID, str], found: dict[str, TopicShape]) -> None:
    """Note the topics of an exchange."""
    if exchange.api is not None and exchange.api.name == "Metadata" and exchange.response is not None:
        message = exchange.response.message()
        for topic in (message.body.get("topics") or ()) if message is not None else ():
            _more(found, topic.get("name"), len(topic.get("partitions") or ()), _replicas(topic))
    for rows, _, _ in exchange.outlines():
        for topic, partition, *_ in rows:
            _more(found, names.get(topic) if isinstance(topic, UUID) else topic, (partition or 0) + 1, 1)


def _more(found: dict[str, TopicShape], name: Any, partitions: int, replicas: int) -> None:
    if isinstance(name, str) and name:
        before = found.get(name, TopicShape(1, 1))
        found[name] = TopicShape(max(before.partitions, partitions), max(before.replicas, replicas))


def _replicas(topic: Mapping[str, Any]) -> int:
    return max((len(part.get("replica_nodes") or ()) for part in topic.get("partitions") or ()), default=1) or 1
