"""A partition has no leader, for longer than an election takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule
from ..queries import SECOND, evidence, failures, who
from ..text import named

if TYPE_CHECKING:
    from ...ledgers import Ledgers

LEADER_NOT_AVAILABLE = 5
LONG = 2 * SECOND
OFTEN = 4


def find(book: Ledgers) -> Iterator[Case]:
    """Look for partitions that metadata says to have no leader, to the end of the capture."""
    for one in failures(book, (LEADER_NOT_AVAILABLE,)):
        topic = book.clusters.topics.get(one.subject)
        headless = [number for number, led in topic.partitions.items() if led[-1].leader < 0] if topic else []
        lasting = one.seen.until - one.seen.since >= LONG and one.seen.count >= OFTEN
        if not lasting or (topic is not None and not headless):
            continue
        seen = Occurrences.of(failure.seen for failure in one.all)
        yield rule.case(
            who(one.session, topic=one.subject or None, partition=headless[0] if headless else None),
            seen.since, seen.until, seen.count, evidence(seen, "leader_id", "isr_nodes", "offline_replicas"),
            facts={"partitions": named("partition", headless)}, weight=2.5,
        )  # fmt: skip


rule: Rule = Rule(
    "partition-offline",
    Severity.ERROR,
    "partition has no leader",
    (
        "topic {topic} has no leader for {partitions}: broker {broker} responds with "
        "LEADER_NOT_AVAILABLE, {times}, and client {client_id} can neither write nor read there"
    ),
    (
        "Restart a broker with an in-sync replica. unclean.leader.election.enable=true elects another "
        "replica, but loses the records that only the missing broker has."
    ),
    "Kafka documentation, Replication: unclean leader election",
    find,
)
