"""A consumer reads the same record again and again: it fails on it, and never gets behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Kind, Severity
from ...ledgers.evidence import Mark
from ..case import Case, Rule, Who
from ..queries import evidence, failures
from .offset_out_of_range_data_loss import group_of

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.flows import Fetched
    from ...ledgers.sessions import KafkaConnection

OFTEN, OFTEN_STUCK = 3, 5
"""Connections that begin at the same offset, and fetches of one connection."""
PARTIAL = {0, 1, 2}
"""Versions of Fetch that may be answered with a part of a batch (KIP-74)."""
DAMAGED = "a corrupt batch"
INTACT = "a record that it cannot deserialize or process (its batch is intact)"


def find(book: Ledgers) -> Iterator[Case]:
    """Look for partitions that a client begins to read at the same offset again and again, with data each time."""
    found: dict[tuple[str, str, int], list[tuple[KafkaConnection, Fetched]]] = {}
    for (number, topic, partition), fetched in book.fetched.items():
        polls = book.polls.get(number)
        if polls is not None and polls.replica >= 0:
            continue
        session = book.sessions[number]
        found.setdefault((session.client_id, topic, partition), []).append((session, fetched))
    for (client, topic, partition), all in found.items():
        if all[0][0].used(1).versions.keys() <= PARTIAL:
            continue  # these stop at a batch that is larger than they take
        stuck = max(stuck_in(fetched) for _, fetched in all)
        starts = [fetched.first_offset for _, fetched in all if fetched.with_data and fetched.first_offset >= 0]
        group = group_of(book, client)
        again = max((starts.count(start) for start in set(starts)), default=0) if group is not None else 0
        if stuck < OFTEN_STUCK and again < OFTEN:
            continue
        offset = next((fetched.stuck_at for _, fetched in all if fetched.stuck), None)
        if offset is None:
            offset = max(set(starts), key=starts.count)
        marks = [mark for _, fetched in all for mark in (fetched.stuck.marks or fetched.with_data.marks)[:3]]
        damaged = bool(failures(book, (2, 87), (1,))) or any(one.findings.get(Kind.CRC_MISMATCH) for one, _ in all)
        session = all[0][0]
        yield rule.case(
            Who(client or None, session.peers.client[0], topic=topic, partition=partition, group=group),
            first(marks), last(marks), max(stuck, again), evidence(marks, "fetch_offset"),
            facts={"offset": offset, "damaged": DAMAGED if damaged else INTACT},
            certainty="certain" if damaged else "likely", weight=2.4,
        )  # fmt: skip


def stuck_in(fetched: Fetched) -> int:
    """Return how often a connection was sent data from the last offset that it came to."""
    served = fetched.served
    return served[fetched.stuck_at] if fetched.stuck and fetched.stuck_at == max(served) else 0


def first(marks: list[Mark]) -> int:
    """Return when the first of some exchanges began."""
    return min((mark.time for mark in marks), default=0)


def last(marks: list[Mark]) -> int:
    """Return when the last of some exchanges ended."""
    return max((mark.end for mark in marks), default=0)


rule: Rule = Rule(
    "poison-record",
    Severity.ERROR,
    "consumer cannot get past a record",
    (
        "client {client_id} fetches partition {partition} of topic {topic} {times} from offset {offset} "
        "and never advances: the client {probably}fails on {damaged}"
    ),
    (
        "Check the record at offset {offset} (kdbg records FILE --topic {topic} --partition "
        "{partition}). Skip records that cannot be processed, or send them to a dead letter topic, and "
        "commit the next offset."
    ),
    "KIP-334",
    find,
    ("the consumer fails for another reason at this offset", "the consumer never commits"),
    frozenset({"connection-churn", "consumer-too-slow", "busy-fetch-loop"}),
)
