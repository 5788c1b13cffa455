"""Membership of groups: members that lose it, that share what they must not share, or that get nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from typing import Any

from ....protocol.findings import Severity
from ...ledgers import Ledgers
from ...ledgers.evidence import Mark, Occurrences
from ...ledgers.groups import Group, Member
from ..case import Case, Who, rule
from ..queries import MS, SECOND, Failures, by_error, evidence, extent, grouped, who_in
from ..text import UNKNOWN, named
from ..trials import Certainty

UNKNOWN_MEMBER_ID, INVALID_SESSION_TIMEOUT, REBALANCE_IN_PROGRESS, JOIN_GROUP = 25, 26, 27, 11
REASONS = ("poll timeout", "max.poll.interval", "poll interval")
"""What clients give as their reason where they leave because poll() was late."""
LATE_POLL, LATE_HEARTBEAT = 0.85, 0.9
"""Shares of a timeout after which it counts as exceeded."""
AGAIN = 2
LIKE = 3
"""Letters at their beginning that client ids of one program have in common, at least; a word in common is longer."""
WORDS = re.compile(r"[^\W\d_]+")
OFTEN_RELEASED, OFTEN_LEFT, SHORT_STAY = 5, 3, 15 * SECOND


def late(book: Ledgers, group: Group, member: Member) -> tuple[Certainty, tuple[Mark, ...], int] | None:
    """Return how sure it is that a member did not poll in time, the exchanges that tell, and when it stopped."""
    limit = LATE_POLL * member.rebalance_timeout_ms * MS
    if member.left is not None and not member.left_by_other:
        if any(one in member.reason.lower() for one in REASONS):
            return "certain", (member.left,), member.left.time
        last = last_fetch(book, member, member.left.time)
        idle = last and member.left.time - last >= limit > 0
        sessions = (book.sessions.get(number) for number in member.connections)
        paths = (session.path for session in sessions if session is not None and session.path is not None)
        stays = all(path.closes[0].time >= member.left.time + 200 * MS for path in paths if path.closes)
        if not member.reason and idle and stays:
            return "likely", (member.left,), last
    if (gone := came_back(book, group, member)) is not None:
        return gone[0], (gone[1],), gone[1].time
    refused = member.errors.get(REBALANCE_IN_PROGRESS)
    if refused is None or refused.count < 2:
        return None
    again = member.joined.last
    if again is not None and again.time > refused.since:
        return None
    waited = [
        event.mark
        for event in group.events
        if event.kind == "join" and event.member_id != member.member_id and not event.code
        and event.mark.end - event.mark.time >= limit > 0 and event.mark.end >= refused.since
    ]  # fmt: skip
    return ("likely", (*refused.marks[:2], waited[0]), refused.since) if waited else None


def came_back(book: Ledgers, group: Group, member: Member) -> tuple[Certainty, Mark] | None:
    """Return where a member left by itself and its client joined again on the same connection, after a poll was due.

    It is a guess where the capture begins after the first of both joins, so that the delay is unknown.
    """
    joins = [mark for one in group.members.values() if one.client_id == member.client_id for mark in one.joined.marks]
    for left in member.lefts:
        before = [mark.end for mark in joins if mark.connection == left.connection and mark.time < left.time]
        again = any(mark.connection == left.connection and mark.time > left.time for mark in joins)
        if before and again and left.time - max(before) >= LATE_POLL * member.rebalance_timeout_ms * MS > 0:
            return "likely", left
        session = book.sessions.get(left.connection)
        if again and not before and session is not None and not session.opened:
            return "guess", left
    return None


def last_fetch(book: Ledgers, member: Member, until: int) -> int:
    """Return when a member's client fetched last; 0 where that was later than `until`, or never."""
    times = [
        polls.times[-1]
        for number, polls in book.polls.items()
        if polls.times and book.sessions[number].client_id == member.client_id
        and book.sessions[number].peers.client[0] == member.host and polls.times[-1] <= until
    ]  # fmt: skip
    return max(times, default=0)


