"""What metadata tells: brokers and where they say that they are, topics, leaders, replicas, clusters."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from ...exchanges.messages.peers import End
from .evidence import Bounded, Mark, Occurrences

MOST = 4096
MOST_CHANGES = 64
NO_ID = UUID(int=0)


class Advertised:
    """An address that a broker was said to have, by whom, to whom."""

    def __init__(self, node_id: int, host: str, port: int) -> None:
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.seen: Occurrences = Occurrences()
        self.told_by: Counter[End] = Counter()
        self.clients: Counter[str] = Counter()
        self.hosts: set[str] = set()
        """The hosts of clients that were told."""


class Led(NamedTuple):
    """Who led a partition from `time` on, as metadata told: a node, -1 for none, and the in-sync replicas."""

    time: int
    leader: int
    replicas: int
    in_sync: int


class Topic:
    """What was said of a topic."""

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.asked: dict[str, Occurrences] = {}
        """Who asked for it by name in Metadata, by client id."""
        self.errors: dict[int, Occurrences] = {}
        """Error codes that Metadata gave for it."""
        self.found: Occurrences = Occurrences()
        self.ids: set[UUID] = set()
        """Its topic ids in responses: several where it was deleted and recreated."""
        self.partitions: dict[int, list[Led]] = {}
        self.creating: Occurrences = Occurrences()
        """Requests that ask for it and let the broker create it."""
        self.created: Occurrences = Occurrences()
        """CreateTopics that made it."""

    def asked_by(self, client: str, mark: Mark) -> None:
        """Count a request for it."""
        seen = self.asked.get(client)
        if seen is None:
            if len(self.asked) >= MOST_CHANGES:
                return
            seen = self.asked[client] = Occurrences()
        seen.add(mark)

    def leader(self, partition: int) -> int | None:
        """Return who led a partition last, as far as was told."""
        led = self.partitions.get(partition)
        return led[-1].leader if led else None


class Clusters:
    """What metadata told, of all clusters that were spoken with."""

    def __init__(self) -> None:
        self.advertised: Bounded[tuple[int, str, int], Advertised] = Bounded(MOST)
        self.topics: Bounded[str, Topic] = Bounded(MOST)
        self.ids: dict[str, Occurrences] = {}
        self.ids_by_broker: dict[End, Counter[str]] = {}
        self.ids_by_client: Bounded[tuple[str, str], dict[str, Occurrences]] = Bounded(MOST)
        """The clusters whose metadata each client received, by client id and host."""
        self.all_topics: Bounded[str, Occurrences] = Bounded(MOST)
        """Requests for the metadata of all topics, by client id."""
        self.refreshed: Bounded[str, list[int]] = Bounded(MOST)
        """When each client asked for metadata, by client id: the last times."""

    def topic(self, name: Any) -> Topic | None:
        """Return the entry of a topic."""
        key = str(name)
        return self.topics.entry(key, partial(Topic, key))

    def advertise(self, node_id: int, host: str, port: int, by: End, to: str, client_host: str, mark: Mark) -> None:
        """Note that a broker was said to be there."""
        entry = self.advertised.entry((node_id, host, port), lambda: Advertised(node_id, host, port))
        if entry is not None:
            entry.seen.add(mark)
            entry.told_by[by] += 1
            entry.clients[to] += 1
            if len(entry.hosts) < MOST_CHANGES:
                entry.hosts.add(client_host)

    def node(self, node_id: int, near: End) -> tuple[str, int] | None:
        """Return the address that a node was said to have most often: one of the cluster that a broker belongs to."""
        told_by = (entry.told_by for entry in self.advertised.values() if (entry.host, entry.port) == near)
        around = {near}.union(*told_by)
        ids = {name for broker in around for name in self.ids_by_broker.get(broker, ())}
        alike = {*around, *(broker for broker, others in self.ids_by_broker.items() if ids & others.keys())}
        entries = [one for one in self.advertised.values() if one.node_id == node_id and alike & one.told_by.keys()]
        best = max(entries, key=lambda entry: entry.seen.count, default=None)
        return None if best is None else (best.host, best.port)

    def metadata(
        self, asked: dict[str, Any], response: dict[str, Any], by: End, to: str, host: str, mark: Mark
    ) -> None:
        """Take an exchange of Metadata: `by` a broker, `to` a client on a host."""
        names = asked.get("topics")
        if asked and names is None and (seen := self.all_topics.entry(to, Occurrences)) is not None:
            seen.add(mark)
        create = asked.get("allow_auto_topic_creation", True)
        for entry in names or ():
            name = entry.get("name") if isinstance(entry, dict) else entry
            if name and (topic := self.topic(name)) is not None:
                topic.asked_by(to, mark)
                if create:
                    topic.creating.add(mark)
        times = self.refreshed.entry(to, list)
        if times is not None:
            times.append(mark.time)
            del times[:-MOST_CHANGES]
        for broker in response.get("brokers") or ():
            self.advertise(
                broker.get("node_id", -1), broker.get("host") or "", broker.get("port", 0), by, to, host, mark
            )
        cluster = response.get("cluster_id")
        if cluster:
            self.ids.setdefault(cluster, Occurrences()).add(mark)
            self.ids_by_broker.setdefault(by, Counter())[cluster] += 1
            own = self.ids_by_client.entry((to, host), dict) if to else None
            if own is not None:
                own.setdefault(cluster, Occurrences()).add(mark)
        for entry in response.get("topics") or ():
            name = entry.get("name")
            topic = self.topic(name) if name else None
            if topic is None:
                continue
            code = entry.get("error_code", 0)
            if code:
                topic.errors.setdefault(code, Occurrences()).add(mark)
            else:
                topic.found.add(mark)
                topic_id = entry.get("topic_id") or NO_ID
                if topic_id not in topic.ids and topic_id != NO_ID and len(topic.ids) < MOST_CHANGES:
                    topic.ids.add(topic_id)
            for partition in entry.get("partitions") or ():
                led = topic.partitions.setdefault(partition.get("partition_index", -1), [])
                replicas, in_sync = partition.get("replica_nodes") or (), partition.get("isr_nodes") or ()
                now = partition.get("leader_id", -1), len(replicas), len(in_sync)
                if not led or led[-1][1:] != now:
                    led.append(Led(mark.time, *now))
                    del led[:-MOST_CHANGES]
