"""Bodies of requests: written as bytes, with topics as each version names them (KIP-516), and as a form to fill in."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...exchanges.messages.guide_names import understood
from ...exchanges.messages.message import grammar_of
from ...exchanges.messages.reshape import rebuild
from ...protocol.wire import Api
from ...protocol.wire.nodes import Field, Node, NullableStruct, WireArray, WireStruct, build, children
from ...protocol.wire.records import RecordsNode
from .defaults import DEFAULTS, left_out
from .producing import HEADERS_SINCE, entries


def body_bytes(api: Api, version: int, body: Mapping[str, Any]) -> bytes:
    """Return the bytes of a body by its grammar, or by that of the guide whose fields it has.

    `BuildError` names the field that does not fit.
    """
    if version in api.versions:
        grammar, body = understood(api, "request", version, body)
    else:
        grammar = grammar_of(api, version, "request")
    return build(grammar, rebuild(body))


NAMES = ("name", "topic", "topic_name")


def unnamed(grammar: Node, value: Any) -> set[str]:
    """Return the topic names in `value` for which this grammar has no field, but one for the topic id."""
    found: set[str] = set()
    _walk(grammar, value, lambda topic, name: found.add(name))
    return found


def by_id(grammar: Node, value: Any, ids: Mapping[str, uuid.UUID]) -> Any:
    """Return the value with topic ids for the names that have no place; a name without a known id stays.

    A name under another key than the grammar's (`name` for `topic`) moves there: versions differ in that too.
    """

    def exchange(topic: dict[str, Any], name: str) -> dict[str, Any]:
        if name not in ids:
            return topic
        return {"topic_id": ids[name]} | {key: item for key, item in topic.items() if key not in NAMES}

    return _walk(grammar, value, exchange)


def _walk(grammar: Node, value: Any, exchange: Callable[[dict[str, Any], str], Any]) -> Any:
    """Return the value with `exchange` applied to every structure that has a topic's name where an id is wanted."""
    if isinstance(grammar, NullableStruct):
        grammar = grammar.struct
    if isinstance(grammar, WireArray) and isinstance(value, list):
        return [_walk(grammar.item, item, exchange) for item in value]
    if not isinstance(grammar, WireStruct) or not isinstance(value, Mapping):
        return value
    inner = {field.name: field.node for field in grammar.members}
    walked = {key: _walk(inner[key], item, exchange) if key in inner else item for key, item in value.items()}
    given = next((key for key in NAMES if key in value and key not in inner), None)
    if given is None or value[given] is None:
        return walked
    if "topic_id" in inner and "topic_id" not in value:
        return exchange(walked, value[given])
    own = next((key for key, node in inner.items() if node.kind == "topic" and key in NAMES and key not in value), None)
    return walked if own is None else {own if key == given else key: item for key, item in walked.items()}


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
