"""A consumer's own loop takes longer than max.poll.interval.ms: it leaves its group by itself, or is late to join."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Certainty, Rule, Who
from ..queries import MS, evidence

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.evidence import Mark
    from ...ledgers.groups import Group, Member

SAID = ("poll timeout", "max.poll.interval", "poll interval")
REBALANCE_IN_PROGRESS, HEARTBEAT, FETCH = 27, 12, 1
SLACK = 0.85


def late(book: Ledgers, group: Group, member: Member) -> tuple[Certainty, tuple[Mark, ...], int] | None:
    """Return how sure it is that a member did not poll in time, the exchanges that tell, and when it stopped."""
    if member.left is not None and not member.left_by_other:
        if any(one in member.reason.lower() for one in SAID):
            return "certain", (member.left,), member.left.time
        last = last_fetch(book, member)
        stopped = member.left.time - last if last else 0
        if not member.reason and last and stopped >= SLACK * member.rebalance_timeout_ms * MS > 0 and lives_on(
            book, member, member.left.time
        ):  # fmt: skip
            return "likely", (member.left,), last
    if (gone := came_back(group, member)) is not None:
        return "likely", (gone,), gone.time
    refused = member.errors.get(REBALANCE_IN_PROGRESS)
    if refused is None or refused.count < 2 or refused.last is None:
        return None
    again = member.joined.last
    if again is not None and again.time > refused.since:
        return None
    waited = [
        event.mark
        for event in group.events
        if event.kind == "join" and event.member_id != member.member_id and not event.code
        and event.mark.end - event.mark.time >= SLACK * member.rebalance_timeout_ms * MS > 0
        and event.mark.end >= refused.since
    ]  # fmt: skip
    return ("likely", (*refused.marks[:2], waited[0]), refused.since) if waited else None


def came_back(group: Group, member: Member) -> Mark | None:
    """Return where a member left by itself and its client joined again on the same connection, after a poll was due."""
    joins = [mark for one in group.members.values() if one.client_id == member.client_id for mark in one.joined.marks]
    for left in member.lefts:
        before = [mark.end for mark in joins if mark.connection == left.connection and mark.time < left.time]
        again = any(mark.connection == left.connection and mark.time > left.time for mark in joins)
        if before and again and left.time - max(before) >= SLACK * member.rebalance_timeout_ms * MS > 0:
            return left
    return None


def last_fetch(book: Ledgers, member: Member) -> int:
    """Return when a member's client fetched last; 0 where it was not seen to."""
    times = [
        polls.times[-1]
        for number, polls in book.polls.items()
        if polls.times and book.sessions[number].client_id == member.client_id
        and book.sessions[number].peers.client[0] == member.host
        and (member.left is None or polls.times[-1] <= member.left.time)
    ]  # fmt: skip
    return max(times, default=0)


def lives_on(book: Ledgers, member: Member, time: int) -> bool:
    """Return whether the connection on which a member left stayed open."""
    for number in member.connections:
        session = book.sessions.get(number)
        if session is not None and session.path is not None:
            closed = session.path.closes
            if closed and closed[0].time < time + 200 * MS:
                return False
    return True


def find(book: Ledgers) -> Iterator[Case]:
    """Look for such members, by group."""
    for group in book.groups.values():
        found: dict[str, list[tuple[Member, Certainty, tuple[Mark, ...], int]]] = {}
        for member in group.known_members():
            what = late(book, group, member)
            if what is not None:
                found.setdefault(member.client_id, []).append((member, *what))
        for client, all in found.items():
            member, certainty, _, since = all[0]
            marks = [mark for _, _, marks, _ in all for mark in marks]
            yield rule.case(
                Who(client or None, member.host or None, group=group.name), since, marks[-1].end, len(all),
                evidence(marks, "reason", "rebalance_timeout_ms"),
                facts={"interval": member.rebalance_timeout_ms * MS}, certainty=certainty, weight=2.6,
            )  # fmt: skip


rule: Rule = Rule(
    "max-poll-interval-exceeded",
    Severity.ERROR,
    "max.poll.interval.ms exceeded",
    (
        "client {client_id} {probably}did not call poll() within max.poll.interval.ms ({interval!d}) and "
        "lost its membership in group {group}: its partitions are reassigned or stay unassigned"
    ),
    (
        "Find out what blocks the poll loop. Process records in another thread (pause() and resume()), "
        "lower max.poll.records, or raise max.poll.interval.ms."
    ),
    "KIP-62",
    find,
    ("the process was suspended for a while",),
    frozenset(
        {"commit-after-leaving-group", "offset-commit-failing", "consumer-too-slow", "consumer-paused",
         "session-timeout-too-short"}
    ),
)  # fmt: skip
