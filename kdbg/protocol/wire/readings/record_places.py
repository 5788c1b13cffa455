"""Where the record sets of a message stand, and at which paths: a generated reading (see codegen.py)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..nodes import Field, Node, WireArray, WireStruct, join
from ..nodes.children import contains
from ..records.node import RecordsNode
from .codegen import CodeGenerator


@cache
def record_places(header: Node, body: WireStruct) -> Callable[[bytes], list[tuple[int, str]]]:
    """Return a function that tells the first byte and the path of every record set in a message, in their order.

    The message must be one that the other readings read: not every byte is proved.
    """
    return RecordPlaces().function(header, body)


class RecordPlaces(CodeGenerator):
    """Writes a function that gathers record sets; `path` is the path of the node at hand, with variables in braces."""

    path = ""

    def function(self, header: Node, body: WireStruct) -> Callable[[bytes], list[tuple[int, str]]]:
        """Return the function for messages of this header and body."""
        self.line(1, "found = []")
        self.prove(header, 1)
        self.read(body, 1)
        self.flush(1)
        return self.define("places(data, pos=0)", "found")  # type: ignore[no-any-return]

    def field(self, field: Field, depth: int) -> None:
        outside, self.path = self.path, join(self.path, field.name)
        super().field(field, depth)
        self.path = outside

    def array(self, node: WireArray, depth: int) -> str:
        if not contains(node.item, lambda inner: isinstance(inner, RecordsNode)):
            return super().array(node, depth)
        self.counted(node.length, node.nullable, depth, lambda count, depth: self.numbered(node.item, count, depth))
        return ""

    def numbered(self, item: Node, count: str, depth: int) -> None:
        """Write the loop over items that may hold record sets."""
        index, outside = self.fresh("i"), self.path
        self.path = f"{outside}[{{{index}}}]"
        self.line(depth, f"for {index} in range({count}):")
        self.item(item, depth + 1)
        self.path = outside

    def records(self, node: RecordsNode, depth: int) -> str:
        def inside(size: str, depth: int) -> None:
            self.line(depth, f"found.append((pos, f{self.path!r}))")
            self.line(depth, f"pos += {size}")

        self.counted(node.length, node.nullable, depth, inside)
        return ""
