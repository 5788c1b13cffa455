"""Fetch sessions and share sessions (KIP-227, KIP-932): what is in them, and how their requests are numbered.

A session's requests say only what has changed since the one before. Who has to do without the session, because a
version or a broker has none, needs the whole of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from ...analysis.compare.answers import asked_around
from ...analysis.compare.broker_assigned import KEPT, PRODUCER, PRODUCER_EPOCH, SEQUENCE, SESSION, TOPIC_ID
from ...analysis.compare.value_mapping import Counterparts
from ...capture.packet import Endpoint
from ...errors import BuildError
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.peers import End, Peers
from ...exchanges.messages.reshape import Reshaper
from ...protocol.wire import Api
from ...protocol.wire.nodes import Node, children, contains
from .plan import ReplayStep

OUTSIDE = {"session_id": 0, "session_epoch": -1, "forgotten_topics_data": []}
"""What a fetch says that is in no session."""
OF_TOPIC = ("topic_id", "topic")


class FetchSessions:
    """The sessions of some conversations, request by request."""

    def __init__(self) -> None:
        self._inside: dict[tuple[End, int], dict[tuple[Any, int], Mapping[str, Any]]] = {}
        self._next: dict[Any, int] = {}

    def opened(self, broker: End, session: int | None, body: Mapping[str, Any]) -> None:
        """Note the session that a broker opened for a request."""
        if session and not body.get("session_id"):
            self._inside[broker, session] = parts_of(body)

    def whole(self, peers: Peers, body: Mapping[str, Any], *, keep: bool) -> Mapping[str, Any]:
        """Return a request that stands for itself, and note what it changes in its session; `keep` returns it as is."""
        session = body.get("session_id")
        if not session:
            return body if keep or "session_id" not in body else {**body, "session_epoch": -1}
        inside = self._inside.setdefault((peers.broker, session), {})
        for topic in body.get("forgotten_topics_data") or ():
            for partition in topic.get("partitions") or ():
                inside.pop((topic_of(topic), partition), None)
        inside |= parts_of(body)
        return body if keep else {**body, **OUTSIDE, "topics": topics_of(inside)}

    def number(self, api: str, body: dict[str, Any]) -> None:
        """Set the number of a request within its session, in place: one more than the one before."""
        if "share_session_epoch" in body:
            self._count((api[:5], body.get("group_id"), body.get("member_id")), body, "share_session_epoch")
        elif body.get("session_id"):
            self._count(body["session_id"], body, "session_epoch")

    def _count(self, session: Any, body: dict[str, Any], name: str) -> None:
        if body[name] > 0:
            body[name] = self._next.get(session, 1)
        self._next[session] = max(body[name], 0) + 1


def topic_of(topic: Mapping[str, Any]) -> Any:
    """Return the id or the name of a topic in a fetch."""
    return next((topic[name] for name in OF_TOPIC if name in topic), None)


def parts_of(body: Mapping[str, Any]) -> dict[tuple[Any, int], Mapping[str, Any]]:
    """Return what a fetch says of each partition."""
    return {
        (topic_of(topic), part["partition"]): part
        for topic in body.get("topics") or ()
        for part in topic.get("partitions") or ()
    }


def topics_of(parts: Mapping[tuple[Any, int], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the same as the topics of a fetch."""
    topics: dict[Any, list[Mapping[str, Any]]] = {}
    for (topic, _), part in parts.items():
        topics.setdefault(topic, []).append(part)
    return [
        {("topic" if isinstance(topic, str) else "topic_id"): topic, "partitions": listed}
        for topic, listed in topics.items()
    ]


def brokers_in(exchanges: Iterable[Exchange]) -> dict[int, Endpoint]:
    """Return the addresses of all brokers that Metadata named, by node id."""
    found: dict[int, Endpoint] = {}
    for exchange in exchanges:
        if exchange.api is None or exchange.api.name != "Metadata" or exchange.response is None:
            continue
        message = exchange.response.message(shallow=True)
        for broker in (message.body.get("brokers") or ()) if message is not None else ():
            found[broker["node_id"]] = (broker["host"], broker["port"])
    return found


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


Versions = Mapping[int, tuple[int, int]]


class Sent(NamedTuple):
    """A request as it is sent: its body, or where nothing changes the captured bytes of that."""

    version: int
    body: Mapping[str, Any]
    lost: list[str]


