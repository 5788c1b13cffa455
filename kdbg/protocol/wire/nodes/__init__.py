"""The closed set of concrete nodes: what a declaration becomes once its version is known, and what each is made of.

`children` is how every reading goes down a grammar, and a value beside it.

    children(grammar)                 the nodes inside, plain and tagged, in the order of the wire
    child.values(value)               the values of that child inside the value of its node; none where it is absent
    child.replaced(value, change)     the same value with `change` applied to those, in place where it can be

A reading that searches or changes values is a fold over these three; only a reading that treats each class of node in
a way of its own (BNF, spans, compiled, the tree) asks for the class, by a table (`ByClass`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

from .composite import (
    NO_DEFAULT,
    TAGGED,
    Field,
    LengthPrefixed,
    NullableStruct,
    UnreadStruct,
    WireArray,
    WireStruct,
    build,
    join,
)
from .leaves import (
    BOOLEAN,
    COMPACT_LENGTH,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT16,
    UINT32,
    UVARINT,
    VARINT,
    VARLONG,
    Fixed,
    Length,
    Node,
    RemainingBytes,
    Sized,
    Stream,
    UuidNode,
    Varint,
    take,
    to_bytes,
)

__all__ = [
    "BOOLEAN", "COMPACT_LENGTH", "FLOAT64", "INT8", "INT16", "INT32", "INT64", "NO_DEFAULT", "TAGGED", "UINT16",
    "UINT32", "UVARINT", "VARINT", "VARLONG", "Field", "Fixed", "Length", "LengthPrefixed", "Node", "NullableStruct",
    "RemainingBytes", "Sized", "Stream", "UnreadStruct", "UuidNode", "Varint", "WireArray", "WireStruct", "build",
    "join", "take", "to_bytes",
]  # fmt: skip


Change = Callable[[Any], Any]


Entry = TypeVar("Entry")


class ByClass(dict[type[Node], Entry]):
    """Class of node -> what a reading does with it; a subclass goes by the nearest class that is listed."""

    def __missing__(self, kind: type[Node]) -> Entry:
        self[kind] = next(self[base] for base in kind.__mro__[1:] if base in self)
        return self[kind]


class Child:
    """The one node inside another that stands for the same value: a nullable structure's, a length-prefixed item."""

    key = ""
    """The name of a field; "" for what has none."""
    repeated = False
    """Whether a value holds any number of it, by their indexes."""
    always = True
    """Whether a value that is whole holds it: tagged fields may be left out."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def values(self, value: Any) -> Iterator[Any]:
        """Yield the child's values in the value of its node."""
        if value is not None:
            yield value

    def replaced(self, value: Any, change: Change) -> Any:
        """Return the value with the child's values changed; a list or dict is changed itself."""
        return None if value is None else change(value)


class Item(Child):
    """The items of an array."""

    repeated = True

    def values(self, value: Any) -> Iterator[Any]:
        yield from value or ()

    def replaced(self, value: Any, change: Change) -> Any:
        for i, item in enumerate(value or ()):
            value[i] = change(item)
        return value


class Member(Child):
    """A field of a structure, plain or tagged; one that the value does not have is passed over."""

    key: str
    always: bool

    def __init__(self, field: Field) -> None:
        super().__init__(field.node)
        self.key, self.always = field.name, field.tag is None

    def values(self, value: Any) -> Iterator[Any]:
        if value is not None and self.key in value:
            yield value[self.key]

    def replaced(self, value: Any, change: Change) -> Any:
        if value is not None and self.key in value:
            value[self.key] = change(value[self.key])
        return value


@cache
def children(node: Node) -> tuple[Child, ...]:
    """Return the children of a node in the order of the wire; a leaf, as a record set is one, has none."""
    if isinstance(node, WireStruct):
        return tuple(map(Member, node.members))
    if isinstance(node, WireArray):
        return (Item(node.item),)
    if isinstance(node, NullableStruct):
        return (Child(node.struct),)
    return (Child(node.item),) if isinstance(node, LengthPrefixed) else ()


def contains(node: Node, wanted: Callable[[Node], bool]) -> bool:
    """Return whether `wanted` is true of a node or of any below it."""
    return wanted(node) or any(contains(child.node, wanted) for child in children(node))
