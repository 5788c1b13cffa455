"""A grammar as rows of (path, type): for comparing layouts, versions and front ends.

`topics[].partitions[].leader_id` is a field, `topics[].~` the tagged fields of a structure with the tags it knows,
`topics[].~0:cluster_id` the tagged field 0; optional fields (the draft of KIP-482) have `^` for `~`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..nodes import LengthPrefixed, Node, NullableStruct, WireArray, WireStruct, join


class LayoutRow(NamedTuple):
    path: str
    type: str
    tags: tuple[tuple[int, str], ...] | None = None
    """For the tagged fields of a structure: the (tag, name) pairs it knows."""


def layout(struct: WireStruct, path: str = "") -> Iterator[LayoutRow]:
    """Yield the rows of a structure and of all below it, in wire order."""
    if struct.front:
        yield from _tagged(struct, path, "^", "optional_fields")
    for field in struct.fields:
        yield from _rows(field.node, join(path, field.name))
    if not struct.front:
        yield from _tagged(struct, path, "~", "tagged_fields")


def _tagged(struct: WireStruct, path: str, sign: str, type: str) -> Iterator[LayoutRow]:
    if struct.tags is None:
        return
    tags = sorted(struct.tags.items())
    yield LayoutRow(join(path, sign), type, tuple((tag, field.name) for tag, field in tags))
    for tag, field in tags:
        yield from _rows(field.node, join(path, f"{sign}{tag}:{field.name}"))


def _rows(node: Node, path: str) -> Iterator[LayoutRow]:
    yield LayoutRow(path, node.bnf.lower())
    if isinstance(node, WireArray):
        item = node.item
        if isinstance(item, WireStruct):
            yield from layout(item, f"{path}[]")
        else:
            yield from _rows(item, f"{path}[]")
    elif isinstance(node, WireStruct):
        yield from layout(node, path)
    elif isinstance(node, NullableStruct):
        yield from layout(node.struct, path)
    elif isinstance(node, LengthPrefixed):
        yield from layout(node.item, path)


class Change(NamedTuple):
    """One difference between two layouts: `sign` is '+', '-' or '~' (the type changed)."""

    sign: str
    path: str
    type: str
    former: str = ""


def compare(old: WireStruct, new: WireStruct) -> list[Change]:
    """Return what the newer layout added and changed, in the order of its fields, then what it dropped."""
    before = {row.path: row.type for row in layout(old)}
    after = {row.path: row.type for row in layout(new)}
    changes = [
        Change("+", path, type) if path not in before else Change("~", path, type, before[path])
        for path, type in after.items()
        if before.get(path) != type
    ]
    return changes + [Change("-", path, type) for path, type in before.items() if path not in after]
