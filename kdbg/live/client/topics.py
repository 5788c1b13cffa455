"""Bodies that name topics, as each version wants it: ids in place of names (KIP-516), and names under its own key."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from ...protocol.wire.nodes import Node, NullableStruct, WireArray, WireStruct

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
