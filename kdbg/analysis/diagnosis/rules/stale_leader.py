"""A client goes on sending to a broker that does not lead the partition any more, without asking who does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.kinds import Severity
from ....protocol.grammars.errors import error_name
from ..case import Case, Rule
from ..queries import Failures, evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (6, 74)
"""NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH."""
OFTEN = 8
REFRESHES = 0.25
"""Requests for metadata to an error, at most, of a client that does not look who leads."""


def find(book: Ledgers) -> Iterator[Case]:
    """Look for many such errors to a client that asks for metadata seldom, or never."""
    for one in failures(book, CODES, (0, 1, 2)):
        times = book.clusters.refreshed.get(one.client_id) or ()
        asked = sum(one.seen.since <= time <= one.seen.until for time in times)
        if one.client_id.startswith("broker-") or one.seen.count < OFTEN or asked > REFRESHES * one.seen.count:
            continue
        yield rule.case(
            who(one.session, topic=one.subject, partition=one.partitions[0] if one.partitions else None),
            one.seen.since, one.seen.until, one.seen.count, evidence(one.seen, "error_code"),
            facts={"asked": asked, "current": leader_since(book, one), "error": error_name(one.code)},
            weight=2.2,
        )  # fmt: skip


def leader_since(book: Ledgers, one: Failures) -> str:
    """Return who leads a partition since the first error: who takes what others write, or who metadata names."""
    number = one.partitions[0] if one.partitions else -1
    for (connection, topic, partition), written in book.written.items():
        session = book.sessions[connection]
        if (topic, partition) != (one.subject, number) or session.broker == one.session.broker:
            continue
        refused = sum(seen.count for seen in written.errors.values())
        if written.requests.until > one.seen.since and written.requests.count > refused:
            return f"broker {endpoint(session.broker)}"
    known = book.clusters.topics.get(one.subject)
    led = known.partitions.get(number) if known is not None else None
    node = book.clusters.node(led[-1].leader) if led and led[-1].time > one.seen.since else None
    return f"broker {node[0]}:{node[1]}" if node is not None else "another broker"


rule: Rule = Rule(
    "stale-leader",
    Severity.ERROR,
    "client keeps using the old leader",
    (
        "client {client_id} sends requests for topic {topic} to broker {broker}, which is not "
        "the leader ({current} is): the client receives {error} {times} and sends {asked:Metadata request}"
    ),
    (
        "Upgrade or fix the client: after NOT_LEADER_OR_FOLLOWER it must refresh its metadata and send "
        "to the new leader."
    ),
    "Kafka protocol guide: Metadata",
    find,
    ("the metadata came from a broker that is out of date itself",),
)
