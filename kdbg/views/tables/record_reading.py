"""Record sets of clean batches straight from their bytes: their amounts, and the columns of their records if wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ...protocol.wire.nodes import Node, Sized, WireArray, WireStruct
from ...protocol.wire.readings.batches import Batches
from ...protocol.wire.records.compression import CODECS
from ...protocol.wire.records.node import RecordsNode
from ...protocol.wire.records.sets import CODEC_MASK, TRANSACTIONAL
from .message_columns import WantedRows
from .values import FIRST, LAST

RecordSetReader = Callable[[bytes, int, int], tuple[tuple[Any, ...], "list[tuple[Any, ...]] | None"]]


@cache
def record_set_reader(node: RecordsNode, wanted: WantedRows) -> RecordSetReader:
    """Return what reads the record set between two places of the data: its amount, and its records' columns."""
    return (Recorded(node, values=wanted.values) if wanted.records else Amounts(node)).function()


class Amounts(Batches):
    """Writes the function of record sets: bytes, number of records, last offset, codec; every record is proved."""

    result = "None"
    makes = False

    def __init__(self, node: RecordsNode) -> None:
        super().__init__(node.format, cut=node.cut)
        self.names["CODECS"] = [CODECS.get(number, "") for number in range(CODEC_MASK + 1)]

    def function(self) -> RecordSetReader:
        """Return the function."""
        self.line(1, "size, total, last_offset, codec, records = end - pos, 0, None, None, []")
        self.loop_over_batches(1)
        amount = "(size, total, last_offset, codec)"
        return self.define("read(data, pos, end)", f"{amount}, {self.result}")  # type: ignore[no-any-return]

    def head(self, depth: int) -> None:
        fields = self.fields
        self.line(depth, f"total += {fields['records_count']}")
        self.line(depth, f"last_offset = {fields['base_offset']} + {fields['last_offset_delta']}")
        self.line(depth, f"own_codec = CODECS[{fields['attributes']} & {CODEC_MASK}]")
        self.line(depth, "if codec is None: codec = own_codec")

    def content(self, node: Node, depth: int) -> str:
        self.skip(node, depth)
        return ""


class Recorded(Amounts):
    """Writes a function that gathers the columns of records too; keys and values only with `values`."""

    result = "records"
    makes = True

    def __init__(self, node: RecordsNode, *, values: bool) -> None:
        super().__init__(node)
        self.values = values

    def head(self, depth: int) -> None:
        super().head(depth)
        fields = self.fields
        for column in ("producer_id", "producer_epoch"):
            self.line(depth, f"own_{column} = {fields[column]} if {fields['producer_id']} >= 0 else None")
        self.line(depth, f"transactional = bool({fields['attributes']} & {TRANSACTIONAL})")

    def content(self, node: Node, depth: int) -> str:
        """Write what reads a key or a value; return the variable with its size, beside which `…_bytes` holds it."""
        assert isinstance(node, Sized)
        size = self.length(node.length, depth)
        self.line(depth, f"{size}_bytes = None")
        self.guard_null(size, node.nullable, depth, lambda depth: self.line(depth, f"{size} = None"))
        if self.values:
            self.line(depth + 1, f"{size}_bytes = data[pos:pos + {size}]")
        self.line(depth + 1, f"pos += {size}")
        return size

    def headers(self, node: Node, depth: int) -> None:
        assert isinstance(node, WireArray)
        assert isinstance(node.item, WireStruct)
        key, value = node.item.fields
        count = self.length(node.length, depth)
        self.line(depth, "headers = []")
        self.line(depth, f"if {count} < 0: raise Unreadable")

        def header(depth: int) -> None:
            name, content = self.value(key.node, depth), self.value(value.node, depth)
            self.line(depth, f"headers.append(({name} or '', {content if self.values else None}))")

        self.loop(count, depth, header)

    def record(self, depth: int) -> None:
        of, batch = self.of_record, self.fields
        key, value, first = of["key"], of["value"], batch["base_sequence"]
        self.line(depth, f"delta = {of['offset_delta']}")
        self.line(depth, f"time = {batch['base_timestamp']} + {of['timestamp_delta']}")
        self.line(depth, f"time = time * 1000 if {FIRST} <= time * 1000 <= {LAST} and time != -1 else None")
        self.line(depth, f"sequence = {first} + delta & 0x7FFFFFFF if {first} >= 0 else None")  # they wrap (KIP-98)
        columns = [
            f"{batch['base_offset']} + delta", "time", key, value, f"{key}_bytes", f"{value}_bytes", "headers",
            "own_codec", "own_producer_id", "own_producer_epoch", "sequence", "None", "transactional", "True",
        ]  # fmt: skip
        self.line(depth, f"records.append(({', '.join(columns)}))")
