"""Partitions: how they are assigned to the members of groups, and those that no client reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ....exchanges.messages.peers import End
from ....protocol.findings import Severity
from ...ledgers import Ledgers
from ...ledgers.evidence import Mark, Occurrences
from ...ledgers.groups import Group, Member
from ..case import Case, Rule, rule
from ..queries import FEW, SECOND, evidence, extent, is_follower, session_of, who, who_in
from ..text import named

REBALANCE_IN_PROGRESS = 27
LONG = 3 * SECOND
"""How long a group waits for a member until that is reported."""
FEWEST_UNREAD = 5
"""Batches of a partition that no client reads, at least."""


def settled(member: Member, least: int = SECOND) -> bool:
    """Return whether a member kept its last assignment for a while, before it left, if it did."""
    last = member.synced.last
    if last is None:
        return False
    until = member.left.time if member.left is not None else member.last_sign
    return until - last.end >= least


class Idle(NamedTuple):
    """A group in which all partitions are given to some members, and none to the others."""

    group: Group
    living: list[Member]
    idle: list[Member]
    given: int
    topics: list[str]

    def case(self, found: Rule, facts: Mapping[str, Any]) -> Case:
        """Return the case of a rule about the idle members."""
        marks = [member.synced.last for member in self.idle if member.synced.last is not None]
        return found.case(
            who_in(self.group, self.idle[0], topic=self.topics[0] if self.topics else None), marks[0].time,
            max(member.last_sign for member in self.idle), len(self.idle), evidence(marks[:6], "assignment"), facts,
        )  # fmt: skip

    @property
    def names(self) -> str:
        """The clients that were given nothing."""
        return named("client", dict.fromkeys(member.client_id for member in self.idle))


def idle_members(book: Ledgers) -> Iterator[Idle]:
    """Yield groups with members that were given nothing, while all partitions are given to others."""
    for group in book.groups.values():
        living = [member for member in group.known_members() if member.assigned is not None and settled(member)]
        idle = [member for member in living if not member.assigned]
        if len(idle) in (0, len(living)):
            continue
        given = sum(len(partitions) for member in living for partitions in (member.assigned or {}).values())
        topics = sorted({topic for member in living for topic in member.topics})
        exist = sum(len(book.clusters.topics[name].partitions) for name in topics if name in book.clusters.topics)
        counted = bool(topics) and all(name in book.clusters.topics for name in topics)
        if exist <= given and (counted or all(member.joined.count for member in group.known_members())):
            yield Idle(group, living, idle, given, topics)
        # else what was given before the capture began is not known, nor how many partitions there are


@rule(
    "idle-consumers",
    "partition assignment",
    title="more consumers than partitions",
    sentence="group {group} has {members:member} for {partitions:partition} of {topics}: no partition is assigned to "
    "{names}",
    advice="Add partitions to {topics}, or run at most {partitions:consumer} in group {group}.",
    document="Kafka documentation, Consumers",
    alternatives=("standby consumers are kept deliberately",),
    severity=Severity.WARNING,
)
def idle_consumers(book: Ledgers) -> Iterator[Case]:
    """Look for members without a partition in groups that have fewer partitions than members."""
    for one in idle_members(book):
        if len(one.living) > one.given:
            yield one.case(idle_consumers, {"members": len(one.living), "partitions": one.given, "names": one.names,
                                            "topics": named("topic", one.topics)})  # fmt: skip


@rule(
    "assignment-skewed",
    "partition assignment",
    title="some members get no partition",
    sentence="group {group} has {members:member} and {partitions:partition} of {topics}, but assignor {strategy} "
    "assigns no partition to {names}",
    advice="Set partition.assignment.strategy to the cooperative sticky or round-robin assignor, which distribute the "
    "partitions of all topics evenly.",
    document="Consumer configs: partition.assignment.strategy",
    alternatives=("a custom assignor prefers some members deliberately",),
    severity=Severity.WARNING,
)
def assignment_skewed(book: Ledgers) -> Iterator[Case]:
    """Look for members without a partition in groups that have enough partitions for all."""
    for one in idle_members(book):
        if len(one.living) <= one.given and all(settled(member, LONG) for member in one.living):
            offered = next(member.protocols for member in one.living if member.assigned)
            yield one.case(assignment_skewed, {"members": len(one.living), "partitions": one.given, "names": one.names,
                                               "topics": named("topic", one.topics),
                                               "strategy": next(iter(offered), "of the coordinator")})  # fmt: skip


@rule(
    "pattern-without-topic",
    "partition assignment",
    title="subscription matches no topic",
    sentence="client {client_id} requests the metadata of all topics, {times}, and subscribes to none in group "
    "{group}: the pattern of its subscription {probably}matches no topic",
    advice="Correct the pattern of the subscription, and check that the topics exist and that the client may describe "
    "them.",
    document="Consumer API: subscribe(Pattern)",
    alternatives=("an ACL hides the topics from the client",),
)
def pattern_without_topic(book: Ledgers) -> Iterator[Case]:
    """Look for clients of a group that ask for all topics again and again, and are given none to read."""
    reading = {book.sessions[number].client_id for number, _, _ in book.fetched}
    for group in book.groups.values():
        for client in group.clients:
            seen = book.clusters.all_topics.get(client)
            members = [member for member in group.members.values() if member.client_id == client]
            if seen is None or seen.count < FEW or client in reading:
                continue
            if not any(member.assigned or member.subscribes for member in members):
                yield pattern_without_topic.case(
                    who(session_of(book, client), group=group.name), *extent(seen, "topics"), certainty="likely",
                    weight=2.0,
                )  # fmt: skip


def waiting(group: Group) -> Iterator[tuple[Member, list[Mark], Mark]]:
    """Yield members that go on with heartbeats while a group rebalances, these, and the longest JoinGroup meanwhile."""
    for member in group.known_members():
        beats: list[Mark] = []
        for event in group.events:
            if event.member_id != member.member_id:
                continue
            if event.kind == "heartbeat" and event.code == REBALANCE_IN_PROGRESS:
                beats.append(event.mark)
                continue
            if event.kind != "heartbeat" and len(beats) >= FEW and beats[-1].end - beats[0].time >= LONG:
                break
            beats = []
        if len(beats) < FEW or beats[-1].end - beats[0].time < LONG:
            continue
        joins = [
            event.mark
            for event in group.events
            if event.kind == "join" and event.member_id != member.member_id
            and event.mark.time < beats[-1].time and event.mark.end - max(event.mark.time, beats[0].time) >= SECOND
        ]  # fmt: skip
        if joins:
            yield member, beats, max(joins, key=lambda mark: mark.end - mark.time)


@rule(
    "rebalance-blocked",
    "group membership",
    title="group waits for a member",
    sentence="group {group} waits {waited!d} for client {client_id} to rejoin, which sends heartbeats but does not "
    "call poll(); client {other} gets no response to its JoinGroup request meanwhile",
    advice="Lower max.poll.records, or process records in another thread, so that client {client_id} polls more often. "
    "The new group protocol (KIP-848) does not wait for members.",
    document="KIP-62, KIP-848",
    severity=Severity.WARNING,
)
def rebalance_blocked(book: Ledgers) -> Iterator[Case]:
    """Look for members that get REBALANCE_IN_PROGRESS again and again, while others wait to join."""
    for group in book.groups.values():
        for member, beats, join in waiting(group):
            other = book.sessions[join.connection].client_id
            yield rebalance_blocked.case(
                who_in(group, member), beats[0].time, join.end, len(beats), evidence([join, *beats[:5]], "error_code"),
                {"waited": join.end - max(join.time, beats[0].time), "other": other}, weight=1.8,
            )  # fmt: skip


@rule(
    "partitions-not-consumed",
    "partition assignment",
    title="partitions that no client reads",
    sentence="client {client_id} reads {count:partition} of topic {topic}, but no client reads {unread}: the "
    "records of client {writer} are {probably}not processed there",
    advice="Use subscribe(), which assigns all partitions, or assign the other partitions of topic {topic} to a client "
    "as well.",
    document="Consumer API: assign",
    alternatives=("another client reads them outside the capture",),
    severity=Severity.WARNING,
)
def partitions_not_consumed(book: Ledgers) -> Iterator[Case]:
    """Look for partitions that are written, and not read, at a broker where others of their topic are read."""
    members = {member.client_id for group in book.groups.values() for member in group.members.values()}
    read: dict[tuple[str, End], dict[int, list[Occurrences]]] = {}
    readers: dict[tuple[str, End], set[str]] = {}
    for (number, topic, partition), fetched in book.fetched.items():
        session = book.sessions[number]
        if not is_follower(book, number):
            read.setdefault((topic, session.broker), {}).setdefault(partition, []).append(fetched.requests)
            readers.setdefault((topic, session.broker), set()).add(session.client_id)
    written: dict[tuple[str, End], dict[int, tuple[str, int]]] = {}
    for (number, topic, partition), one in book.written.items():
        session = book.sessions[number]
        last = one.requests.last
        if one.batches >= FEWEST_UNREAD and last is not None and last.time - one.requests.since >= LONG:
            written.setdefault((topic, session.broker), {})[partition] = session.client_id, last.time
    for place, partitions in read.items():
        clients, seen = readers[place], Occurrences.of(one for some in partitions.values() for one in some)
        unread = sorted(number for number, (_, last) in written.get(place, {}).items()
                        if number not in partitions and last < seen.until + LONG)  # fmt: skip
        if unread and len(clients) == 1 and not clients & members and partitions.keys() & written[place].keys():
            yield partitions_not_consumed.case(
                who(session_of(book, next(iter(clients))), topic=place[0]), seen.since, seen.until, len(partitions),
                evidence(seen, "partitions.partition"),
                {"unread": named("partition", unread), "writer": written[place][unread[0]][0]}, certainty="likely",
                weight=1.4,
            )  # fmt: skip
