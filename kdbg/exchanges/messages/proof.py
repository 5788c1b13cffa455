"""A message proved to its last byte, records included, by a generated reading that makes no values (see codegen.py).

`prover(api, version, direction)` returns `read(data, names)`, which raises one of `UNREADABLE` for what is odd, and
for what only values tell: payloads, control batches, records of Kafka's own topics. What it proves has no findings.
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
TOPIC = ("topic", "topic_id")


@cache
def prover(api: Api, version: int, direction: Direction) -> Callable[[bytes, Names], None] | None:
    """Return what proves messages; None where only values tell."""
    return Proof().function(api, version, direction)


class Proof(CodeGenerator):
    """Writes a function that proves messages, of the arguments `data`, `names` of topic ids, and those in `more`.

    With `has_records` topics are looked at, whose records may be payloads.
    """

    has_records = False
    more: tuple[str, ...] = ()

    def function(self, api: Api, version: int, direction: Direction) -> Callable[..., None] | None:
        """Return the function for messages of an API's version; None where only values tell."""
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
        if isinstance(node, RemainingBytes) and node.holds is not None:
            raise Unsuited
        if not self.has_records or node.kind not in TOPIC:
            return super().leaf(node, depth)
        value = self.value(node, depth)
        self.flush(depth)
        self.line(depth, f"if not (topic := {value}) or names.get(topic, topic) in SPECIAL: raise Unreadable")
        return value

    def sized(self, node: Sized, depth: int, *, keep: bool) -> str:
        if node.holds is None:
            return super().sized(node, depth, keep=keep)
        name = self.length(node.length, depth)
        self.line(depth, f"if {name} > 0: raise Unreadable")  # a payload is opened
        self.guard_null(name, node.nullable, depth)
        self.line(depth + 1, "pass")
        return ""

    def records(self, node: RecordsNode, depth: int) -> str:
        size = self.counted(node.length, node.nullable, depth)
        read = self.named("records", self.of_records(node))
        self.line(depth + 1, f"{read}({', '.join(['data', 'pos', f'pos + {size}', *self.more])})")
        self.line(depth + 1, f"pos += {size}")
        return ""

    def of_records(self, node: RecordsNode) -> Callable[..., None]:
        """Return what reads the record set between two places of the data."""
        return records_prover(node)

    def tag_reader(self, field: Field) -> Callable[[bytes, int], tuple[Any, int]]:
        def tells(node: Node) -> bool:
            payload = isinstance(node, (Sized, RemainingBytes)) and node.holds is not None
            return payload or isinstance(node, RecordsNode) or node.kind in TOPIC

        if contains(field.node, tells):
            raise Unsuited
        return super().tag_reader(field)


class RecordsProof(Batches):
    """Writes what proves the batches of a record set."""

    makes = False
    unusual = CONTROL

    def content(self, node: Node, depth: int) -> str:
        self.skip(node, depth)
        return ""


@cache
def records_prover(node: RecordsNode) -> Callable[[bytes, int, int], None]:
    """Return what proves the record set between two places of the data."""
    walk = RecordsProof(node.format, cut=node.cut)
    walk.loop_over_batches(1)
    return walk.define("prove(data, pos, end)", "None")  # type: ignore[no-any-return]
