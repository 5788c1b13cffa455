"""What clean messages tell the tables, straight from their bytes: readings of the walk over a layout.

`told_reader(header, body, columns, wanted)` returns `read(data) -> MessageColumns`, what message_columns.py makes of
the value. It proves every byte, those of records included, and raises one of `UNREADABLE` for what is odd and for
what only a value tells: payloads that are opened, control batches, the records of Kafka's own topics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ...exchanges.messages.message import NO_HEADER, grammar_of, header_grammar
from ...exchanges.messages.validation import WithoutPayloads, holds_payload
from ...protocol.grammars.payloads import SPECIAL
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS, Direction
from ...protocol.wire.nodes import Field, Fixed, Node, Sized, Varint, WireStruct, contains
from ...protocol.wire.readings.batches import Batches
from ...protocol.wire.readings.codegen import Unsuited
from ...protocol.wire.readings.outline_codegen import Around, Facts
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.compression import CODECS
from ...protocol.wire.records.sets import CODEC_MASK, TRANSACTIONAL
from .cells import FIRST, LAST
from .message_columns import KEPT, OFFSETS, MessageColumns, WantedRows

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
        self.guard_null(size, node.nullable, depth, f"{size} = None")
        if self.values:
            self.line(depth + 1, f"{size}_bytes = data[pos:pos + {size}]")
        self.line(depth + 1, f"pos += {size}")
        return size

    def headers(self, node: Node, depth: int) -> None:
        self.list_headers(node, depth, lambda key, value: f"{key} or '', {value if self.values else None}")

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


ToldReader = Callable[[bytes], MessageColumns]
Columns = Mapping[str, str]
"""Names of fields -> the columns that they fill."""
NO_COLUMNS: Columns = {}
OF_PARTITION = {"error_code": "error"}
"""The fields of a partition that are columns in every API."""


def reader_of(api: Api, version: int, direction: Direction, wanted: WantedRows) -> ToldReader | None:
    """Return what reads messages of an API's version; None where only their values tell."""
    if version not in api.versions or not api.reads(direction, version):
        return None
    header = NO_HEADER if api.headerless else header_grammar(api, version, direction)
    columns = KEPT[api.name].get(direction, NO_COLUMNS) if api.name in KEPT else None
    body = grammar_of(api, version, direction)
    try:
        return ColumnsCodegen(body, columns, wanted).message(header, body)
    except Unsuited:
        return None


@cache
def names_by_id(api: Api, version: int) -> bool:
    """Return whether messages of a version may name topics by their ids."""
    grammars = (grammar_of(api, version, direction) for direction in DIRECTIONS)
    return any(contains(grammar, lambda node: node.kind == "topic_id") for grammar in grammars)


class ColumnsCodegen(WithoutPayloads, Facts):
    """Writes a function that gathers what the tables want beside what `Facts` gathers; without `columns` no partitions.

    Among what is known of a structure (`own`), names that begin with a dot are columns.
    """

    notes = False
    factor = 0.5

    def __init__(self, body: WireStruct, columns: Columns | None, wanted: WantedRows) -> None:
        super().__init__()
        self.columns, self.wanted = None if columns is None else {**columns, **OF_PARTITION}, wanted
        self.special = contains(body, lambda node: isinstance(node, RecordsNode))
        self.names["SPECIAL"] = SPECIAL
        self.group = self.throttle = "None"
        self._levels = 0

    def message(self, header: Node, body: WireStruct) -> ToldReader:
        """Return the reader of messages of this header and body."""
        self.line(1, "parts = []")
        self.gather(header, body)
        result = f"(rows, groups, errors, {self.group}, {self.throttle}, parts)"
        return self.define("read(data, pos=0)", result)  # type: ignore[no-any-return]

    def about(self, node: WireStruct, around: Around, depth: int) -> None:
        self._levels += 1
        super().about(node, around, depth)
        self._levels -= 1

    def tells(self, field: Field) -> bool:
        named = field.name in ("group_id", "throttle_time_ms", *(self.columns or ()))
        return super().tells(field) or named or contains(field.node, holds_payload)

    # Fields

    def other(self, field: Field, own: Around, depth: int) -> None:
        name, node = field.name, field.node
        if name not in (self.columns or ()) and (self._levels > 1 or name not in ("group_id", "throttle_time_ms")):
            self.read(node, depth)
        elif isinstance(node, (Fixed, Varint)) and not (isinstance(node, Fixed) and (node.boolean or node.code == "d")):
            self.note(name, self.number(node, depth), own)
        else:
            raise Unsuited

    def fact(self, node: Node, own: Around, place: str | None, depth: int, name: str = "") -> str:
        value = super().fact(node, own, place, depth, name)
        if node.kind == "topic" and self.special:  # its records may be opened
            self.flush(depth)
            self.line(depth, f"if {value} in SPECIAL: raise Unreadable")
        self.note(name, value, own)
        return value

    def number(self, node: Node, depth: int) -> str:
        """Write what reads a number; return a variable with its value."""
        value = self.value(node, depth)
        if value.isidentifier():
            return value
        self.flush(depth)
        name = self.fresh()
        self.line(depth, f"{name} = {value}")
        return name

    def note(self, name: str, value: str, own: Around) -> None:
        """Keep the variable of a field that is a column, or that is told of the whole message."""
        if self._levels == 1 and name == "throttle_time_ms":
            self.throttle = value
        elif self._levels == 1 and name == "group_id":
            self.group = value
        if self.columns is not None and name in self.columns:
            own[f".{self.columns[name]}"] = value

    # Partitions and their records

    def count_of(self, node: RecordsNode, depth: int) -> str:
        """Write what reads a record set; return the expression of the number of its records."""
        held, records = self.fresh("held"), self.fresh("records")
        read = self.named("read_records", record_set_reader(node, self.wanted))
        size = self.counted(node.length, node.nullable, depth, f"{held} = {records} = None")
        self.line(depth + 1, f"if pos + {size} > len(data): raise Unreadable")
        self.line(depth + 1, f"{held}, {records} = {read}(data, pos, pos + {size})")
        self.line(depth + 1, f"pos += {size}")
        self.of_set = held, records
        return f"({held}[1] if {held} else 0)"

    def tuple(self, own: Around) -> str:
        """Return the expression of a topic: all that the tables want of a row."""
        return str(own.get("topic"))

    def row(self, own: Around, around: Around, empty: list[str], place: str | None, depth: int) -> None:
        said = {kind: own.pop(kind) for kind in list(own) if kind.startswith(".")}
        super().row(own, around, empty, place, depth)
        if self.columns is None or own.get("partition") == around.get("partition"):
            return
        if place is not None:
            raise Unsuited
        held, records = self.of_set if "records" in own else ("None", "None")
        place = ", ".join(str(own.get(kind)) for kind in ("group", "topic", "partition"))
        offsets = ", ".join(str(said.get(f".{column}")) for column in OFFSETS)
        self.flush(depth)
        self.line(depth, f"parts.append(({place}, {said.get('.error')}, ({offsets}), {held}, {records}))")