@rule(
    "max-poll-interval-exceeded",
    "group membership",
    title="max.poll.interval.ms exceeded",
    sentence="client {client_id} {probably}did not call poll() within max.poll.interval.ms ({interval!d}) and lost "
    "its membership in group {group}: its partitions are reassigned or stay unassigned",
    advice="Find out what blocks the poll loop. Process records in another thread (pause() and resume()), lower "
    "max.poll.records, or raise max.poll.interval.ms.",
    document="KIP-62",
    alternatives=("the process was suspended for a while",),
    explains={"commit-after-leaving-group", "offset-commit-failing", "consumer-too-slow", "consumer-paused",
              "session-timeout-too-short"},
)  # fmt: skip
def max_poll_interval_exceeded(book: Ledgers) -> Iterator[Case]:
    """Look for such members, by group."""
    for group in book.groups.values():
        found = ((member, what) for member in group.known_members() if (what := late(book, group, member)) is not None)
        for all in grouped(found, lambda one: one[0].client_id).values():
            member, (certainty, _, since) = all[0]
            marks = [mark for _, (_, marks, _) in all for mark in marks]
            limits = [one.rebalance_timeout_ms for one in group.members.values() if one.client_id == member.client_id]
            yield max_poll_interval_exceeded.case(
                who_in(group, member), since, marks[-1].end, len(all),
                evidence(marks, "reason", "rebalance_timeout_ms"),
                facts={"interval": max(limits, default=0) * MS}, certainty=certainty, weight=2.6,
            )  # fmt: skip


@rule(
    "session-timeout-too-short",
    "group membership",
    title="session.timeout.ms exceeded",
    sentence="client {client_id} sent nothing to the coordinator of group {group} for {pause!d}, longer than its "
    "session.timeout.ms of {timeout!d}: the coordinator {probably}removed the client from the group",
    advice="Raise session.timeout.ms (default 45 s; at least three times heartbeat.interval.ms and no less than the "
    "broker's group.min.session.timeout.ms), or find out what stalls the client.",
    document="KIP-735",
    alternatives=("the process, its host or its network was suspended for a while",),
    explains={"commit-after-leaving-group", "offset-commit-failing", "consumer-paused"},
)
def session_timeout_too_short(book: Ledgers) -> Iterator[Case]:
    """Look for members that are unknown after a pause, and for timeouts that the broker refuses."""
    for group in book.groups.values():
        for member in group.members.values():
            unknown = member.errors.get(UNKNOWN_MEMBER_ID)
            pause, since = member.longest_pause
            timeout = member.session_timeout_ms * MS
            before = member.left is not None and unknown is not None and member.left.time <= unknown.since
            if unknown is None or not timeout or pause < LATE_HEARTBEAT * timeout or before:
                continue
            yield session_timeout_too_short.case(
                who_in(group, member), since, unknown.until, unknown.count,
                evidence(unknown, "session_timeout_ms", "error_code"),
                facts={"timeout": timeout, "pause": pause}, certainty="likely", weight=2.3,
            )  # fmt: skip
        yield from forgotten(group)
        refused = group.errors.get((JOIN_GROUP, INVALID_SESSION_TIMEOUT))
        if refused is not None:
            first = next(iter(group.members.values()), None)
            yield _rejected.case(
                Who(next(iter(group.clients), None), group=group.name),
                *extent(refused, "session_timeout_ms", "error_code"),
                facts={"timeout": first.session_timeout_ms * MS if first is not None else 0}, weight=2.3,
            )  # fmt: skip


