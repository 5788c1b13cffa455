"""Parts of messages that keep coming, read at once where they are sound: what spares the slow reading most of its work.

A generated reading proves a part and makes its value in one go, but to generate it costs more than to read a few parts
without. A part is familiar once it came `OFTEN` times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ....budget import MEMORY
from ..nodes import Node
from ..records.sets import RecordFormat, records_of
from .compiled import UNREADABLE, reader, record_readers

OFTEN = 30
TIMES: Counter[Node] = Counter()
"""How often a node was asked for, as far as that matters."""


def sound_part(node: Node, data: bytes, start: int, limit: int) -> tuple[Any, int] | None:
    """Return the value of a familiar part and where it ends; None if it is odd or goes further than `limit`."""
    if not _familiar(node):
        return None
    try:
        value, end = reader(node)(data, start)
    except UNREADABLE:
        return None
    return (value, end) if end <= limit else None


def sound_records(
    format: RecordFormat, batch: Mapping[str, Any], data: bytes, start: int, end: int, weight: int
) -> list[dict[str, Any]] | None:
    """Return the records of a batch, which take the bytes from `start` to `end`; None if anything in them is odd.

    `weight` is the memory that they take.
    """
    if not _familiar(format.records) or weight > MEMORY.left:
        return None
    try:
        records, stop = records_of(batch, data, start, format, record_readers())
    except UNREADABLE:
        return None
    if stop != end:
        return None
    MEMORY.take(weight)
    return records


def _familiar(node: Node) -> bool:
    if TIMES[node] < OFTEN:
        TIMES[node] += 1
        return False
    return True
