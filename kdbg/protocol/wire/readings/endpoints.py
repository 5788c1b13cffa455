"""Where a message says that a node can be reached: a generated reading that finds such addresses, and their change.

An endpoint is a structure with a field of the kind "host" and one of the kind "port". `endpoints_reader` finds them
without a value, so that a message which has none costs little; `with_endpoints` writes a message with others. Records
are passed over as bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..nodes import Field, Fixed, LengthPrefixed, Node, NullableStruct, Varint, WireArray, WireStruct, build
from ..nodes.children import children, contains
from ..records.node import RecordsNode
from .codegen import CodeGenerator
from .compiled import Reader, message_reader

Change = Callable[[str, int], tuple[str, int]]
"""Returns the host and port that are to stand in place of these."""
EndpointsReader = Callable[[bytes], list[str]]
"""Returns the hosts of all endpoints in a message; raises one of `UNREADABLE` where one cannot be read. Some brokers
write bytes behind their messages: those do no harm."""


def is_host(node: Node) -> bool:
    """Return whether a node is the host of an endpoint."""
    return node.kind == "host"


@cache
def endpoints_reader(header: Node, body: WireStruct) -> EndpointsReader | None:
    """Return what finds the endpoints in messages of this header and body; None for a layout that has none."""
    return Endpoints().message_function(header, body) if contains(body, is_host) else None


class Endpoints(CodeGenerator):
    """Writes a function that gathers hosts, and passes over all else."""

    def message_function(self, header: Node, body: WireStruct) -> EndpointsReader:
        """Return the function for messages of this header and body."""
        self.line(1, "found = []")
        self.read(header, 1)
        self.read(body, 1)
        self.flush(1)
        self.line(1, "if pos > len(data): raise Unreadable")
        return self.define("hosts(data, pos=0)", "found")  # type: ignore[no-any-return]

    def tag_function(self, node: Node) -> Reader:
        """Return the function for a tagged field."""
        self.line(1, "found = []")
        self.read(node, 1)
        self.flush(1)
        return self.define("hosts(data, pos=0)", "found, pos")  # type: ignore[no-any-return]

    def leaf(self, node: Node, depth: int) -> str:
        if not is_host(node):
            return super().leaf(node, depth)
        host = self.value(node, depth)
        self.flush(depth)
        self.line(depth, f"found.append({host})")
        return ""

    def tags(self, node: WireStruct, value: str, depth: int) -> None:
        holding = [field.name for field in (node.tags or {}).values() if contains(field.node, is_host)]
        if not holding:
            super().tags(node, value, depth)
            return
        tagged = self.fresh("t")
        self.line(depth, f"{tagged} = {{}}")
        super().tags(node, tagged, depth)
        for name in holding:
            self.line(depth, f"found += {tagged}.get({name!r}, ())")

    def tag_reader(self, node: Node) -> Reader:
        return Endpoints().tag_function(node) if contains(node, is_host) else super().tag_reader(node)


def with_endpoints(header: Node, body: WireStruct, data: bytes, change: Change) -> bytes:
    """Return a message with each endpoint changed; raise one of `UNREADABLE` where it cannot be read.

    All else is as it was, down to tagged fields that nobody knows and bytes behind the message.
    """
    plain = without_records(body)
    (head, value), end = message_reader(header, plain)(data, 0)
    _change(plain, value, change)
    return build(header, head, "header") + build(plain, value) + data[end:]


def _change(node: Node, value: Any, change: Change) -> None:
    """Change the endpoints in a value, in place."""
    if value is None or not contains(node, is_host):
        return
    if isinstance(node, WireStruct):
        kinds = {field.node.kind: field.name for field in node.members}
        if "host" in kinds and "port" in kinds and value.get(kinds["host"]) is not None:
            host, port = kinds["host"], kinds["port"]
            value[host], value[port] = change(value[host], value[port])
    for child in children(node):
        for inner in child.values(value):
            _change(child.node, inner, change)


@cache
def without_records(node: Node) -> Any:
    """Return the same layout with record sets as plain bytes."""
    if isinstance(node, RecordsNode):
        return node.sized()
    if not contains(node, lambda each: isinstance(each, RecordsNode)):
        return node
    if isinstance(node, WireStruct):
        tags = None if node.tags is None else {tag: _without(field) for tag, field in node.tags.items()}
        return WireStruct(tuple(map(_without, node.fields)), tags, front=node.front)
    if isinstance(node, WireArray):
        return WireArray(node.bnf, node.length, without_records(node.item), nullable=node.nullable)
    if isinstance(node, NullableStruct):
        return NullableStruct(without_records(node.struct), null=node.null)
    assert isinstance(node, LengthPrefixed)
    assert isinstance(node.length.number, (Fixed, Varint))
    return LengthPrefixed(node.length.number, without_records(node.item))


def _without(field: Field) -> Field:
    return field._replace(node=without_records(field.node))
