"""A body to fill in: every field of a grammar with its default, every array with one element."""

from __future__ import annotations

import uuid
from typing import Any

from ..wire import Api
from ..wire.nodes import NO_DEFAULT, Node, WireStruct
from ..wire.nodes.children import children
from ..wire.records.node import RecordsNode
from .producing import HEADERS_SINCE, entries


def template(api: Api, version: int) -> dict[str, Any]:
    """The body of a request as JSON can say it; `UnknownVersion` for a version that kdbg does not know."""
    return _struct(api.at("request", version), version)


def _struct(node: WireStruct, version: int) -> dict[str, Any]:
    return {field.name: _value(field.node, field.initial, version) for field in node.members}


def _value(node: Node, initial: Any, version: int) -> Any:
    if isinstance(node, WireStruct):
        return _struct(node, version)
    if isinstance(node, RecordsNode):
        return _records(version)
    for child in children(node):
        inside = _value(child.node, NO_DEFAULT, version)
        return [inside] if child.repeated else inside
    return _plain(node.default() if initial is NO_DEFAULT else initial)


def _records(version: int) -> list[dict[str, Any]]:
    """One record, in the format that this version of Produce carries."""
    return entries(version, ("",), None, (("", ""),) if version >= HEADERS_SINCE else (), -1, "none", None)


def _plain(value: Any) -> Any:
    """A default as JSON has it: a string stands for its UTF-8."""
    if isinstance(value, bytes):
        return value.decode()
    return str(value) if isinstance(value, uuid.UUID) else value
