"""What becomes of a message's bytes, reckoned before its values are made: one more reading of the walk over a layout.

`weigher(header, body)` returns `weigh(data, most)`, which passes over the bytes and raises the error for spent memory
once the values in them would take more than `most` bytes. What is read otherwise is reckoned by `cost_of` a node.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from ....budget import ESCAPE, ESCAPED, MEMORY
from ..nodes import LengthPrefixed, Node, NullableStruct, WireArray, WireStruct
from ..nodes.children import children, contains
from ..records.node import RecordsNode
from .codegen import CodeGenerator, fixed_size

if TYPE_CHECKING:
    from ..records.sets import RecordFormat

LEAF = 120
"""Bytes that a number, a text or a list takes, with what a view writes of it."""


@cache
def cost_of(node: Node) -> int:
    """Return how many bytes a node's value takes at least, beside the bytes of its texts; arrays count as empty."""
    if isinstance(node, WireStruct):
        return sys.getsizeof(dict.fromkeys(node.keys)) + sum(cost_of(child.node) for child in children(node))
    if isinstance(node, NullableStruct):
        return cost_of(node.struct)
    return cost_of(node.item) if isinstance(node, LengthPrefixed) else LEAF


@cache
def weigher(header: Node, body: Node) -> Callable[[bytes, int], None]:
    """Return what weighs messages of this grammar."""
    return Weigher().function(header, body)


def begin(walk: CodeGenerator, header: Node, body: Node) -> None:
    """Write how a reading of whole messages begins: what may take too much memory is weighed, and all of it is left."""
    walk.names |= {"memory": MEMORY, "weigh": partial(_weigh, header, body, walk.factor)}
    walk.line(1, "if len(data) > memory.heavy: weigh(data)")
    if contains(body, lambda node: isinstance(node, RecordsNode)):
        walk.line(1, "memory.left = memory.message")


def _weigh(header: Node, body: Node, factor: float, data: bytes) -> None:
    """Raise `WireError` for a message of which a reading of this factor would make more than memory allows."""
    weigher(header, body)(data, int(MEMORY.message / factor))


class Weigher(CodeGenerator):
    """Writes a function that passes over a message, and adds up what its arrays and records take."""

    def function(self, header: Node, body: Node) -> Callable[[bytes, int], None]:
        """Return the function."""
        self.names |= {"spent": MEMORY.spent, "weight_of_set": weight_of_set, "text_weight": text_weight}
        self.line(1, "weight = text_weight(data)")
        self.read(header, 1)
        self.read(body, 1)
        self.flush(1)
        return self.define("weigh(data, most, pos=0)", "None")  # type: ignore[no-any-return]

    def array(self, node: WireArray, depth: int) -> str:
        size, cost = fixed_size(node.item), cost_of(node.item)

        def inside(count: str, depth: int) -> None:
            self.line(depth, f"if {count} * {size or 1} > len(data) - pos: raise Unreadable")
            self.add(f"{count} * {cost}", depth)
            if size:
                self.line(depth, f"pos += {count} * {size}")
            else:
                self.loop(count, depth, lambda depth: self.item(node.item, depth))

        self.counted(node.length, node.nullable, depth, inside)
        return ""

    def records(self, node: RecordsNode, depth: int) -> str:
        format = self.named("format", node.format)

        def inside(size: str, depth: int) -> None:
            self.line(depth, f"if {size} > len(data) - pos: raise Unreadable")
            self.add(f"weight_of_set(data, pos, pos + {size}, {format})", depth)
            self.line(depth, f"pos += {size}")

        self.counted(node.length, node.nullable, depth, inside)
        return ""

    def add(self, weight: str, depth: int) -> None:
        """Write what adds to the weight."""
        self.line(depth, f"weight += {weight}")
        self.line(depth, "if weight > most: raise spent()")


def text_weight(data: bytes) -> int:
    """Return what the bytes of a message take as text, at most."""
    return len(data) + ESCAPE * (len(data) - len(data.translate(None, ESCAPED)))


def weight_of_set(data: bytes, start: int, end: int, format: RecordFormat) -> int:
    """Return what the records of a record set take; those that are compressed are reckoned when they are not."""
    from ..records.sets import CODEC_MASK, MESSAGE, entries, records_weight

    weight = 0
    for entry in entries(data, start, end, format):
        if entry.magic != 2:
            weight += MESSAGE
        elif not data[entry.start + format.crc_at + 5] & CODEC_MASK:
            count = int.from_bytes(data[entry.start + format.header_size - 4 : entry.start + format.header_size], "big")
            weight += records_weight(count, entry.end - entry.start)
    return weight
