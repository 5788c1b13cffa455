"""A consumer takes less at a time than a batch has: each fetch brings one batch, or none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

OFTEN = 5
MOSTLY = 0.5
SMALL = 256 << 10


def find(book: Ledgers) -> Iterator[Case]:
    """Look for partitions of which fetches bring more than was asked for, most of the time."""
    told = set[tuple[str, str]]()
    for (number, topic, partition), fetched in book.fetched.items():
        session = book.sessions[number]
        polls = book.polls.get(number)
        if (session.client_id, topic) in told or (polls is not None and polls.replica >= 0):
            continue
        data, over = fetched.with_data.count, fetched.oversized.count
        if over < OFTEN or over < MOSTLY * data or fetched.limit > SMALL:
            continue
        told.add((session.client_id, topic))
        yield rule.case(
            who(session, topic=topic, partition=partition), fetched.oversized.since, fetched.oversized.until, over,
            evidence(fetched.oversized, "partition_max_bytes"),
            facts={"limit": fetched.limit, "mean": fetched.bytes // max(data, 1)},
        )  # fmt: skip


rule: Rule = Rule(
    "fetch-size-too-small",
    Severity.WARNING,
    "a fetch that has no room for a batch",
    "{client_id} takes {limit:,} bytes of a partition of topic {topic} at a time, and its batches are larger "
    "({mean:,} "
    "bytes on average): every fetch brings one batch, {times}",
    "Raise max.partition.fetch.bytes (fetch.message.max.bytes) above the size of the batches; 1048576 is the "
    "default. "
    "Versions of Fetch up to 2 stop at such a batch for good.",
    "KIP-74",
    find,
)
