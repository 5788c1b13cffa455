"""A consumer falls behind what is written: its lag grows, and between fetches it is busy with itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import SECOND, evidence, who
from .offset_out_of_range_data_loss import group_of

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.flows import Fetched

MANY = 50
LONG = 2 * SECOND
GROWTH = 2.0
IDLE = 0.5


def lags(fetched: Fetched) -> tuple[int, int] | None:
    """Return the lag at the beginning and at the end, in offsets; None where it does not grow."""
    samples = fetched.samples
    first, last = samples.first, samples.last
    if first is None or last is None or last.time - first.time < LONG or len(samples.found) < 3:
        return None
    middle = samples.found[len(samples.found) // 2]
    before, then, now = (one.high_watermark - one.offset for one in (first, middle, last))
    if now < MANY or now < GROWTH * max(before, 1) or not before <= then <= now:
        return None
    return before, now


def find(book: Ledgers) -> Iterator[Case]:
    """Look for partitions whose lag grows while their consumer pauses between fetches."""
    told = set[tuple[str, str]]()
    for (number, topic, partition), fetched in book.fetched.items():
        session, polls = book.sessions[number], book.polls.get(number)
        grown = lags(fetched)
        if grown is None or polls is None or polls.replica >= 0 or (session.client_id, topic) in told:
            continue
        first, last = fetched.samples.first, fetched.samples.last
        if first is None or last is None:
            continue
        idle = polls.idle / max(last.time - first.time, 1)
        if idle < IDLE:
            continue
        told.add((session.client_id, topic))
        yield rule.case(
            who(session, topic=topic, partition=partition, group=group_of(book, session.client_id)), first.time,
            last.time, fetched.requests.count, evidence(fetched.requests, "high_watermark", "fetch_offset"),
            facts={"before": grown[0], "now": grown[1], "idle": min(idle, 1.0)}, certainty="likely", weight=1.5,
        )  # fmt: skip


rule: Rule = Rule(
    "consumer-too-slow",
    Severity.WARNING,
    "consumer lag grows",
    (
        "the lag of client {client_id} on topic {topic} grew from {before:,} to {now:record}, and "
        "{idle:.0%} of the time no Fetch request was in flight: the client {probably}processes records "
        "too slowly"
    ),
    (
        "Find out what slows down the processing between two polls. Process records in batches or "
        "threads, or add consumers, up to the number of partitions."
    ),
    "Kafka documentation, Monitoring: consumer lag",
    find,
    ("the consumer is paused deliberately",),
)
