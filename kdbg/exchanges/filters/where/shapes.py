"""What stands where in an exchange: the fields that any version of any API has, with the kinds of their values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ....protocol.grammars import apis, headers, kept
from ....protocol.wire.language import Direction
from ....protocol.wire.nodes import (
    TAGGED,
    Fixed,
    LengthPrefixed,
    Node,
    NullableStruct,
    Sized,
    UuidNode,
    WireArray,
    WireStruct,
)
from ....protocol.wire.records import RecordsNode
from ...messages.message import grammar_of
from .tree import BOOL, BYTES, LIST, MAP, NUMBER, TEXT

Words = Literal["", "api", "error", "code", "finding"]


@dataclass(slots=True, eq=False)
class Shape:
    """The kinds of values in a place, the `fields` of structures there, the `items` of lists.

    `open`: there may be more than is known, as in payloads and records. `words`: which names its texts may be; "code"
    stands for error codes, which are numbers but go by names as well.
    """

    kinds: set[str] = field(default_factory=set)
    fields: dict[str, Shape] = field(default_factory=dict)
    items: Shape | None = None
    open: bool = False
    words: Words = ""

    def below(self, name: str) -> Shape:
        """Return the shape of a field, which is made if there is none."""
        return self.fields.setdefault(name, Shape())


OPEN = Shape(open=True)
OWN = {
    "time": Shape({NUMBER}), "time_utc": Shape({TEXT}), "packets": Shape({LIST}, items=Shape({NUMBER})),
    "size": Shape({NUMBER}),
}  # fmt: skip
"""What a half has beside its body and its header."""


@kept
def half(direction: Direction) -> Shape:
    """Return the shape of requests or responses: what stands beside the body, and the fields of body and header."""
    body, header = Shape({MAP}), Shape({MAP})
    for api in apis():
        for version in api.versions:
            add(body, grammar_of(api, version, direction))
    for grammar in headers.REQUEST if direction == "request" else headers.RESPONSE:
        add(header, grammar)
    return Shape({MAP}, {**header.fields, **body.fields, **OWN, "body": body, "header": header})


def add(shape: Shape, node: Node) -> None:
    """Add what values of a node hold to a shape."""
    match node:
        case WireStruct():
            shape.kinds.add(MAP)
            for member in node.members:
                add(shape.below(member.name), member.node)
            if node.tags is not None:
                shape.fields[TAGGED] = OPEN
        case NullableStruct():
            add(shape, node.struct)
        case LengthPrefixed():
            add(shape, node.item)
        case WireArray():
            shape.kinds.add(LIST)
            shape.items = shape.items or Shape()
            add(shape.items, node.item)
        case RecordsNode():
            shape.kinds.add(LIST)
            shape.items = OPEN
        case _:
            _add_leaf(shape, node)


def _add_leaf(shape: Shape, node: Node) -> None:
    if isinstance(node, UuidNode) or (isinstance(node, Sized) and "STRING" in node.bnf):
        shape.kinds.add(TEXT)
    elif isinstance(node, Fixed):
        shape.kinds.add(BOOL if node.bnf == "BOOLEAN" else NUMBER)
        if node.kind == "error":
            shape.words = "code"
    else:
        shape.kinds.add(BYTES)
        shape.open = True
