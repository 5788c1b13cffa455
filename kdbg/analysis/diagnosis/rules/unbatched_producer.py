"""A producer sends its records one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule
from ..queries import SECOND, evidence, sessions_of, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.flows import PartitionWrites

MANY = 200
PER_SECOND = 200
NEARLY_ALL = 0.95


def find(book: Ledgers) -> Iterator[Case]:
    """Look for clients that write many batches of one record at a high rate."""
    found: dict[tuple[str, str], list[PartitionWrites]] = {}
    for (number, topic, _), written in book.written.items():
        found.setdefault((book.sessions[number].client_id, topic), []).append(written)
    for (client, topic), all in found.items():
        batches, singles = sum(one.batches for one in all), sum(one.singles for one in all)
        seen = Occurrences.of(one.requests for one in all)
        rate = seen.count / max((seen.until - seen.since) / SECOND, 0.1)
        if batches < MANY or singles < NEARLY_ALL * batches or rate < PER_SECOND:
            continue
        plain = sum(one.uncompressed for one in all) == batches
        sessions = sessions_of(book, client)
        yield rule.case(
            who(sessions[0] if sessions else None, topic=topic), seen.since, seen.until, batches,
            evidence(seen, "records_count"),
            facts={"rate": rate, "codec": "uncompressed" if plain else "compressed"},
        )  # fmt: skip


rule: Rule = Rule(
    "unbatched-producer",
    Severity.WARNING,
    "producer does not batch",
    ("client {client_id} writes {count:batch} with one record each to topic {topic} ({rate:,.0f} per second, {codec})"),
    (
        "Set linger.ms to 5 or more, leave batch.size (librdkafka: batch.num.messages) at its default, "
        "and do not flush after every record. Larger batches also compress better."
    ),
    "Producer configs: linger.ms, batch.size",
    find,
)
