"""What no view shows by default: which fields and configuration keys are secret, and values without them."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping
from copy import copy
from functools import cache, partial
from typing import Any, Final
from uuid import UUID

from ...findings.amounts import count
from ..language.payload import OpenedPayload, Sealed
from ..nodes import TAGGED, Node, RemainingBytes, Sized, WireStruct, children, contains

LISTENER: Final = re.compile(r"listener\.name\.[\w-]+\.(?:(?:plain|gssapi|oauthbearer|scram-sha-256|scram-sha-512)\.)?")
"""What may stand in front of a broker's key: the listener that it is for, and the mechanism (KIP-103, KIP-226)."""


@cache
def public_names() -> frozenset[str]:
    """Return the configuration keys that Kafka's own definitions do not mark as sensitive: public_configs.txt."""
    return frozenset((pkgutil.get_data(__name__, "public_configs.txt") or b"").decode().split())


LARGE: Final = 1 << 15
"""Numbers below it stay in broken messages, if they stand alone: they are no more than two bytes of a secret."""
ERROR_CODE: Final = "error_code"


class Hidden(bytes):
    """Stands in a value where a secret was: so many bytes, none of them shown."""

    def __repr__(self) -> str:
        return f"<{count(len(self), 'byte')} redacted>"


def is_secret(node: Node, siblings: Mapping[str, Any]) -> bool:
    """Return whether a field must be hidden, given the values beside it; it must if the one that decides is missing."""
    if not isinstance(node, (Sized, RemainingBytes)) or node.kind != "secret":
        return False
    if not node.when or node.when not in siblings:
        return True
    says = siblings[node.when]
    if not isinstance(says, str):
        return bool(says)
    listener = LISTENER.match(says)
    return not public_names() & {says, says[listener.end() :] if listener else says}


@cache
def has_secrets(node: Node) -> bool:
    """Return whether a value of this grammar can hold a secret at all."""
    return contains(node, lambda inner: isinstance(inner, (Sized, RemainingBytes)) and inner.kind == "secret")


def secret_members(node: WireStruct, value: Mapping[str, Any]) -> list[str]:
    """Return the names of a structure's fields that are secret, or whose items are, as its value decides it."""
    if not has_secrets(node):
        return []
    return [each.key for each in children(node) if has_secrets(each.node) and _is_secret_below(each.node, value)]


def _is_secret_below(node: Node, siblings: Mapping[str, Any]) -> bool:
    """Return whether a value of this node or its items are secret, as far as the structure around them decides it."""
    if isinstance(node, WireStruct):
        return False
    return is_secret(node, siblings) or any(_is_secret_below(child.node, siblings) for child in children(node))


def hide(node: Node, value: Any, siblings: Mapping[str, Any] = {}) -> Any:
    """Return the value with its secrets replaced by `Hidden` of the same length; what holds none is shared.

    `siblings` is the structure that the value stands in, which may decide whether it is secret.
    """
    return _hide(node, value, siblings) if has_secrets(node) else value


def _hide(node: Node, value: Any, siblings: Mapping[str, Any]) -> Any:
    if value is None:
        return value
    if not has_secrets(node):
        return without_tags(value)
    if is_secret(node, siblings):  # of an opened payload only its own secrets are hidden
        return veil(value) if isinstance(value, OpenedPayload) else Hidden(len(value))
    inside: Mapping[str, Any] = value if isinstance(node, WireStruct) else siblings
    shown = copy(value)
    if isinstance(node, WireStruct) and TAGGED in shown:  # nobody knows what stands in those
        shown[TAGGED] = {tag: Hidden(len(data)) for tag, data in shown[TAGGED].items()}
    for child in children(node):
        shown = child.replaced(shown, partial(_hide, child.node, siblings=inside))
    return shown


def without_tags(value: Any) -> Any:
    """Return a value beside which secrets stand with its unknown tagged fields hidden: damage may have moved one there.

    What has none is shared.
    """
    if isinstance(value, dict):
        shown = {key: without_tags(item) for key, item in value.items() if key != TAGGED}
        if TAGGED in value:
            shown[TAGGED] = {tag: Hidden(len(data)) for tag, data in value[TAGGED].items()}
        return shown if any(shown[key] is not value[key] for key in value) else value
    if isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        items = [without_tags(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def veil(data: Any) -> Any:
    """Return bytes as views show them by default: sealed bytes and secrets in payloads hidden, others as they are."""
    if isinstance(data, Sealed):
        return Hidden(len(data))
    if not isinstance(data, OpenedPayload) or not data.secret:
        return data
    return OpenedPayload.of(bytes(len(data)), data.name, data.grammar, _hide(data.grammar, data.value, {}), secret=True)


def may_reveal(value: Any, listed: bool) -> bool:
    """Return whether a number may be a part of a secret: one of an array (`listed`), or one of many digits."""
    if isinstance(value, bool):
        return False
    return isinstance(value, float) or (isinstance(value, int) and (listed or not -LARGE <= value < LARGE))


def hide_all(value: Any, listed: bool = False, numbers: bool = True) -> Any:
    """Return the value with all that may be a secret hidden: for broken messages that may hold some.

    That is every string, id, all bytes, and `numbers` as `may_reveal` has them; those that say how records are laid
    out, or how much of them is there, stay, and so do error codes, which are told elsewhere, too.
    """
    if isinstance(value, Mapping):
        numbers = numbers and "magic" not in value and "of" not in value
        return {key: item if key == ERROR_CODE else hide_all(item, listed, numbers) for key, item in value.items()}
    if isinstance(value, list):
        return [hide_all(item, True, numbers) for item in value]
    if numbers and may_reveal(value, listed):
        return Hidden(8 if isinstance(value, float) or value.bit_length() > 31 else 4)
    if isinstance(value, str):
        return Hidden(len(value.encode("utf-8", "surrogateescape")))
    if isinstance(value, UUID):
        return Hidden(16)
    return Hidden(len(value)) if isinstance(value, bytes) else value
