"""A transaction stays open: consumers with read_committed get nothing behind its first record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import SECOND, evidence, who
from ..text import UNKNOWN, named

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.flows import Samples
    from ...ledgers.producers import Transactional
    from ...ledgers.sessions import KafkaConnection

LONG = 2 * SECOND
READ_COMMITTED = 1


def held_since(samples: Samples) -> int | None:
    """Return since when the last stable offset has not moved though the partition has more; None where it moves."""
    last = samples.last
    if last is None or last.high_watermark <= last.stable:
        return None
    since = last.time
    for sample in reversed(samples.found):
        if sample.stable != last.stable or sample.high_watermark <= sample.stable:
            break
        since = sample.time
    return since


def find(book: Ledgers) -> Iterator[Case]:
    """Look for partitions whose last stable offset stands still to the end, below the high watermark."""
    told = set[tuple[str, int]]()
    for (number, topic, partition), fetched in book.fetched.items():
        if fetched.isolation != READ_COMMITTED or (topic, partition) in told:
            continue
        since, last = held_since(fetched.samples), fetched.samples.last
        if since is None or last is None or last.time - since < LONG:
            continue
        told.add((topic, partition))
        open_ones = [
            txn
            for txn in book.producers.transactional.values()
            if txn.transactions and txn.transactions[-1].ended is None
        ]
        writer = open_ones[0] if len(open_ones) == 1 else None
        session = book.sessions[number]
        name = writer.begun[-1].client_id if writer is not None and writer.begun else ""
        yield rule.case(
            who(writer_of(book, writer) or session, topic=topic, partition=partition,
                transactional_id=writer.name if writer is not None else None),
            since, last.time, fetched.requests.count,
            evidence(fetched.requests, "last_stable_offset", "high_watermark"),
            facts={"reader": session.client_id or UNKNOWN["client_id"], "stable": last.stable,
                   "behind": last.high_watermark - last.stable,
                   "writer": f"{named('client', [name])} (transactional id {writer.name})" if writer is not None
                   else "an unknown producer"},
            certainty="certain" if writer is not None else "likely", weight=2.5,
        )  # fmt: skip


def writer_of(book: Ledgers, writer: Transactional | None) -> KafkaConnection | None:
    """Return the connection of a producer."""
    return book.sessions.get(writer.begun[-1].mark.connection) if writer is not None and writer.begun else None


rule: Rule = Rule(
    "hanging-transaction",
    Severity.ERROR,
    "transaction stays open",
    (
        "topic {topic}, partition {partition} {probably}has an open transaction of {writer}: the last "
        "stable offset stays at {stable}, so client {reader} cannot read {behind:offset} after it with "
        "read_committed"
    ),
    (
        "Find the transaction with kafka-transactions.sh find-hanging and abort it there if its producer "
        "is gone; otherwise have the producer commit or abort."
    ),
    "KIP-664, KIP-890",
    find,
)
