"""In which order captured requests are sent again, what each of them waits for, and what it says then.

All requests of all connections stand in one row, by the time at which they were sent. One is due when its time has
come, and once all answers have come that had come before it in the capture: whatever it follows from, it knows.
A request of a fetch session or a share session (KIP-227, KIP-932) says only what has changed since the one before. Who
has to do without the session, because a version or a broker has none, needs the whole of it.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from ...analysis.compare.answers import asked_around
from ...analysis.compare.broker_assigned import KEPT, PRODUCER, PRODUCER_EPOCH, SEQUENCE, SESSION, TOPIC_ID
from ...analysis.compare.value_mapping import Counterparts
from ...capture.packet import Endpoint
from ...errors import BuildError, InputError
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import End, Peers
from ...exchanges.messages.reshape import Reshaper
from ...protocol.findings import Kind
from ...protocol.wire import Api
from ...protocol.wire.nodes import Node, children, contains
from ..client.routes import Versions

Moment: TypeAlias = tuple[int, int]
"""A time, and the number of a packet, which says what came first within one tick of the clock."""
Talk: TypeAlias = tuple[int, int]
"""A captured connection: which capture it stands in, and its number there."""
SASL: Final = "captured SASL login; the replay uses its own options"
BROKERS: Final = "inter-broker request"
CONTROLLERS: Final = "inter-controller request"
LEFT_OUT: Final = {
    **dict.fromkeys(("SaslHandshake", "SaslAuthenticate"), SASL),
    **dict.fromkeys((
        "LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown", "WriteTxnMarkers", "AlterPartition",
        "AllocateProducerIds", "BrokerRegistration", "BrokerHeartbeat", "AssignReplicasToDirs", "Envelope",
        "InitializeShareGroupState", "ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState",
        "ReadShareGroupStateSummary",
    ), BROKERS),
    **dict.fromkeys(
        ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot", "ControllerRegistration"), CONTROLLERS
    ),
}  # fmt: skip
"""What is never sent again, by API, and why. A fetch by a follower is left out as well."""


@dataclass
class ReplayStep:
    """A request to send again. `at` is nanoseconds since the first; `after`: how many answers must have come.

    `waits` says that its own answer is one of those that others wait for. `left_out` says why it is not sent.
    """

    exchange: Exchange
    talk: Talk
    at: int
    left_out: str
    unfit: str
    after: int = 0
    waits: bool = False


class Plan:
    """The steps of a run: `add` exchanges, then `order` them. Those of more than `most` bytes are refused."""

    def __init__(self, most: int) -> None:
        self.steps: list[ReplayStep] = []
        self.held, self.most = 0, most
        self._answers = list[ReplayStep]()
        self._reached = 0
        self._done = set[int]()

    def add(self, exchange: Exchange, capture: int = 0) -> None:
        """Take an exchange of a capture; raise `InputError` where it is too much."""
        if exchange.request is None or exchange.api is None:
            return
        self.held += exchange.size
        if self.held > self.most:
            hint = "use filters such as --client-id or --since, or raise --max-memory"
            raise InputError(f"the requests exceed {self.most >> 20} MiB; {hint}")
        talk, at = (capture, exchange.peers.number), exchange.request.first_time
        self.steps.append(ReplayStep(exchange, talk, at, left_out(exchange), unfit(exchange)))

    def order(self) -> Plan:
        """Bring the steps into their order, and say of each what it waits for, and whether it is sent at all."""
        self.steps.sort(key=lambda step: step.at)
        first = self.steps[0].at if self.steps else 0
        came: dict[int, Moment] = {}
        for step in self.steps:
            response = step.exchange.response
            step.waits = not step.left_out and response is not None and step.exchange.answered
            if step.waits and response is not None:  # a clock that was set back makes no answer come before its request
                came[id(step)] = max((response.last_time, response.last_packet), _sent(step))
        self._answers = sorted((step for step in self.steps if step.waits), key=lambda step: came[id(step)])
        moments = sorted(came.values())
        for step in self.steps:
            step.after = bisect.bisect_left(moments, _sent(step))
        for step in self.steps:
            step.at -= first
        return self

    def answered(self, step: ReplayStep) -> None:
        """Note that the answer to a step has come, or that none will."""
        self._done.add(id(step))
        while self._reached < len(self._answers) and id(self._answers[self._reached]) in self._done:
            self._done.discard(id(self._answers[self._reached]))
            self._reached += 1

    def is_due(self, step: ReplayStep) -> bool:
        """Return whether all answers have come that a step waits for."""
        return self._reached >= step.after


def _sent(step: ReplayStep) -> Moment:
    """Return when a request was sent, and with which packet."""
    request = step.exchange.request
    assert request is not None
    return request.first_time, request.first_packet


def left_out(exchange: Exchange) -> str:
    """Return why a request is not sent again, "" for one that is."""
    api = exchange.api
    if api is None or api.headerless:
        return SASL
    if api.name == "Fetch" and exchange.request is not None:
        said = exchange.request.fields(("replica_id", "replica_state"))
        replica = said.get("replica_id", (said.get("replica_state") or {}).get("replica_id", -1))
        return BROKERS if replica >= 0 else ""
    return LEFT_OUT.get(api.name, "")


def unfit(exchange: Exchange) -> str:
    """Return why a request cannot be sent again, "" for one that can."""
    request, api = exchange.request, exchange.api
    if request is None or api is None or request.missing:
        return "the request is incomplete in the capture"
    if not api.reads("request", exchange.version):
        return f"kdbg does not support {api.name} v{exchange.version}"
    broken = [one for one in request.findings() if not one.kind.harmless and one.kind is not Kind.TRAILING_BYTES]
    return f"the request cannot be decoded: {broken[0].text}" if broken else ""


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
        topics: dict[Any, list[Mapping[str, Any]]] = {}
        for (topic, _), part in inside.items():
            topics.setdefault(topic, []).append(part)
        listed = [
            {("topic" if isinstance(topic, str) else "topic_id"): topic, "partitions": parts}
            for topic, parts in topics.items()
        ]
        return body if keep else {**body, **OUTSIDE, "topics": listed}

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


class TopicShape(NamedTuple):
    """A topic: how many partitions it had, and how many replicas."""

    partitions: int
    replicas: int


def wanted(steps: Iterable[ReplayStep], names: Mapping[UUID, str]) -> dict[str, TopicShape]:
    """Return the topics to create, by name; none that brokers make, or that the capture itself shows being created."""
    found: dict[str, TopicShape] = {}
    created = set[str]()

    def note(name: Any, partitions: int, replicas: int) -> None:
        if isinstance(name, str) and name:
            before = found.get(name, TopicShape(1, 1))
            found[name] = TopicShape(max(before.partitions, partitions), max(before.replicas, replicas))

    for step in (one for one in steps if not one.left_out):
        exchange = step.exchange
        name = exchange.api.name if exchange.api is not None else ""
        if name == "CreateTopics" and exchange.request is not None:
            message = exchange.request.message()
            asked = message.body.get("topics") or () if message is not None else ()
            created |= {topic["name"] for topic in asked if topic["name"] not in found}
        if name == "Metadata" and exchange.response is not None:
            message = exchange.response.message()
            for topic in (message.body.get("topics") or ()) if message is not None else ():
                parts = topic.get("partitions") or ()
                replicas = max((len(part.get("replica_nodes") or ()) for part in parts), default=1) or 1
                note(topic.get("name"), len(parts), replicas)
        for rows, _, _ in exchange.outlines():
            for topic, partition, *_ in rows:
                note(names.get(topic) if isinstance(topic, UUID) else topic, (partition or 0) + 1, 1)
    return {name: topic for name, topic in found.items() if name not in created and not name.startswith("__")}


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
    _adopted: set[int] = field(default_factory=set)
    _begun: dict[tuple[Any, ...], int] = field(default_factory=dict)

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
            if self.known.of(PRODUCER, {}, producer) is KEPT:
                found.add((producer, batch["producer_epoch"], message.body.get("transactional_id")))  # type: ignore[union-attr]
        return found

    def note_producer(self, old: int, epoch: int, new: int, new_epoch: int) -> None:
        """Note a producer that was asked for in place of one that the capture does not show being handed out."""
        self.known.note(PRODUCER, {}, old, new)
        self.known.note(PRODUCER_EPOCH, {"producer": old}, epoch, new_epoch)
        self._adopted.add(old)

    def say(self, exchange: Exchange, versions: Versions) -> Sent:
        """Return what to send for a captured request; raise `BuildError` where it cannot be said."""
        api, message = exchange.api, exchange.request.message() if exchange.request is not None else None
        assert api is not None
        assert message is not None, "the request cannot be decoded"
        version = nearest(api, exchange.version, versions)
        around = asked_around(self.known, exchange)
        reshaper = Reshaper(self.known.names.get, self.id_of)
        body: Mapping[str, Any] = message.body
        if api.name == "Produce":
            self._number(message.body)
        if api.name == "Fetch":
            session = body.get("session_id")  # it may go on in a session that the broker of now keeps as well
            keep = version >= 7 and (not session or self.known.of(SESSION, {}, session) not in (KEPT, 0))
            body = self.sessions.whole(exchange.peers, body, keep=keep)
            answer = exchange.response.message() if exchange.response is not None else None
            if answer is not None:
                self.sessions.opened(exchange.peers.broker, answer.body.get("session_id"), message.body)
        said = reshaper.reshaped(api, "request", body, exchange.version, version)
        grammar = api.at("request", version)
        made = dict(self.known.changed(said, grammar, around))
        self.sessions.number(api.name, made)
        return Sent(version, made, reshaper.lost)

    def _number(self, body: Mapping[str, Any]) -> None:
        """Note what the first batch of an adopted producer is numbered: it begins at 0 now."""
        for topic, part, batch in _batches(body):
            name = topic.get("name") or topic.get("topic_id")
            name = self.known.names.get(name, name) if isinstance(name, UUID) else name
            around = {"producer": batch["producer_id"], "topic": name, "partition": part["index"]}
            first = batch["base_sequence"]
            if batch["producer_id"] in self._adopted and first >= 0:
                begun = self._begun.setdefault(tuple(around.values()), first)
                self.known.note(SEQUENCE, around, first, max(first - begun, 0))


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


def _has_ids(node: Node) -> bool:
    return contains(node, lambda each: each.kind == "topic_id")


def _ids(node: Node, value: Any) -> Iterator[UUID]:
    """Yield all topic ids in a value."""
    if node.kind == "topic_id" and isinstance(value, UUID):
        yield value
    for child in children(node):
        if _has_ids(child.node):
            for inner in child.values(value):
                yield from _ids(child.node, inner)


def _batches(body: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], ...]]:
    """Yield the batches of a Produce request, each after its topic and its partition."""
    for topic in body["topic_data"]:
        for part in topic["partition_data"]:
            yield from ((topic, part, batch) for batch in part["records"] or () if "producer_id" in batch)
