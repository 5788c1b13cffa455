"""What a message tells the tables: what it is about, and the columns of every partition in it.

`message_columns` takes it from a message's value; straight.py takes the same straight from the bytes of a clean one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...exchanges.messages.message import Message
from ...protocol.findings import Kind
from ...protocol.wire.readings.layout import path_to
from ...protocol.wire.readings.outline import PartitionContext, outline, parts
from .partitions import KEPT, OFFSETS, Amount, amount
from .record_rows import RecordColumns, record_rows
from .values import integer, text


@dataclass(frozen=True)
class WantedRows:
    """What rows there shall be: `records` a row for each record, `values` their keys and values too.

    Without `partitions` there are no rows of partitions, nor of their records. `timed`: exchanges say where their time
    went, where the packets are at hand.
    """

    records: bool = False
    values: bool = False
    show_secrets: bool = False
    partitions: bool = True
    timed: bool = False

    @classmethod
    def of(
        cls, tables: Collection[str], *, values: bool = True, show_secrets: bool = False, timed: bool = False
    ) -> WantedRows:
        """Return what these tables are made of."""
        records = "records" in tables
        return cls(records, records and values, show_secrets, records or "partitions" in tables, timed)


class PartitionColumns(NamedTuple):
    """What a message tells of one partition, None for what it does not.

    `group` and `topic` are those around it, the topic's id where it has no name; `offsets` are the columns `OFFSETS`,
    `held` is its record set in numbers, `records` are the columns of its records if they are wanted.
    """

    group: str | None
    topic: Any
    partition: int
    error: int | None
    offsets: tuple[int | None, ...]
    held: Amount | None
    records: Sequence[RecordColumns] | None


class MessageColumns(NamedTuple):
    """What a message tells: topics, groups and errors in their order, the group at its top, the time that it throttles.

    Captured text is as the tables have it, a topic is its id where it has no name and None where it is not said.
    Readings give plain tuples in the place of all three: what is in them is taken by its order.
    """

    topics: Sequence[Any]
    groups: Sequence[str]
    errors: Sequence[int]
    group: str | None
    throttle: int | None
    partitions: Sequence[PartitionColumns]


def message_columns(message: Message, wanted: WantedRows) -> MessageColumns:
    """Return what the value of a message tells."""
    body, api = message.body, message.api.name
    rows, groups, errors = outline(message.grammar)(body)
    found = [_partition(message, part, wanted) for part in parts(message.grammar)(body)] if api in KEPT else ()
    return MessageColumns(
        [_shown(topic) for topic, *_ in rows], [_shown(group) for group in groups], errors,
        _shown(body.get("group_id")), integer(body.get("throttle_time_ms")), found,
    )  # fmt: skip


def _shown(name: Any) -> Any:
    """Return the name of a topic or a group as the tables have it; ids as they are."""
    return text(name) if isinstance(name, str) else name


def _partition(message: Message, part: PartitionContext, wanted: WantedRows) -> PartitionColumns:
    """Return what the structure of a partition tells."""
    value, columns = part.value, dict.fromkeys(OFFSETS)
    for name, column in KEPT[message.api.name].get(message.direction, {}).items():
        said = value.get(name)
        number = integer(said[0] if isinstance(said, list) and said else said)
        if number is not None:
            columns[column] = number
    entries = value.get("records")
    held = amount(entries) if isinstance(entries, list) else None
    return PartitionColumns(
        _shown(part.group), _shown(part.topic), part.partition, integer(value.get("error_code")), (*columns.values(),),
        held, _records(message, value, wanted) if wanted.records and held is not None else None,
    )  # fmt: skip


def _records(message: Message, value: dict[str, Any], wanted: WantedRows) -> list[RecordColumns]:
    wrong = {finding.path for finding in message.findings if finding.kind is Kind.CRC_MISMATCH}
    path = f"{path_to(value, message.body)}.records" if wrong else ""
    return list(record_rows(value["records"], wrong, path, values=wanted.values, secrets=wanted.show_secrets))
