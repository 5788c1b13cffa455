"""Nearly all records of a topic go to one of its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule
from ..queries import evidence, sessions_of, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.flows import PartitionWrites

FEWEST_PARTITIONS = 3
MANY_RECORDS, MANY_BATCHES = 100, 20
SHARE = 0.75


def find(book: Ledgers) -> Iterator[Case]:
    """Look for topics of several partitions of which one gets nearly all that a client writes."""
    found: dict[tuple[str, str], dict[int, list[PartitionWrites]]] = {}
    for (number, topic, partition), written in book.written.items():
        client = book.sessions[number].client_id
        found.setdefault((client, topic), {}).setdefault(partition, []).append(written)
    for (client, topic), by_partition in found.items():
        known = book.clusters.topics.get(topic)
        partitions = max(len(known.partitions) if known is not None else 0, len(by_partition))
        records = {number: sum(one.records for one in all) for number, all in by_partition.items()}
        total, hot = sum(records.values()), max(records, key=lambda number: records[number])
        batches = sum(one.batches for one in by_partition[hot])
        share = records[hot] / total if total else 0.0
        if partitions < FEWEST_PARTITIONS or total < MANY_RECORDS or batches < MANY_BATCHES or share < SHARE:
            continue
        seen = Occurrences.of(one.requests for one in by_partition[hot])
        sessions = sessions_of(book, client)
        yield rule.case(
            who(sessions[0] if sessions else None, topic=topic, partition=hot), seen.since, seen.until, records[hot],
            evidence(seen, "partition_data.index", "records_count"),
            facts={"share": share, "total": total, "partitions": partitions},
        )  # fmt: skip


rule: Rule = Rule(
    "hot-partition",
    Severity.WARNING,
    "one partition receives nearly all records",
    (
        "client {client_id} writes {share:.0%} of its {total:record} for topic {topic} to partition "
        "{partition}, one of {partitions:partition}"
    ),
    (
        "Choose a key with more distinct values. Records with neither a key nor an explicit partition are spread "
        "by the partitioner (partitioner.class; librdkafka: partitioner)."
    ),
    "KIP-480, KIP-794",
    find,
    ("the partition is chosen deliberately",),
)
