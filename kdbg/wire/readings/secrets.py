"""What no view shows by default: which fields of a grammar are secret, and values with those fields hidden.

A field is secret because its declaration says so (`Secret(Bytes)`), always, or when a sibling says so: a boolean
such as `is_sensitive`, or the name of a configuration key that sounds like one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from ..language.payload import Opened, Sealed
from ..nodes import TAGGED, LengthPrefixed, Node, NullableStruct, Rest, Sized, WireArray, WireStruct

SENSITIVE = re.compile(r"password|secret|jaas|credential|token|private|keystore\.key|oauth", re.IGNORECASE)
"""Names of configuration keys whose values Kafka itself treats as passwords, and their look-alikes."""


class Hidden(bytes):
    """Stands in a value where a secret was: so many bytes, none of them shown."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes hidden>"


def is_secret(node: Node, siblings: Mapping[str, Any]) -> bool:
    """Whether a field must be hidden, given the values beside it; where the one that decides is missing, it must."""
    if not isinstance(node, (Sized, Rest)) or node.kind != "secret":
        return False
    if not node.when or node.when not in siblings:
        return True
    says = siblings[node.when]
    return bool(SENSITIVE.search(says)) if isinstance(says, str) else bool(says)


@cache
def has_secrets(node: Node) -> bool:
    """Whether a value of this grammar can hold a secret at all."""
    return any(
        (isinstance(child, (Sized, Rest)) and child.kind == "secret") or has_secrets(child) for child in _children(node)
    )


def _children(node: Node) -> list[Node]:
    if isinstance(node, WireStruct):
        return [field.node for field in node.members]
    if isinstance(node, WireArray):
        return [node.item]
    if isinstance(node, NullableStruct):
        return [node.struct]
    return [node.item] if isinstance(node, LengthPrefixed) else []


def hide(node: Node, value: Any) -> Any:
    """The value with its secrets replaced by `Hidden` of the same length; shares whatever holds none."""
    if value is None or not has_secrets(node):
        return value
    if isinstance(node, WireArray):
        return [hide(node.item, item) for item in value]
    if isinstance(node, NullableStruct):
        return hide(node.struct, value)
    if not isinstance(node, WireStruct):
        return value
    shown = dict(value)
    if TAGGED in shown:  # nobody knows what stands in those
        shown[TAGGED] = {tag: Hidden(len(data)) for tag, data in shown[TAGGED].items()}
    for field in node.members:
        if field.name in shown:
            item = shown[field.name]
            secret = item is not None and is_secret(field.node, value)
            shown[field.name] = _hidden(item) if secret else hide(field.node, item)
    return shown


def _hidden(item: Any) -> bytes:
    """What stands in place of a secret: of one that opens, no more is hidden than must be."""
    return veil(item) if isinstance(item, Opened) else Hidden(len(item))


def veil(data: Any) -> Any:
    """Bytes as views show them by default: payloads with the secrets in them hidden, all others as they are."""
    if isinstance(data, Sealed):
        return Hidden(len(data))
    if not isinstance(data, Opened) or not data.secret:
        return data
    return Opened.of(bytes(len(data)), data.name, data.grammar, hide(data.grammar, data.value), secret=True)


SHIFTING = frozenset({"truncated", "bad-length", "bad-value", "leftover", "null", "tag-order"})
"""Findings after which no field can be trusted to hold what its name says: a wrong length shifts all that follow."""


def hide_all(value: Any) -> Any:
    """The value with every string and all bytes hidden: for broken messages of a grammar that has secrets."""
    if isinstance(value, Mapping):
        return {key: hide_all(item) for key, item in value.items()}
    if isinstance(value, list):
        return [hide_all(item) for item in value]
    if isinstance(value, str):
        return Hidden(len(value.encode("utf-8", "surrogateescape")))
    return Hidden(len(value)) if isinstance(value, bytes) else value
