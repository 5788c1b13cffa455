"""What became of transactions, as far as it was seen: the markers in partitions, and what brokers say was aborted.

A marker ends all records of its producer that stand before it in its partition and behind its last one (KIP-98). So
the first marker behind a record tells. Where none was seen, the answer to a consumer that reads committed records only
does: it lists the transactions that were aborted, and sends nothing that is not decided.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping
from typing import Any, NamedTuple

from .record import CapturedRecord, Outcome

MOST, MOST_MARKERS = 10_000, 1000
"""Producers in partitions that are remembered, and markers of one."""
OUTCOMES: Mapping[str, Outcome] = {"COMMIT": "committed", "ABORT": "aborted"}


class Answered(NamedTuple):
    """What a fetch says of a partition's transactions: (producer, first offset) of aborted ones, None for nothing."""

    aborted: list[tuple[int, int]] | None = None
    stable: int = -1

    @classmethod
    def of(cls, partition: Mapping[str, Any]) -> Answered:
        """Take it from the structure of a partition in a response."""
        listed = partition.get("aborted_transactions")
        if listed is None:
            return cls()
        aborted = [(each["producer_id"], each["first_offset"]) for each in listed if "first_offset" in each]
        return cls(aborted, partition.get("last_stable_offset", -1))


class Markers:
    """The markers seen so far, by partition and producer."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], list[tuple[int, Outcome]]] = {}

    def learn(self, record: CapturedRecord) -> None:
        """Remember a marker; other records say nothing."""
        outcome = OUTCOMES.get(record.control or "")
        if outcome is None or record.producer is None or record.offset is None:
            return
        key = (*_place(record), record.producer.id)
        if key not in self._seen and len(self._seen) >= MOST:
            del self._seen[next(iter(self._seen))]
        seen = self._seen.setdefault(key, [])
        if (record.offset, outcome) not in seen:
            insort(seen, (record.offset, outcome))
            del seen[: len(seen) - MOST_MARKERS]

    def outcome(self, record: CapturedRecord, answered: Answered) -> Outcome | None:
        """Return what became of the transaction of a record with an offset; None where it is in none, or undecided."""
        producer, offset = record.producer, record.offset
        if producer is None or not producer.transactional or record.control is not None or offset is None:
            return None
        seen = self._seen.get((*_place(record), producer.id), [])
        at = bisect_right(seen, offset, key=lambda marker: marker[0])
        if at < len(seen):
            return seen[at][1]
        if answered.aborted is None:
            return None
        before = seen[at - 1][0] if at else -1
        if any(who == producer.id and before < first <= offset for who, first in answered.aborted):
            return "aborted"
        return "committed" if offset < answered.stable else None


def _place(record: CapturedRecord) -> tuple[Any, ...]:
    return record.topic_id or record.topic, record.partition
