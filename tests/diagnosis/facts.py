"""Ledgers that tests fill by hand: a few connections, members and counts, as a rule finds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kdbg.analysis.diagnosis import Case
from kdbg.analysis.diagnosis.rules import RULES
from kdbg.analysis.ledgers import Ledgers
from kdbg.analysis.ledgers.accounts import Failure
from kdbg.analysis.ledgers.evidence import Mark, Occurrences
from kdbg.analysis.ledgers.flows import Fetched, PartitionWrites, Polls, Sample
from kdbg.analysis.ledgers.groups import Event, Group, Member
from kdbg.analysis.ledgers.sessions import KafkaConnection, Slow, Unanswered
from kdbg.capture.packet import endpoint
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.peers import Peers
from kdbg.streams.tcp.paths import Closed, Path, Side

MS, SECOND = 1_000_000, 1_000_000_000
START = 1_795_000_000 * SECOND
BROKER = ("10.0.0.2", 9092)
FLOW = bytes((10, 0, 0, 1, 10, 0, 0, 2)) + (50000).to_bytes(2, "big") + (9092).to_bytes(2, "big")


def mark(number: int = 1, at: int = 0, end: int | None = None, connection: int = 1) -> Mark:
    """An exchange, its times in nanoseconds after START."""
    return Mark(number, START + at, START + (at if end is None else end), connection)


def seen(count: int = 1, since: int = 0, until: int = 0, first: int = 1) -> Occurrences:
    """Something that was seen so many times, from `since` to `until`."""
    found = Occurrences()
    for number in range(count):
        at = since + (until - since) * number // max(count - 1, 1)
        found.add(mark(first + number, at))
    return found


class Held:
    """Paths that are held, as `Paths` gives them."""

    def __init__(self) -> None:
        self.paths: list[Path] = []

    def all(self) -> Iterator[Path]:
        return iter(self.paths)

    def path_of(self, first_packet: int) -> Path | None:
        return next((path for path in self.paths if path.first_packet == first_packet), None)


class Facts(Ledgers):
    """Ledgers with hands."""

    def __init__(self) -> None:
        super().__init__(Engine().names_then)
        self.held = Held()
        self.paths = self.held  # type: ignore[assignment]
        self.first_time = START

    def path(self, *, flow: bytes = FLOW, at: int = 0, closed: str = "", closes: int = 0, opened: bool = True) -> Path:
        """A connection by its packets, that the client or the broker closed."""
        number = len(self.held.paths) + 1
        path = Path(*endpoint(flow), number, number, START + at, START + at, opened)
        if closed:
            side: Side = 0 if closed == "client" else 1
            path.closes.append(Closed(START + closes, side, False))
            path.last_time = START + closes
        self.held.paths.append(path)
        return path

    def client(self, client_id: str = "shop", *, broker: tuple[str, int] = BROKER, **more: Any) -> KafkaConnection:
        """A connection that speaks Kafka."""
        path = self.path(**more)
        peers = Peers(len(self.sessions) + 1, path.initiator, broker, path.first_packet)
        session = self.sessions[peers.number] = self._by_packet[path.first_packet] = KafkaConnection(peers, path)
        if client_id:
            session.client_ids[client_id] += 1
        return session

    def fails(
        self, session: KafkaConnection, code: int, api: int, subject: str, times: Occurrences, *partitions: int
    ) -> Failure:
        """An error code that a client gets."""
        failure = Failure(code, api, subject, session)
        failure.seen, failure.partitions = times, set(partitions)
        self.failures[code, api, subject, session.peers.number] = failure
        return failure

    def polls_of(self, session: KafkaConnection, **more: Any) -> Polls:
        return filled(self.polls.setdefault(session.peers.number, Polls()), more)

    def reads(self, session: KafkaConnection, topic: str = "orders", partition: int = 0, **more: Any) -> Fetched:
        return filled(self.fetched.setdefault((session.peers.number, topic, partition), Fetched()), more)

    def writes(
        self, session: KafkaConnection, topic: str = "orders", partition: int = 0, **more: Any
    ) -> PartitionWrites:
        return filled(self.written.setdefault((session.peers.number, topic, partition), PartitionWrites()), more)

    def member(self, member_id: str = "m1", group: str = "sums", *, client_id: str = "shop", **more: Any) -> Member:
        """A member of a group, on a host of its own."""
        entry = self.group(group)
        assert entry is not None
        member = entry.member(member_id, client_id, "10.0.0.1")
        assert member is not None
        entry.clients.setdefault(client_id, Occurrences()).add(mark())
        return filled(member, more)


def filled(one: Any, fields: dict[str, Any]) -> Any:
    """Set fields, none of them new."""
    for name, value in fields.items():
        assert hasattr(one, name), name
        setattr(one, name, value)
    return one


def slow(
    number: int = 1, start: int = 0, first: int = 0, end: int | None = None, *, api: int = 3, held: int = 0,
    acks: int | None = None,
) -> Slow:  # fmt: skip
    """An answer that took long."""
    last = first if end is None else end
    return Slow(mark(number, start, last), api, START + start, START + first, START + last, held, acks)


def unanswered(api: int = 3, version: int = 9, number: int = 1, at: int = 0, size: int = 40, missing: int = 0) -> Any:
    """A request without a response."""
    return Unanswered(mark(number, at), api, version, size, missing, 0)


def happened(group: Group, kind: str, member: str = "m1", code: int = 0, number: int = 1, **times: int) -> None:
    """An event in a group."""
    group.happened(Event(mark(number, **times), kind, member, 1, code))


def sampled(fetched: Fetched, *samples: tuple[int, int, int, int]) -> None:
    """What fetches told of a partition: time, offset, high watermark, last stable offset."""
    for time, *offsets in samples:
        fetched.samples.add(Sample(START + time, *offsets))


def cases(facts: Ledgers, code: str) -> list[Case]:
    """What one rule finds."""
    return list(RULES[code].find(facts))


def amid_others(facts: Facts) -> Facts:
    """Put others in front of what is there, of whom no rule finds anything: clients, a follower, a group, a topic."""
    before = [list(each) for each in dicts(facts)]
    paths = len(facts.held.paths)
    flow = bytes((10, 7, 7, 1, 10, 7, 7, 2)) + FLOW[8:]
    broker = ("10.7.7.2", 9092)
    for client in ("other", "other-follower", "other-again"):
        session = facts.client(client, broker=broker, flow=flow)
        session.heard(mark(900), 18, 3, client, 9)
        session.throttled, session.throttle_ms = seen(), 30
        facts.polls_of(session, replica=9 if client == "other-follower" else -1, requests=seen(), min_bytes=1,
                       max_wait_ms=500, times=[START])  # fmt: skip
        facts.reads(session, "others", requests=seen(), limit=1 << 20)
        facts.writes(session, "others", requests=seen())
        member = facts.member(client, "others", client_id=client)
        member.beats, member.joined = seen(), seen()
        facts.producers.producer(900 + len(facts.sessions))
        facts.producers.transactions_of(client)
        facts.clusters.topic(f"other {client}")
    for each, keys in zip(dicts(facts), before, strict=True):
        for key in keys:
            each[key] = each.pop(key)
    facts.held.paths[:] = facts.held.paths[paths:] + facts.held.paths[:paths]
    return facts


def dicts(facts: Facts) -> list[dict[Any, Any]]:
    """The accounts of a ledger whose order rules see."""
    return [facts.sessions, facts.polls, facts.fetched, facts.written, facts.groups, facts.producers.by_id,
            facts.producers.transactional, facts.clusters.topics]  # fmt: skip


def check(code: str, build: Callable[[Any], Facts], *, found: Iterable[Any], not_found: Iterable[Any]) -> None:
    """Whether a rule finds a cause in what is built with some values, and in what is built with others does not.

    So it is where others come first who do nothing wrong.
    """
    for value in found:
        assert cases(build(value), code), (code, value)
        assert cases(amid_others(build(value)), code), (code, value)
    for value in not_found:
        assert not cases(build(value), code), (code, value)
        assert not cases(amid_others(build(value)), code), (code, value)
