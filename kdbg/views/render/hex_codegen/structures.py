"""Source that makes the rows of what holds others: structures, arrays, items behind their length."""

from __future__ import annotations

from ....protocol.wire.nodes import Field, LengthPrefixed, NullableStruct, WireArray, WireStruct
from ....protocol.wire.nodes.composite import TAGGED
from ....protocol.wire.nodes.leaves import INT8
from ....protocol.wire.readings.codegen import Unsuited
from ..annotations import size_text
from .leaves import Leaves


class Structures(Leaves):
    """Writes a function that gathers the rows of structures."""

    def struct(self, node: WireStruct, depth: int) -> str:
        if node.front:
            raise Unsuited
        for field in node.fields:
            self.field(field, depth)
        if node.tags is not None:
            count, none = self.fresh(), self.named("none", size_text(node, 0).encode())
            with self.at(TAGGED):
                self.fixed("TAGGED_FIELDS", "B", count, none, count)
        return ""

    def field(self, field: Field, depth: int) -> None:
        with self.at(field.name):
            self.read(field.node, depth)

    def array(self, node: WireArray, depth: int) -> str:
        count = self.size_row(node.bnf, node, node.length, depth, nullable=node.nullable)
        self.numbered(count, depth, lambda depth: self.item(node.item, depth))
        return ""

    def nullable_struct(self, node: NullableStruct, depth: int) -> str:
        marker = self.fresh("n")
        texts = {there: size_text(INT8, there == 1).encode() for there in (node.null, 1)}
        self.fixed(node.bnf, "b", marker, f"{self.named('texts', texts)}[{marker}]", f"{marker} not in {tuple(texts)}")

        def there(depth: int) -> None:
            self.read(node.struct, depth)

        self.either(f"{marker} == 1", depth, there)
        return ""

    def begin_prefixed(self, node: LengthPrefixed, depth: int) -> str:
        number, end = node.length.number, self.fresh("e")
        with self.at("length"):
            length = self.size_row(number.bnf, number, node.length, depth, nullable=False)
        self.flush(depth)
        self.line(depth, f"{end} = pos + {length}")
        return end
