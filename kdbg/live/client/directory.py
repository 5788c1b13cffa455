"""What a session has learnt of a cluster: who its brokers are, who leads, coordinates and controls, topics and ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from ...exchanges.engine.names import Learner
from ...exchanges.messages.exchange import Exchange, Known
from .settings import Address


class Directory:
    """`topic_ids` is what metadata told of topics by name, `topics` the name of every id that any message told."""

    def __init__(self) -> None:
        self.brokers: dict[int, Address] = {}
        self.leaders: dict[tuple[Any, int], int] = {}
        self.partitions: dict[Any, list[int]] = {}
        self.topic_ids: dict[str, UUID] = {}
        self.topics: dict[UUID, str] = Known.nothing().topics
        self._learner = Learner(self.topics)
        self.controller: int | None = None
        self.coordinators: dict[tuple[str, str], Address] = {}

    def learn(self, metadata: Mapping[str, Any]) -> None:
        """Remember what a Metadata response told."""
        for broker in metadata.get("brokers") or ():
            self.brokers[broker["node_id"]] = (broker["host"], broker["port"])
        self.controller = metadata.get("controller_id", self.controller)
        for topic in metadata.get("topics") or ():
            partitions = topic.get("partitions") or ()
            topic_id = topic.get("topic_id")
            if topic.get("name") and topic_id is not None and topic_id.int:
                self.topic_ids[topic["name"]] = topic_id
            for name in filter(None, (topic.get("name"), topic_id)):
                self.partitions[name] = sorted(p["partition_index"] for p in partitions)
                for partition in partitions:
                    self.leaders[name, partition["partition_index"]] = partition["leader_id"]

    def learn_controllers(self, described: Mapping[str, Any]) -> None:
        """Remember what a controller's answer to DescribeCluster told: the controllers, and which of them is active."""
        for node in described.get("brokers") or ():
            self.brokers[node["broker_id"]] = (node["host"], node["port"])
        self.controller = described.get("controller_id")

    def learn_names(self, exchange: Exchange) -> None:
        """Remember the topics that an exchange names beside their ids, in its records too."""
        self._learner.learn_from(exchange)

    def nameless(self, exchange: Exchange) -> list[UUID]:
        """Return the topic ids in an exchange that nothing has named yet, each once."""
        found: dict[UUID, None] = {}
        for rows, _, _ in exchange.outlines():
            found |= dict.fromkeys(topic for topic, *_ in rows if isinstance(topic, UUID) and topic.int)
        return [topic_id for topic_id in found if topic_id not in self.topics]

    def forget(self) -> None:
        """Forget what may be out of date."""
        self.leaders.clear()
        self.coordinators.clear()
        self.controller = None

    def leading(self, topic: Any, partition: int) -> Address | None:
        """Return the leader of a partition, None where it is not known."""
        node = self.leaders.get((topic, partition))
        return self.brokers.get(node) if node is not None else None

    def controlling(self) -> Address | None:
        """Return the controller, None where it is not known."""
        return self.brokers.get(self.controller) if self.controller is not None else None


def named(topics: Iterable[Any]) -> list[dict[str, Any]]:
    """Return topics, each a name or an id, as a Metadata request names them."""
    return [{"name": topic} if isinstance(topic, str) else {"topic_id": topic, "name": None} for topic in topics]
