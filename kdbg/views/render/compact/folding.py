"""What may be folded away in a tree: fields that say nothing beyond their default. What is odd never is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from ....protocol.findings import Finding
from ....protocol.grammars.errors import error_name
from ....protocol.wire.nodes import Field, Node, NullableStruct, WireArray, WireStruct
from ....protocol.wire.nodes.children import contains
from ....protocol.wire.nodes.composite import NO_DEFAULT
from ....protocol.wire.readings.outline import outline

NAMES = frozenset({"topic", "topic_id", "partition", "group", "api"})
"""Kinds of fields that say what all others are of."""
NO_ID = UUID(int=0)
STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
Place = tuple[int, str | int]
"""A value inside another, by the identity of that and its name or index there."""


def is_default(field: Field, value: Any) -> bool:
    """Return whether a field says no more than if it were not there: its default, an empty array, no error."""
    node = field.node
    if value == [] or (isinstance(value, UUID) and value == NO_ID):
        return True
    if node.kind in NAMES:
        return False
    if value == "":
        return True
    if isinstance(node, NullableStruct) and value is None:
        return True
    if field.initial is not NO_DEFAULT or isinstance(node, WireStruct):
        return bool(type(value) is type(field.default) and value == field.default)
    return value == 0 and (node.kind == "error" or field.name == "throttle_time_ms")


def places(findings: Iterable[Finding], body: Any) -> frozenset[Place]:
    """Return the values of a body on the way to what findings are of, as far as there are such."""
    found: set[Place] = set()
    for finding in findings:
        value = body
        for name, index in STEP.findall(finding.path):
            key = name or int(index)
            found.add((id(value), key))
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                break
    return frozenset(found)


@cache
def codes_in(node: Node) -> Callable[[Any], Sequence[int]] | None:
    """Return what finds the error codes that are not 0 in a value; None where there is no such field."""
    if not _has_errors(node):
        return None
    if isinstance(node, WireStruct):
        read = outline(node)
        return lambda value: read(value)[2]
    field = Field("items", node)
    read_field = outline(WireStruct((field,), None))
    return lambda value: read_field({"items": value})[2]


def _has_errors(node: Node) -> bool:
    return contains(node, lambda inner: inner.kind == "error")


def error_names(codes: Iterable[int]) -> str:
    """Return error codes by their names, each with how often it is there: `2 NOT_LEADER_OR_FOLLOWER`."""
    return ", ".join(f"{count:,} {error_name(code)}" for code, count in Counter(codes).most_common())


def items_of(node: WireArray) -> WireStruct | None:
    """Return the structure of an array's items, if they are structures."""
    return node.item if isinstance(node.item, WireStruct) and not node.item.front else None
