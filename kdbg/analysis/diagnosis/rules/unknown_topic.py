"""A client asks for a topic that is not there, and goes on asking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule
from ..queries import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID = 3, 100
METADATA = 3
ASKING = (0, 1, 2, 3, 9, 23)
"""Produce, Fetch, ListOffsets, Metadata, OffsetFetch, OffsetForLeaderEpoch."""
OFTEN = 3


def find(book: Ledgers) -> Iterator[Case]:
    """Look for topics that were asked for again and again and never there."""
    for one in failures(book, (UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID), ASKING):
        topic = book.clusters.topics.get(one.subject)
        if topic is not None and topic.found and topic.found.until >= one.seen.until:
            continue
        often = one.seen.count >= OFTEN
        seen = Occurrences.of(failure.seen for failure in one.all)
        yield rule.case(
            who(one.session, topic=one.subject or None), seen.since, seen.until, seen.count,
            evidence(seen, "error_code"), weight=2.0 if often else 1.0,
            severity=Severity.ERROR if often else Severity.WARNING,
        )  # fmt: skip


rule: Rule = Rule(
    "unknown-topic",
    Severity.ERROR,
    "topic does not exist",
    "client {client_id} requests topic {topic}, which broker {broker} reports as unknown, {times}",
    (
        "Check the topic name and that bootstrap.servers points to the right cluster, or create the "
        "topic; until then the client retries."
    ),
    "Kafka protocol guide: Metadata",
    find,
    (
        "the client is connected to the wrong cluster",
        "the topic was deleted",
        "the client is not authorized to describe the topic",
    ),
)