def forgotten(group: Group) -> Iterator[Case]:
    """Yield the clients that joined again and again under new ids, each time after a pause that is too long."""
    unknown = Occurrences.of(seen for (_, code), seen in group.errors.items() if code == UNKNOWN_MEMBER_ID)
    if not unknown:
        return
    joined = (member for member in group.known_members() if member.joined)
    for members in grouped(joined, lambda one: one.client_id).values():
        pauses = [
            (other.joined.since - one.last_sign, one)
            for one, other in pairwise(members)
            if one.left is None and one.connections & other.connections
            and other.joined.since - one.last_sign >= LATE_HEARTBEAT * one.session_timeout_ms * MS > 0
        ]  # fmt: skip
        if len(pauses) < AGAIN:
            continue
        pause, member = max(pauses, key=lambda found: found[0])
        yield session_timeout_too_short.case(
            who_in(group, member), member.last_sign, unknown.until, len(pauses),
            evidence(unknown, "session_timeout_ms", "error_code"),
            {"timeout": member.session_timeout_ms * MS, "pause": pause}, certainty="likely", weight=2.3,
        )  # fmt: skip


_rejected = session_timeout_too_short._replace(
    sentence="the coordinator of group {group} rejects the session.timeout.ms of {timeout!d} of client {client_id}: "
    "INVALID_SESSION_TIMEOUT, {times}",
    advice="Set session.timeout.ms between group.min.session.timeout.ms and group.max.session.timeout.ms of the "
    "broker, or change these limits.",
)


@rule(
    "group-id-shared",
    "group membership",
    title="unrelated consumers share a group.id",
    sentence="client {client_id} with {topics} and client {other} with {others} share group {group}: they are "
    "{probably}different applications, and each rebalance of one interrupts the other",
    advice="Set a different group.id for each application.",
    document="Consumer configs: group.id",
    alternatives=("one application subscribes to several topics deliberately",),
    explains={"idle-consumers"},
    severity=Severity.WARNING,
)
def group_id_shared(book: Ledgers) -> Iterator[Case]:
    """Look for groups whose members subscribe to topics that have nothing in common."""
    for group in book.groups.values():
        members = list({member.client_id: member for member in group.known_members() if member.topics}.values())
        pairs = (
            pair for pair in combinations(members, 2)
            if together(*pair) and (subscriptions_differ(*pair) or unlike(*(one.client_id for one in pair)))
        )  # fmt: skip
        pair = next(pairs, None)
        if pair is None:
            continue
        one, other = pair
        marks = [mark for member in pair for mark in (*member.joined.marks[:2], *member.beats.marks[:1])]
        yield group_id_shared.case(
            who_in(group, one, topic=one.topics[0]), min(mark.time for mark in marks), max(mark.end for mark in marks),
            len(members), evidence(marks, "group_id", "topics"), weight=2.0,
            facts={"other": other.client_id or UNKNOWN["client_id"], "topics": named("topic", one.topics),
                   "others": named("topic", other.topics)},
            certainty="likely" if subscriptions_differ(one, other) else "guess",
        )  # fmt: skip


def together(one: Member, other: Member) -> bool:
    """Return whether two members belonged to a group at the same time."""
    first = min((mark.time for mark in (*one.joined.marks, *one.beats.marks)), default=0)
    second = min((mark.time for mark in (*other.joined.marks, *other.beats.marks)), default=0)
    return bool(first and second) and one.last_sign >= second and other.last_sign >= first


def subscriptions_differ(one: Member, other: Member) -> bool:
    """Return whether two members subscribe to topics that have nothing in common."""
    return not set(one.topics) & set(other.topics)


def unlike(one: str, other: str) -> bool:
    """Return whether two client ids were given for different programs: they do not begin alike, nor share a word."""
    words = [{word for word in WORDS.findall(name.casefold()) if len(word) > LIKE} for name in (one, other)]
    return bool(one and other) and one[:LIKE].casefold() != other[:LIKE].casefold() and not words[0] & words[1]


def offers_of(book: Ledgers, one: Failures) -> Mapping[str, Any]:
    """Return the assignment strategies that a client offers in a group."""
    found = book.groups.get(one.subject)
    members = [member for member in found.members.values() if member.client_id == one.client_id] if found else []
    known = ", ".join(members[-1].protocols) if members else ""
    return {"offers": known or "not in the capture"}


