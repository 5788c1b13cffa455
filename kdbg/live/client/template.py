"""A body to fill in: every field of a grammar with what it says if left out, every array with one element."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...protocol.wire import Api
from ...protocol.wire.nodes import Field, Node, WireStruct
from ...protocol.wire.nodes.children import children
from ...protocol.wire.records.node import RecordsNode
from .defaults import DEFAULTS, left_out
from .producing import HEADERS_SINCE, entries


def template(api: Api, version: int) -> dict[str, Any]:
    """Return a request body with every field, as JSON can say it; `UnknownVersion` for an unknown version."""
    made: dict[str, Any] = _value(api.at("request", version), None, "", _Template(version, DEFAULTS.get(api.name, {})))
    return made


class _Template(NamedTuple):
    """What a template is of: `defaults` are those of defaults.py."""

    version: int
    defaults: Mapping[str, Any]


def _value(node: Node, field: Field | None, path: str, of: _Template) -> Any:
    """Return the template of a node: `field` is the one at `path`, None for an array's item or behind a marker."""
    if isinstance(node, WireStruct):
        return {one.name: _value(one.node, one, f"{path}.{one.name}".lstrip("."), of) for one in node.members}
    if isinstance(node, RecordsNode):
        return _records(of.version)
    for child in children(node):
        inside = _value(child.node, None, path, of)
        return [inside] if child.repeated else inside
    return _plain(node.default() if field is None else left_out(field, path, of.defaults))


def _records(version: int) -> list[dict[str, Any]]:
    """Return one record, in the format that this version of Produce carries."""
    return entries(version, ("",), None, (("", ""),) if version >= HEADERS_SINCE else (), -1, "none", None)


def _plain(value: Any) -> Any:
    """Return a default as JSON has it: bytes as text in UTF-8, a UUID as a string."""
    if isinstance(value, bytes):
        return value.decode()
    return str(value) if isinstance(value, uuid.UUID) else value
