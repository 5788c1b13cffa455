"""What a message is about: the topics, partitions, groups and error codes in a value, found by its grammar.

`outline(grammar)` returns a function over values of that grammar, compiled once. Filters, the summary and the tables
are made of its rows; a message that was read only in part gives the rows of that part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from .nodes import Node, NullableStruct, WireArray, WireStruct
from .recordsnode import RecordsNode


class Row(NamedTuple):
    """One topic, or one partition of it, as a message mentions it. `topic` is a UUID where only the id is given."""

    topic: Any
    partition: int | None
    error: int
    records: int | None


class Outline(NamedTuple):
    """The rows of a message, the groups it names, and every error code in it that is not zero."""

    rows: list[Row]
    groups: list[str]
    errors: list[int]


def count_records(entries: Any) -> int:
    """How many records a record set holds, decoded or not."""
    return sum(
        entry["records_count"] if "records_count" in entry else len(entry["records"]) if "records" in entry else 1
        for entry in entries or ()
        if "magic" in entry
    )


def best_name(one: Any, other: Any) -> Any:
    """Of a topic's name and its id, in either order, the name, unless it is missing."""
    name, topic_id = (other, one) if isinstance(one, UUID) else (one, other)
    return name if name else topic_id


_KINDS = {"topic": "topic", "topic_id": "topic", "partition": "partition", "error": "error"}


@cache
def outline(grammar: WireStruct) -> Callable[[Any], Outline]:
    """The function that outlines values of `grammar`."""
    writer = _Writer()
    writer.struct(grammar, "value", {}, 1)
    source = "\n".join(["def walk(value, rows, groups, errors):", *(writer.lines or ["    pass"])])
    names: dict[str, Any] = {"Row": Row, "count_records": count_records, "best_name": best_name}
    exec(compile(source, "<compiled outline>", "exec"), names)
    walk = names["walk"]

    def read(value: Any) -> Outline:
        rows: list[Row] = []
        groups: list[str] = []
        errors: list[int] = []
        try:
            walk(value, rows, groups, errors)
        except (KeyError, TypeError, AttributeError):  # a message that broke off: what was found before stands
            return Outline(rows, groups, errors)
        return Outline(rows, groups, errors)

    return read


@cache
def relevant(node: Node) -> bool:
    """Whether anything below `node` says what a message is about."""
    if isinstance(node, WireArray):
        return relevant(node.item)
    if isinstance(node, NullableStruct):
        return relevant(node.struct)
    if isinstance(node, WireStruct):
        return any(relevant(known.node) for known in node.fields)
    return node.kind in _KINDS or node.kind == "group" or isinstance(node, RecordsNode)


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def struct(self, node: WireStruct, value: str, around: dict[str, str], depth: int) -> None:
        """Write the rows of one structure; `around` are the topic and partition that it stands in."""
        own = dict(around)
        inner: list[tuple[Node, str]] = []
        for known in node.fields:
            if not relevant(known.node):
                continue
            item = f"{value}[{known.name!r}]"
            if isinstance(known.node, (WireArray, WireStruct, NullableStruct)):
                inner.append((known.node, item))
            elif known.node.kind == "group":
                self.line(depth, f"groups.append({item})")
            elif isinstance(known.node, RecordsNode):
                own["records"] = f"count_records({item})"
            else:
                self.leaf(_KINDS[known.node.kind], item, own, depth)
        self.row(own, around, inner, depth)
        for child, item in inner:
            self.child(child, item, own, depth)

    def leaf(self, kind: str, item: str, own: dict[str, str], depth: int) -> None:
        name = f"{kind}_{self.fresh()}"
        before = own.get(kind)
        both = kind == "topic" and before is not None
        self.line(depth, f"{name} = best_name({before}, {item})" if both else f"{name} = {item}")
        if kind == "error":
            self.line(depth, f"if {name}: errors.append({name})")
        own[kind] = name

    def row(self, own: dict[str, str], around: dict[str, str], inner: list[tuple[Node, str]], depth: int) -> None:
        """A row for this structure; where it only frames others, only if it has an error or frames nothing."""
        if set(own) - set(around) <= {"error"} and "topic" not in own:
            return
        if inner:
            conditions = [f"not {item}" for _, item in inner] + [own[kind] for kind in ("error",) if kind in own]
            self.line(depth, f"if {' or '.join(conditions)}:")
            depth += 1
        self.append(own, depth)

    def child(self, node: Node, item: str, own: dict[str, str], depth: int) -> None:
        around = {kind: name for kind, name in own.items() if kind in ("topic", "partition")}
        value = self.fresh()
        if isinstance(node, WireArray):
            self.line(depth, f"for {value} in {item} or ():")
            self.item(node.item, value, around, depth + 1)
        else:
            self.line(depth, f"{value} = {item}")
            self.line(depth, f"if {value} is not None:")
            self.item(node, value, around, depth + 1)

    def item(self, node: Node, value: str, around: dict[str, str], depth: int) -> None:
        if isinstance(node, NullableStruct):
            node = node.struct
        if isinstance(node, WireStruct):
            self.line(depth, "pass")
            self.struct(node, value, around, depth)
        elif node.kind == "group":
            self.line(depth, f"groups.append({value})")
        elif node.kind == "error":
            self.line(depth, f"if {value}: errors.append({value})")
        else:
            self.append(around | {_KINDS[node.kind]: value}, depth)

    def append(self, own: dict[str, str], depth: int) -> None:
        known = [own.get(kind, default) for kind, default in (("topic", None), ("partition", None), ("error", 0))]
        self.line(depth, f"rows.append(Row({', '.join(map(str, known))}, {own.get('records')}))")
