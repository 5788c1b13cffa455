"""Opened payloads as JSON has them, back to bytes: {"base64": "...", "payload": "...", "value": {...}} in a body.

The bytes that were seen are kept as long as they say what `value` says; an edited value is written anew, as the
payload of that name, in the version that it says itself, and so is one without bytes beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ...errors import BuildError, UnknownPayload
from ...protocol.wire.language.payload import PayloadForm
from ...protocol.wire.nodes import (
    Fixed,
    NullableStruct,
    Sized,
    UuidNode,
    Varint,
    WireArray,
    WireStruct,
    build,
    join,
    to_bytes,
)
from ...protocol.wire.nodes.children import contains
from ...protocol.wire.readings.compiled import read_whole

NO_BYTES = (WireStruct, WireArray, NullableStruct, Fixed, Varint, UuidNode, Sized)
KEYS = {"base64", "payload", "value"}


@cache
def may_hold_bytes(grammar: WireStruct) -> bool:
    """Return whether a value of a grammar can hold payloads: whether any of its fields is bytes."""
    return contains(grammar, lambda node: not isinstance(node, NO_BYTES) or (isinstance(node, Sized) and not node.text))


def rebuild(value: Any, path: str = "") -> Any:
    """Return the body with the bytes of each payload in its place; parts that hold none are shared, not copied."""
    if isinstance(value, Mapping):
        if set(value) <= KEYS and isinstance(value.get("payload"), str) and isinstance(value.get("value"), Mapping):
            return _payload(value, path)
        made = {key: rebuild(item, join(path, str(key))) for key, item in value.items()}
        return made if any(made[key] is not item for key, item in value.items()) else value
    if isinstance(value, list):
        items = [rebuild(item, f"{path}[{i}]") for i, item in enumerate(value)]
        return items if any(new is not item for new, item in zip(items, value, strict=True)) else value
    return value


def _payload(opened: Mapping[str, Any], path: str) -> bytes:
    """Return the bytes of one payload. Raise `BuildError` where its name is unknown and it comes without bytes."""
    seen = to_bytes({"base64": opened["base64"]}, path, "BYTES") if "base64" in opened else None
    value = rebuild(opened["value"], path)
    try:
        reading = _reading(opened["payload"], value, path)
    except UnknownPayload as error:
        if seen is None:
            raise BuildError(path, str(error)) from None
        return seen
    return build(reading.grammar, value, path) if seen is None else _like(seen, value, reading, path)


def _like(seen: bytes, value: Mapping[str, Any], reading: PayloadForm, path: str) -> bytes:
    """Return `seen`, the payload's captured bytes, if they say `value`; else `value` in the form that they have."""
    for form in (reading, *reading.former):
        said = read_whole(form.grammar, seen)
        if said is not None:
            written = build(form.grammar, value, path)
            return seen if read_whole(form.grammar, written) == said else written
    return build(reading.grammar, value, path)


def _reading(name: str, value: Mapping[str, Any], path: str) -> PayloadForm:
    """Return how a payload of this name, and of the version that `value` says, is written.

    Raise `BuildError` for a version that kdbg does not know, `UnknownPayload` for a name.
    """
    from ...protocol.grammars.payloads import forwarded, payload, sasl_tokens, telemetry

    for named in (sasl_tokens.named, forwarded.named, telemetry.named):
        if (reading := named(name)) is not None:
            return reading
    known = payload(name)
    version = value.get(known.version_field, known.versions[0])
    if type(version) is not int or version not in known.versions:
        versions = f"{known.versions[0]} to {known.versions[-1]}"
        raise BuildError(
            join(path, known.version_field), f"{known.name} has no version {version!r}; supported: {versions}"
        )
    return known.reading(version)
