"""The fields that a structure of values has, each with the node of the grammar that it was read by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ...protocol.wire.nodes import Node, WireStruct, join
from ...protocol.wire.readings.bnf import structure
from ...protocol.wire.records.node import RecordsNode

Nodes = Mapping[str, Node]
"""The nodes of a structure's fields, by their names."""
Leaf = tuple[str, Node | None, Any]
"""A field's path, which has `[]` for any item of an array; the node that it was read by, and its value."""


@cache
def nodes(struct: WireStruct | None) -> Nodes:
    """Return the nodes of a structure's fields; none where no grammar says what a value is."""
    return {field.name: field.node for field in struct.members} if struct is not None else {}


def inside(node: Node | None) -> WireStruct | None:
    """Return the structure of what a field holds: of its items, or of the batches of a record set."""
    return node.format.batch if isinstance(node, RecordsNode) else structure(node) if node is not None else None


def leaves(
    value: Mapping[str, Any], struct: WireStruct | None, path: str = ""
) -> Iterator[tuple[str, Node | None, Any]]:
    """Yield (path, node, value) of every field that is no structure; an item's path ends with `[]`, whichever it is."""
    for name, inner in value.items():
        yield from _leaves(inner, nodes(struct).get(name), join(path, name))


def _leaves(value: Any, node: Node | None, path: str) -> Iterator[Leaf]:
    if isinstance(value, Mapping):
        yield from leaves(value, inside(node), path)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for item in value:
            yield from _leaves(item, node, f"{path}[]")
    else:
        yield path, node, value
