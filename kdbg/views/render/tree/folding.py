"""A tree that folds what says nothing beyond its default, and of long arrays all but the first and what went wrong.

What is odd never is folded away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from ....protocol.findings import Finding, amounts
from ....protocol.grammars.errors import error_name
from ....protocol.wire.nodes import NO_DEFAULT, Field, Node, NullableStruct, WireArray, WireStruct, contains
from ....protocol.wire.readings.outline import outline
from ..style import Look
from .tree import Codes, Draw, Topics, Tree

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
def codes_in(node: Node) -> Codes | None:
    """Return what finds the error codes that are not 0 in a value; None where there is no such field."""
    if not contains(node, lambda inner: inner.kind == "error"):
        return None
    if isinstance(node, WireStruct):
        read = outline(node)
        return lambda value: read(value)[2]
    field = Field("items", node)
    read_field = outline(WireStruct((field,), None))
    return lambda value: read_field({"items": value})[2]


def error_names(codes: Iterable[int]) -> str:
    """Return error codes by their names, each with how often it is there: `2 NOT_LEADER_OR_FOLLOWER`."""
    return ", ".join(f"{count:,} {error_name(code)}" for code, count in Counter(codes).most_common())


def items_of(node: WireArray) -> WireStruct | None:
    """Return the structure of an array's items, if they are structures."""
    return node.item if isinstance(node.item, WireStruct) and not node.item.front else None


MOST_FAILED = 100
"""Failed items of an array that are shown; of those beyond, the names of the errors and how many there are."""


class FoldingTree(Tree):
    """Draws fields and items that say something; of a look with `full` all, down to the depth that it wants."""

    noted: frozenset[Place]

    def __init__(self, look: Look, topics: Topics) -> None:
        super().__init__(look, topics)
        self.noted = frozenset()
        """Values that findings are of: they are shown whatever they are."""
        self.level = 0

    @property
    def deepest(self) -> bool:
        """Whether what is inside the fields that are drawn now lies deeper than the look wants."""
        return self.look.depth is not None and self.level >= self.look.depth

    def fields(self, grammar: WireStruct, value: Mapping[str, Any], below: str, *, more: bool = False) -> None:
        rows = list(zip(self.rows(grammar), grammar.members, strict=True))
        found = [(row, field) for row, field in rows if row.key in value]
        kept = [row for row, field in found if not self.folds(field, value)]
        folded = len(found) - len(kept)
        self.level += 1
        self.draw_rows(kept, value, below, more=more or folded > 0)
        self.level -= 1
        if folded:
            text = self.look.paint("dim", f"… {amounts.count(folded, 'default')}")
            self.lines.append(f"{below}{self.mid if more else self.last}{text}")

    def folds(self, field: Field, value: Mapping[str, Any]) -> bool:
        """Return whether a field of a structure is folded away."""
        return not self.look.full and is_default(field, value[field.name]) and (id(value), field.name) not in self.noted

    def struct(self, grammar: WireStruct, *, more: bool = False) -> Draw:
        inner = super().struct(grammar, more=more)

        def struct(value: Mapping[str, Any], head: str, below: str) -> None:
            if self.deepest and self.level:
                self.lines.append(head)
                self.inside(grammar, value, below)
            else:
                inner(value, head, below)

        return struct

    def inside(self, node: Node, value: Any, below: str) -> None:
        """Say what a value that lies too deep holds; the errors in it by their names."""
        codes = codes_in(node)
        found = codes(value) if codes is not None else ()
        if found:
            self.lines.append(f"{below}{self.last}{self.look.paint('bad', error_names(found))}")

    def chosen(self, found: list[Any], codes: Codes | None) -> Sequence[int]:
        """Return the indexes of the first items, and of all that failed or that a finding is of."""
        most = self.look.max_items
        if len(found) <= most:
            return list(range(len(found)))
        odd = [i for i in range(most, len(found)) if (id(found), i) in self.noted]
        failed = [i for i in range(most, len(found)) if codes is not None and codes(found[i])]
        return [*range(most), *sorted({*odd, *failed[:MOST_FAILED]})]

    def left_out(self, found: list[Any], below: str, shown: Sequence[int], codes: Codes | None) -> None:
        """Say how many items are not shown, and which errors are in them."""
        known = set(shown)
        failed = [code for i in range(len(found)) if codes and i not in known for code in codes(found[i])]
        text = f"… {len(found) - len(shown):,} more" + (", all NONE" if codes and not failed else "")
        named = f", {self.look.paint('bad', error_names(failed))}" if failed else ""
        self.lines.append(f"{below}{self.last}{self.look.paint('dim', text)}{named}")
