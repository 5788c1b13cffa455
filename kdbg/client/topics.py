"""Bodies that name topics, for versions that want topic ids instead (KIP-516): the name is exchanged for the id."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from ..wire.nodes import Node, NullableStruct, WireArray, WireStruct

NAMES = ("name", "topic", "topic_name")


def unnamed(grammar: Node, value: Any) -> set[str]:
    """The names of topics in `value` that this grammar has no place for, but a place for their id."""
    found: set[str] = set()
    _walk(grammar, value, lambda topic, name: found.add(name))
    return found


def by_id(grammar: Node, value: Any, ids: Mapping[str, uuid.UUID]) -> Any:
    """The value with topic ids for the names that have no place; a name without a known id stays."""

    def exchange(topic: dict[str, Any], name: str) -> dict[str, Any]:
        if name not in ids:
            return topic
        return {"topic_id": ids[name]} | {key: item for key, item in topic.items() if key not in NAMES}

    return _walk(grammar, value, exchange)


def _walk(grammar: Node, value: Any, exchange: Callable[[dict[str, Any], str], Any]) -> Any:
    """The value, with `exchange` applied to every structure that has a topic's name where an id is wanted."""
    if isinstance(grammar, NullableStruct):
        grammar = grammar.struct
    if isinstance(grammar, WireArray) and isinstance(value, list):
        return [_walk(grammar.item, item, exchange) for item in value]
    if not isinstance(grammar, WireStruct) or not isinstance(value, Mapping):
        return value
    inner = {field.name: field.node for field in grammar.members}
    walked = {key: _walk(inner[key], item, exchange) if key in inner else item for key, item in value.items()}
    if "topic_id" in inner and "topic_id" not in value:
        name = next((value[key] for key in NAMES if key in value and key not in inner), None)
        if name is not None:
            return exchange(walked, name)
    return walked
