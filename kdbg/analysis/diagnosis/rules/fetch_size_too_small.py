"""A consumer takes less at a time than a batch has: each fetch brings one batch, or none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule
from ..queries import evidence, who
from .poison_record import PARTIAL

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.flows import Fetched

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
        partial = session.used(1).versions.keys() <= PARTIAL and fetched.stuck.count >= OFTEN
        if not partial and (over < OFTEN or over < MOSTLY * data or fetched.limit > SMALL):
            continue
        told.add((session.client_id, topic))
        yield rule.case(
            who(session, topic=topic, partition=partition), *seen_of(fetched, partial=partial),
            facts={"limit": fetched.limit,
                   "what": "no response contains a complete batch" if partial else "every response contains one batch"},
            severity=Severity.ERROR if partial else Severity.WARNING,
        )  # fmt: skip


def seen_of(fetched: Fetched, *, partial: bool) -> tuple[int, int, int, Evidence]:
    """Return since and until when it was seen, how often, and where."""
    seen = fetched.stuck if partial else fetched.oversized
    return seen.since, seen.until, seen.count, evidence(seen, "partition_max_bytes")


rule: Rule = Rule(
    "fetch-size-too-small",
    Severity.WARNING,
    "fetch size smaller than a batch",
    (
        "client {client_id} fetches at most {limit:byte} per partition of topic {topic}, and batches are "
        "larger: {what}, {times}"
    ),
    (
        "Raise max.partition.fetch.bytes (librdkafka: fetch.message.max.bytes) above the batch size; the "
        "default is 1048576 bytes. With Fetch v2 and older a consumer cannot get past such a batch."
    ),
    "KIP-74",
    find,
)
