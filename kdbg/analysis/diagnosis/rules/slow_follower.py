"""Writes with acks=all wait for a follower that does not fetch, while the leader answers everything else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule, Who
from ..queries import MS, SECOND, evidence

if TYPE_CHECKING:
    from ....exchanges.messages.peers import End
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection, Slow

PRODUCE, ALL = 0, -1
LATE = 500 * MS
WORST = 1500 * MS
"""Less than that happens while a leader changes."""
FEW = 3
PAUSE = SECOND


def pauses(book: Ledgers, leader: End, since: int, until: int) -> dict[int, tuple[int, int]]:
    """Return the followers of a leader, by node id: the longest time between two fetches, and when it began."""
    found: dict[int, tuple[int, int]] = {}
    for number, polls in book.polls.items():
        session = book.sessions[number]
        if polls.replica < 0 or session.broker != leader:
            continue
        times = [time for time in polls.times if since - 2 * SECOND <= time <= until + 2 * SECOND]
        ends = [*times, until] if times and times[-1] < until else times
        for one, other in pairwise(ends):
            if other - one > found.get(polls.replica, (0, 0))[0]:
                found[polls.replica] = other - one, one
    return found


def find(book: Ledgers) -> Iterator[Case]:
    """Look for slow writes with acks=all on brokers that answer other requests meanwhile."""
    by_broker: dict[End, list[tuple[KafkaConnection, Slow]]] = {}
    for session in book.sessions.values():
        for slow in session.slow:
            if slow.api_key == PRODUCE and slow.acks == ALL and slow.first - slow.start >= LATE:
                by_broker.setdefault(session.broker, []).append((session, slow))
    for broker, all in by_broker.items():
        since, until = min(slow.start for _, slow in all), max(slow.first for _, slow in all)
        if len(all) < FEW or max(slow.first - slow.start for _, slow in all) < WORST:
            continue
        seen = Occurrences()
        for _, slow in all:
            seen.add(slow.mark)
        followers = pauses(book, broker, since, until)
        longest = max(followers, key=lambda node: followers[node][0], default=None)
        paused = longest is not None and followers[longest][0] >= PAUSE
        answers_others = any(
            session.broker == broker and any(key != PRODUCE and use.seen.since < until and use.seen.until > since
                                             for key, use in session.apis.items())
            for session in book.sessions.values()
        )  # fmt: skip
        if not answers_others or (followers and not paused):
            continue
        node = book.clusters.node(longest) if longest is not None else None
        session = all[0][0]
        topics = [topic for (number, topic, _) in book.written if number == session.peers.number]
        slowest = f"broker {longest}" if longest is not None else "a follower (not in the capture)"
        waited = max(slow.first - slow.start for _, slow in all)
        yield rule.case(
            Who(session.client_id or None, session.peers.client[0],
                f"{node[0]}:{node[1]}" if node is not None else endpoint(broker), topics[0] if topics else None),
            since, until, len(all), evidence(seen, "acks", "latency"),
            facts={"longest": waited, "follower": slowest, "leader": endpoint(broker),
                   "pause": followers[longest][0] if longest is not None else waited,
                   "checked": f"broker {longest}" if longest is not None else "the followers"},
            certainty="certain" if paused else "guess", weight=2.6,
            severity=Severity.ERROR if paused else Severity.WARNING,
        )  # fmt: skip


rule: Rule = Rule(
    "slow-follower",
    Severity.ERROR,
    "slow follower delays acks=all",
    (
        "{count:write} of client {client_id} with acks=all waited up to {longest!d} on leader {leader}, "
        "which responded to other requests meanwhile: {follower} {probably}did not fetch for {pause!d}"
    ),
    (
        "Check process, disk and network of {checked}; replica.lag.time.max.ms limits how long a "
        "follower can delay writes."
    ),
    "KIP-16; Broker configs: replica.lag.time.max.ms",
    find,
    ("the leader's disk is slow",),
    frozenset({"head-of-line-blocking"}),
)
