"""A message validated to its last byte, records included, by a generated reading without values (see codegen.py).

`validator(api, version, direction)` returns `read(data, names)`, which raises one of `UNREADABLE` for what has a
finding, and for what needs values: payloads, control batches, records of Kafka's own topics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias
from uuid import UUID

from ...protocol.grammars.payloads import SPECIAL
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import Field, Node, RemainingBytes, Sized, contains
from ...protocol.wire.readings.batches import Batches
from ...protocol.wire.readings.codegen import CodeGenerator, Unsuited
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.sets import CONTROL
from .message import NO_HEADER, grammar_of, header_grammar

Names: TypeAlias = Mapping[UUID, str]
"""The names of topic ids."""
TOPIC = ("topic", "topic_id")


@cache
def validator(api: Api, version: int, direction: Direction) -> Callable[[bytes, Names], None] | None:
    """Return the reading that validates messages; None where it needs their values."""
    return Validator().function(api, version, direction)


def holds_payload(node: Node) -> bool:
    """Return whether the bytes of a leaf may be a payload."""
    return isinstance(node, (Sized, RemainingBytes)) and node.holds is not None


class WithoutPayloads(CodeGenerator):
    """Writes a reading of messages whose payloads are empty; with others it is `Unreadable`: they need values."""

    def value(self, node: Node, depth: int) -> str:
        if isinstance(node, RemainingBytes) and holds_payload(node):
            raise Unsuited
        return super().value(node, depth)

    def sized(self, node: Sized, depth: int, *, keep: bool) -> str:
        if not holds_payload(node):
            return super().sized(node, depth, keep=keep)
        length, value = self.length(node.length, depth), self.fresh()
        self.line(depth, f"if {length} > 0: raise Unreadable")
        self.guard_null(length, node.nullable, depth, f"{value} = None")
        self.line(depth + 1, f"{value} = {'str' if node.text else 'bytes'}()")
        return value

    def tag_reader(self, field: Field) -> Callable[[bytes, int], tuple[Any, int]]:
        if contains(field.node, holds_payload):
            raise Unsuited
        return super().tag_reader(field)


class Validator(WithoutPayloads):
    """Writes a reading that validates messages; its arguments are `data`, `names`, and those in `more`.

    With `has_records`, a topic whose records may be payloads is `Unreadable`.
    """

    has_records = False
    more: tuple[str, ...] = ()

    def function(self, api: Api, version: int, direction: Direction) -> Callable[..., None] | None:
        """Return the reading for messages of an API's version; None where it needs their values."""
        if version not in api.versions or not api.reads(direction, version):
            return None
        header = NO_HEADER if api.headerless else header_grammar(api, version, direction)
        body = grammar_of(api, version, direction)
        self.names["SPECIAL"] = SPECIAL
        self.has_records |= contains(body, lambda node: isinstance(node, RecordsNode))
        try:
            self.read(header, 1)
            self.read(body, 1)
        except Unsuited:
            return None
        self.flush(1)
        self.end(1)
        return self.define(f"read({', '.join(['data', 'names', *self.more])}, pos=0)", "None")  # type: ignore[no-any-return]

    def leaf(self, node: Node, depth: int) -> str:
        if not self.has_records or node.kind not in TOPIC:
            return super().leaf(node, depth)
        value = self.value(node, depth)
        self.flush(depth)
        self.line(depth, f"if not (topic := {value}) or names.get(topic, topic) in SPECIAL: raise Unreadable")
        return value

    def records(self, node: RecordsNode, depth: int) -> str:
        size = self.counted(node.length, node.nullable, depth)
        read = self.named("records", self.of_records(node))
        self.line(depth + 1, f"{read}({', '.join(['data', 'pos', f'pos + {size}', *self.more])})")
        self.line(depth + 1, f"pos += {size}")
        return ""

    def of_records(self, node: RecordsNode) -> Callable[..., None]:
        """Return the reading of a record set between two positions of the data."""
        return record_set_validator(node)

    def tag_reader(self, field: Field) -> Callable[[bytes, int], tuple[Any, int]]:
        if contains(field.node, lambda node: isinstance(node, RecordsNode) or node.kind in TOPIC):
            raise Unsuited
        return super().tag_reader(field)


class RecordSetValidator(Batches):
    """Writes a reading that validates the batches of a record set."""

    makes = False
    unusual = CONTROL

    def content(self, node: Node, depth: int) -> str:
        self.skip(node, depth)
        return ""


@cache
def record_set_validator(node: RecordsNode) -> Callable[[bytes, int, int], None]:
    """Return the reading that validates a record set between two positions of the data."""
    walk = RecordSetValidator(node.format, cut=node.cut)
    walk.loop_over_batches(1)
    return walk.define("read(data, pos, end)", "None")  # type: ignore[no-any-return]
