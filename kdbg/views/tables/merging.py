"""What a request and its response tell of partitions, put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .message_columns import MessageColumns, PartitionColumns
from .partitions import OFFSETS, Amount
from .record_rows import RecordColumns

NOTHING, UNTOLD, NO_OFFSETS = Amount(), MessageColumns((), (), (), None, None, ()), (None,) * len(OFFSETS)
Place = tuple[Any, int, str | None]
"""Topic, partition and group."""


def partitions_of(
    asked: MessageColumns | None, answer: MessageColumns | None
) -> Iterator[tuple[Place, PartitionColumns | None, PartitionColumns | None]]:
    """Yield what both messages tell of each partition, in the order of the request, then of the response."""
    *_, around, _, parts = asked or UNTOLD
    of_request: dict[Place, PartitionColumns] = {}
    for part in parts:
        around = part[0] or around
        of_request[part[1], part[2], around] = part
    *_, parts = answer or UNTOLD
    of_response: dict[Place, PartitionColumns] = {}
    for part in parts:
        around = part[0] or around  # a response does not repeat the group
        of_response[part[1], part[2], around] = part
    for place, part in of_request.items():
        yield place, part, of_response.pop(place, None)
    for place, part in of_response.items():
        yield place, None, part


def merged(
    asked: PartitionColumns | None, answer: PartitionColumns | None
) -> tuple[int | None, Sequence[int | None], Amount, Sequence[RecordColumns] | None]:
    """Return (error, offsets, amount, records) of a partition, as both messages tell of it."""
    if answer is None:
        assert asked is not None
        *_, offsets, held, records = asked
        return None, offsets, held or NOTHING, records
    _, _, _, code, offsets, held, records = answer
    if asked is None:
        return code, offsets, held or NOTHING, records
    _, _, _, _, of_request, amount, in_request = asked
    if not (held and held[0]) or (amount and amount[0]):
        held, records = amount, in_request
    if of_request != NO_OFFSETS:
        pairs = zip(of_request, offsets, strict=True)
        offsets = tuple([one if other is None else other for one, other in pairs])
    return code, offsets, held or NOTHING, records
