"""Records of valid messages, from their bytes, by generated readings that validate them (see validation.py).

`records_reader` and `responses_reader` return `read(data, names, found)`; it raises one of `UNREADABLE` for what has a
finding, and for what needs values: payloads, control batches, append time, fetched records of transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import TypeAlias
from uuid import UUID

from ...exchanges.messages.validation import Names, Validator
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import Field, Fixed, Node, WireArray, WireStruct
from ...protocol.wire.readings.batches import Batches
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.compression import CODECS
from ...protocol.wire.records.sets import APPEND_TIME, CODEC_MASK, CONTROL, TRANSACTIONAL
from .record import SEQUENCES, Header, Producer

Topic: TypeAlias = str | UUID
OfBatch: TypeAlias = tuple[str, Producer | None]
"""The codec of a batch, and its producer."""
FoundRecord: TypeAlias = tuple[OfBatch, int, int | None, bytes | None, bytes | None, tuple[Header, ...], int | None]
"""What its batch says, offset, time, key, value, headers, sequence number."""
FoundSet: TypeAlias = tuple[Topic, int, list[FoundRecord]]
"""The records of a partition."""
PartitionResponse: TypeAlias = tuple[Topic, int, int, int]
"""What a broker responds for a partition: topic, partition, base offset, error."""
RESPONSE_FIELDS = ("base_offset", "error_code")


@cache
def records_reader(
    api: Api, version: int, direction: Direction
) -> Callable[[bytes, Names, list[FoundSet]], None] | None:
    """Return the reading that finds the records of messages; None where it needs their values."""
    return RecordSets(transactions=direction == "request").function(api, version, direction)


@cache
def responses_reader(api: Api, version: int) -> Callable[[bytes, Names, list[PartitionResponse]], None] | None:
    """Return the reading of a Produce response's partitions; None where it needs values."""
    return PartitionResponses().function(api, version, "response")


class Partitions(Validator):
    """Writes a reading with the `topic` and `partition` at hand as variables."""

    has_records = True
    more = ("found",)

    def leaf(self, node: Node, depth: int) -> str:
        if node.kind != "partition" or not isinstance(node, Fixed):
            return super().leaf(node, depth)
        value = self.value(node, depth)
        self.flush(depth)
        self.line(depth, f"partition = {value}")
        return value


class RecordSets(Partitions):
    """Writes a reading that finds records; with `transactions` those of transactions, too."""

    def __init__(self, *, transactions: bool) -> None:
        super().__init__()
        self.transactions = transactions

    def records(self, node: RecordsNode, depth: int) -> str:
        walk = SetOfRecords(node.format, cut=node.cut)
        walk.unusual = CONTROL | APPEND_TIME | (0 if self.transactions else TRANSACTIONAL)
        walk.names["of_batch"] = of_batch
        walk.loop_over_batches(1)
        read = self.named("records", walk.define("read(data, pos, end, found)", "None"))
        size = self.counted(node.length, node.nullable, depth)
        self.line(depth + 1, "found.append((topic, partition, inside := []))")
        self.line(depth + 1, f"{read}(data, pos, pos + {size}, inside)")
        self.line(depth + 1, f"pos += {size}")
        return ""


class SetOfRecords(Batches):
    """Writes a reading that finds the records of a record set."""

    def head(self, depth: int) -> None:
        said = ", ".join(self.fields[name] for name in ("attributes", "producer_id", "producer_epoch"))
        self.line(depth, f"batch = of_batch({said})")

    def headers(self, node: Node, depth: int) -> None:
        self.list_headers(node, depth, lambda key, value: f"{key}, {value}")

    def record(self, depth: int) -> None:
        of, batch = self.of_record, self.fields
        first = batch["base_sequence"]
        self.line(depth, f"delta, time = {of['offset_delta']}, {batch['base_timestamp']} + {of['timestamp_delta']}")
        found = ", ".join((
            "batch", f"{batch['base_offset']} + delta", "time if time >= 0 else None", of["key"], of["value"],
            "tuple(headers)", f"{first} + delta & {SEQUENCES} if {first} >= 0 else None",
        ))  # fmt: skip
        self.line(depth, f"found.append(({found}))")


class PartitionResponses(Partitions):
    """Writes a reading that finds the responses for partitions."""

    def array(self, node: WireArray, depth: int) -> str:
        count = self.counted(node.length, node.nullable, depth)
        self.loop(count, depth + 1, lambda depth: self.item(node.item, depth))
        return ""

    def struct(self, node: WireStruct, depth: int) -> str:
        is_response = {*RESPONSE_FIELDS} <= {field.name for field in node.fields}
        written = super().struct(node, depth)
        if is_response:
            self.flush(depth)
            self.line(depth, "found.append((topic, partition, base_offset, error_code))")
        return written

    def field(self, field: Field, depth: int) -> None:
        if field.name in RESPONSE_FIELDS and isinstance(field.node, Fixed):
            value = self.value(field.node, depth)
            self.flush(depth)
            self.line(depth, f"{field.name} = {value}")
        else:
            super().field(field, depth)


@lru_cache(1 << 10)
def of_batch(attributes: int, producer_id: int, epoch: int) -> OfBatch:
    """Return what the records of a batch have in common."""
    producer = Producer(producer_id, epoch, bool(attributes & TRANSACTIONAL)) if producer_id >= 0 else None
    return CODECS.get(attributes & CODEC_MASK, ""), producer
