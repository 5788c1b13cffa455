"""A producer skipped sequence numbers: what it numbered was lost before it reached the broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import evidence, failures, who

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
            f"the sequence number on partition {gaps[0].partition} is {gaps[0].found}, expected {gaps[0].expected}"
            if gaps
            else "the batch before it is not in the capture"
        )
        yield rule.case(
            who(one.session, topic=one.subject), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "base_sequence", "error_code"), facts={"gap": said}, weight=2.5,
        )  # fmt: skip


rule: Rule = Rule(
    "producer-sequence-gap",
    Severity.ERROR,
    "gap in producer sequence numbers",
    (
        "broker {broker} rejects a batch of client {client_id} for topic {topic} with "
        "OUT_OF_ORDER_SEQUENCE_NUMBER, {times}: {gap}"
    ),
    (
        "Find out where the client loses a batch: a failed batch without a retry, or "
        "max.in.flight.requests.per.connection (librdkafka: max.in.flight) above 5. Restart it with a "
        "new producer id."
    ),
    "KIP-98, KIP-360",
    find,
    ("the broker lost written records (unclean leader election)",),
)