@dataclass
class Words:
    """Says captured requests in the words of the run at hand. `id_of` tells the ids of topics there, by their names."""

    known: Counterparts
    id_of: Callable[[str], UUID | None]
    sessions: FetchSessions = field(default_factory=FetchSessions)

    def unknown_topics(self, exchange: Exchange) -> set[str]:
        """Return the topics whose ids an exchange names, and whose ids of now must be asked for."""
        found = set[str]()
        for half in (exchange.request, exchange.response):
            message = half.message() if half is not None else None
            if message is None or not _has_ids(message.grammar):
                continue
            for topic in _ids(message.grammar, message.body):
                name = self.known.names.get(topic)
                if name and self.known.of(TOPIC_ID, {}, topic) is KEPT:
                    found.add(name)
        return found

    def named_topics(self, exchange: Exchange, version: int) -> set[str]:
        """Return the topics that a request names, where the version that is sent wants their ids."""
        api, message = exchange.api, exchange.request.message() if exchange.request is not None else None
        if api is None or message is None or version == exchange.version:
            return set()
        if not _has_ids(api.at("request", version)) or _has_ids(message.grammar):
            return set()
        found = exchange.request.outline() if exchange.request is not None else None
        return {topic for topic, *_ in found[0] if isinstance(topic, str)} if found is not None else set()

    def note_topic(self, name: str, new: UUID) -> None:
        """Note the id that a topic has now."""
        for old, known in self.known.names.items():
            if known == name:
                self.known.note(TOPIC_ID, {}, old, new)

    def unknown_producers(self, exchange: Exchange) -> set[tuple[int, int, str | None]]:
        """Return the producers of batches that no broker of this run has handed out: id, epoch, transactional id."""
        found = set[tuple[int, int, str | None]]()
        if exchange.api is None or exchange.api.name != "Produce" or exchange.request is None:
            return found
        message = exchange.request.message()
        for _, _, batch in _batches(message.body) if message is not None else ():
            producer = batch["producer_id"]
            if not self.known.knows(PRODUCER, {}, producer):
                found.add((producer, batch["producer_epoch"], message.body.get("transactional_id")))  # type: ignore[union-attr]
        return found

    def note_producer(self, old: int, epoch: int, new: int, new_epoch: int) -> None:
        """Note a producer that was asked for in place of one that the capture does not show being handed out."""
        self.known.note(PRODUCER, {}, old, new)
        self.known.note(PRODUCER_EPOCH, {"producer": old}, epoch, new_epoch)
        self._adopted.add(old)

    def say(self, exchange: Exchange, versions: Versions) -> Sent:
        """Return what to send for a captured request; raise `BuildError` where it cannot be said."""
        api, message = exchange.api, _message(exchange.request)
        assert api is not None
        version = nearest(api, exchange.version, versions)
        around = asked_around(self.known, exchange)
        reshaper = Reshaper(self.known.names.get, self.id_of)
        body = message.body
        if api.name == "Produce":
            self._number(message.body)
        if api.name == "Fetch":
            body = self.sessions.whole(exchange.peers, body, keep=self._in_session(body, version))
            answer = exchange.response.message() if exchange.response is not None else None
            if answer is not None:
                self.sessions.opened(exchange.peers.broker, answer.body.get("session_id"), message.body)
        said = reshaper.reshaped(api, "request", body, exchange.version, version)
        grammar = api.at("request", version)
        made = dict(self.known.changed(said, grammar, around))
        self.sessions.number(api.name, made)
        return Sent(version, made, reshaper.lost)

    def _in_session(self, body: Mapping[str, Any], version: int) -> bool:
        """Return whether a fetch goes on in a session that the broker of now keeps as well."""
        session = body.get("session_id")
        return version >= 7 and (not session or bool(self.known.of(SESSION, {}, session) not in (KEPT, 0)))

    def _number(self, body: Mapping[str, Any]) -> None:
        """Note what the first batch of an adopted producer is numbered: it begins at 0 now."""
        for topic, part, batch in _batches(body):
            around = {"producer": batch["producer_id"], "topic": self._topic(topic), "partition": part["index"]}
            first = batch["base_sequence"]
            if batch["producer_id"] in self._adopted and first >= 0:
                begun = self._begun.setdefault(tuple(around.values()), first)
                self.known.note(SEQUENCE, around, first, max(first - begun, 0))

    def _topic(self, topic: Mapping[str, Any]) -> Any:
        found = topic.get("name") or topic.get("topic_id")
        return self.known.names.get(found, found) if isinstance(found, UUID) else found

    _adopted: set[int] = field(default_factory=set)
    _begun: dict[tuple[Any, ...], int] = field(default_factory=dict)


def nearest(api: Api, version: int, versions: Versions) -> int:
    """Return the version nearest to one that both sides know; raise `BuildError` where there is none.

    A broker that told no versions is taken to know it.
    """
    if not versions:
        return version
    if api.key not in versions:
        raise BuildError(api.name, "the broker does not support the API")
    low, high = max(versions[api.key][0], api.versions[0]), min(versions[api.key][1], api.versions[-1])
    if low > high:
        raise BuildError(api.name, "the broker supports no version of the API that kdbg knows")
    return min(max(version, low), high)


def _message(half: CapturedMessage | None) -> Any:
    message = half.message() if half is not None else None
    assert message is not None, "the request cannot be decoded"
    return message


def _has_ids(node: Node) -> bool:
    return contains(node, lambda each: each.kind == "topic_id")


def _ids(node: Node, value: Any) -> Iterator[UUID]:
    """Yield all topic ids in a value."""
    if node.kind == "topic_id" and isinstance(value, UUID):
        yield value
    for child in children(node):
        if contains(child.node, lambda each: each.kind == "topic_id"):
            for inner in child.values(value):
                yield from _ids(child.node, inner)


def _batches(body: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], ...]]:
    """Yield the batches of a Produce request, each after its topic and its partition."""
    for topic in body["topic_data"]:
        for part in topic["partition_data"]:
            yield from ((topic, part, batch) for batch in part["records"] or () if "producer_id" in batch)