inconsistent_group_protocol = by_error(
    "inconsistent-group-protocol",
    "group membership",
    title="group members have no assignor in common",
    sentence="the coordinator rejects client {client_id} in group {group} with INCONSISTENT_GROUP_PROTOCOL, {times}: "
    "the other members support none of the client's assignors ({offers})",
    advice="Set a common partition.assignment.strategy on all members of group {group}, and use another group.id for "
    "other kinds of clients.",
    document="KIP-429",
    errors=(23,),  # INCONSISTENT_GROUP_PROTOCOL
    subject="group",
    weight=2.5,
    facts=offers_of,
)


def instance_of(book: Ledgers, one: Failures) -> Mapping[str, Any]:
    """Return the instance id that two members of a group share, as the sentence has it; "" where it is not known."""
    found = book.groups.get(one.subject)
    ids = [member.instance_id for member in found.members.values() if member.instance_id] if found is not None else []
    twice = [name for name in ids if ids.count(name) > 1]
    return {"instance": f" {(twice or ids)[0]}" if ids else ""}


@rule(
    "share-records-released",
    "records",
    title="share group releases its records again and again",
    sentence="client {client_id} releases records of topic {topic} in share group {group}, {times}, and accepted "
    "{accepted:record}: the records are delivered again and again",
    advice="Find out why the handler of client {client_id} fails; reject records that cannot be processed, so that "
    "they are not delivered again before group.share.delivery.count.limit.",
    document="KIP-932",
)
def share_records_released(book: Ledgers) -> Iterator[Case]:
    """Look for share groups that release often, and accept next to nothing."""
    for group in book.groups.values():
        for topic, seen in group.released.items():
            if seen.count >= OFTEN_RELEASED and group.acknowledged < seen.count:
                client = max(group.clients, key=lambda name: group.clients[name].count, default=None)
                yield share_records_released.case(
                    Who(client, topic=topic, group=group.name), *extent(seen, "acknowledge_types"),
                    facts={"accepted": group.acknowledged}, weight=2.5,
                )  # fmt: skip


@rule(
    "short-lived-members",
    "group membership",
    title="short-lived members keep a group rebalancing",
    sentence="client {client_id} joins group {group} and leaves it within {stay!d}, {times}: each time the group "
    "rebalances, and its other members ({others}) stop",
    advice="Set another group.id for client {client_id}, or have it assign partitions without a group (assign, or "
    "kcat without -G).",
    document="KIP-415; Kafka documentation, Consumers",
    explains={"group-id-shared", "client-timeout-below-max-wait", "connection-churn", "error-response",
              "consumer-too-slow"},
)  # fmt: skip
def short_lived_members(book: Ledgers) -> Iterator[Case]:
    """Look for clients whose members come and go in a group that others stay in."""
    for group in book.groups.values():
        joined = grouped((one for one in group.known_members() if one.joined), lambda one: one.client_id)
        stays = {client: [one.last_sign - one.joined.since for one in all] for client, all in joined.items()}
        for client, members in joined.items():
            left = [one for one in members if one.left is not None]
            longest = max(stays[client])
            others = [name for name, times in stays.items() if name != client and max(times) > 3 * longest]
            if len(left) < OFTEN_LEFT or longest > SHORT_STAY or not others:
                continue
            seen = Occurrences.of(one.joined for one in members)
            yield short_lived_members.case(
                who_in(group, members[0]), *extent(seen, "member_id"), weight=2.5,
                facts={"stay": longest, "others": named("client", others)},
            )  # fmt: skip


static_member_fenced = by_error(
    "static-member-fenced",
    "group membership",
    title="two members use the same group.instance.id",
    sentence="client {client_id} is fenced from group {group}, {times}: another member joined with the same "
    "group.instance.id{instance}",
    advice="Set a different group.instance.id for each running instance, and stop an instance before its replacement "
    "starts.",
    document="KIP-345",
    errors=(82, 111),  # FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID
    subject="group",
    weight=2.5,
    facts=instance_of,
    explains={
        "commit-after-leaving-group",
        "max-poll-interval-exceeded",
        "offset-commit-failing",
        "session-timeout-too-short",
    },
)
