"""A producer skipped sequence numbers: what it numbered was lost before it reached the broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

OUT_OF_ORDER_SEQUENCE_NUMBER = 45


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, and for the number that is missing."""
    for one in failures(book, (OUT_OF_ORDER_SEQUENCE_NUMBER,), (0,)):
        gaps = [
            gap
            for producer in book.producers.by_id.values()
            for gap in producer.gaps
            if gap.topic == one.subject and producer.client_id == one.client_id
        ]
        said = (
            f"expected sequence number {gaps[0].expected} on partition {gaps[0].partition}, got {gaps[0].found}"
            if gaps
            else "the batch before it was not captured"
        )
        yield rule.case(
            who(one.session, topic=one.subject), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "base_sequence", "error_code"), facts={"gap": said}, weight=2.5,
        )  # fmt: skip


rule: Rule = Rule(
    "producer-sequence-gap",
    Severity.ERROR,
    "gap in producer sequence numbers",
    "broker {broker} rejects batches of client {client_id} for topic {topic}, {times}: {gap} "
    "(OUT_OF_ORDER_SEQUENCE_NUMBER)",
    (
        "Find out where the client loses a batch (a failed batch that is not retried, more than "
        "5 requests in flight), and restart with a new producer id."
    ),
    "KIP-98, KIP-360",
    find,
    ("the broker lost written records (unclean leader election)",),
)
