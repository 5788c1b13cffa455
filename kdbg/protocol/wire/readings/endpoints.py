"""Where a message says that a node can be reached: such addresses found, and changed.

An endpoint is a structure with a field of the kind "host" and one of the kind "port". `endpoints_reader` finds them;
`with_endpoints` writes a message with others. Records are passed over as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from ..nodes import Node, WireStruct, build, children, contains
from .compiled import message_reader
from .runtime import Unreadable

Change = Callable[[str, int], tuple[str, int]]
"""Returns the host and port that are to stand in place of these."""
EndpointsReader = Callable[[bytes], list[str]]
"""Returns the hosts of all endpoints in a message; raises one of `UNREADABLE` where one cannot be read. Some brokers
write bytes after their messages: those do no harm."""


def is_host(node: Node) -> bool:
    """Return whether a node is the host of an endpoint."""
    return node.kind == "host"


@cache
def endpoints_reader(header: Node, body: WireStruct) -> EndpointsReader | None:
    """Return what finds the endpoints in messages of this header and body; None for a layout that has none."""
    if not contains(body, is_host):
        return None
    read_both = message_reader(header, body, raw=True)

    def hosts(data: bytes) -> list[str]:
        (_, value), end = read_both(data, 0)
        if end > len(data):
            raise Unreadable
        return list(_hosts(body, value))

    return hosts


def _hosts(node: Node, value: Any) -> Iterator[str]:
    """Yield the hosts in a value."""
    if is_host(node):
        yield value
    elif contains(node, is_host):
        for child in children(node):
            for inner in child.values(value):
                yield from _hosts(child.node, inner)


def with_endpoints(header: Node, body: WireStruct, data: bytes, change: Change) -> bytes:
    """Return a message with each endpoint changed; raise one of `UNREADABLE` where it cannot be read.

    All else is as it was, down to tagged fields that nobody knows and bytes after the message.
    """
    (head, value), end = message_reader(header, body, raw=True)(data, 0)
    _change(body, value, change)
    return build(header, head, "header") + build(body, value) + data[end:]


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
