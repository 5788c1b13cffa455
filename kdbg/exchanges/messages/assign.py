"""A body changed: values put at paths (`--set topics[0].name=orders`), and opened payloads back to bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from ...errors import BuildError, InputError, UnknownPayload
from ...protocol.wire.language.payload import PayloadForm
from ...protocol.wire.nodes import (
    Fixed,
    Node,
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
from ...protocol.wire.nodes.children import children, contains
from ...protocol.wire.readings.compiled import read_whole

STEP = re.compile(r"(?:^|\.)([A-Za-z_]\w*)|\[(\d+)\]")
MOST = 100_000
"""The highest index: what is missing before it is made."""
DERIVED = ("crc", "compressed_records", "last_offset_delta", "max_timestamp", "records_count")
"""What a batch or message says about its records: computed anew where they were touched."""


class Assignment(NamedTuple):
    """One `--set`: names and indexes to walk, the value to put there, and how it was written."""

    path: str
    steps: tuple[str | int, ...]
    value: Any
    text: str = ""

    def suited(self, grammar: WireStruct) -> Assignment:
        """Return the assignment for a body of this grammar: a number or boolean becomes text in a field of text."""
        wants_text = isinstance(_field_at(grammar, self.steps), Sized)
        return self._replace(value=self.text) if wants_text and isinstance(self.value, (int, float)) else self


def parse(text: str) -> Assignment:
    """Parse `PATH=VALUE`; a value that is no JSON is text. Raise `InputError` for what has no such form."""
    import orjson

    path, equals, value = text.partition("=")
    steps, end = [], 0
    while (found := STEP.match(path, end)) is not None and found.end() > end:
        steps.append(found[1] if found[1] is not None else int(found[2]))
        end = found.end()
    if not equals or end != len(path) or not steps or isinstance(steps[0], int):
        raise InputError(f"--set {text!r}: expected PATH=VALUE, such as --set 'topics[0].name=orders'")
    if any(isinstance(step, int) and step > MOST for step in steps):
        raise InputError(f"--set {path}: no array is that long")
    try:
        return Assignment(path, tuple(steps), orjson.loads(value), value)
    except orjson.JSONDecodeError:
        return Assignment(path, tuple(steps), value, value)


def _field_at(grammar: Node, steps: Iterable[str | int]) -> Node | None:
    """Return the type at a path of a body; None where there is no such field."""
    node: Node | None = grammar
    for step in steps:
        key, repeated = ("", True) if isinstance(step, int) else (step, False)
        inside = children(node) if node is not None else ()
        if len(inside) == 1 and not inside[0].key and not inside[0].repeated:
            inside = children(inside[0].node)
        node = next((child.node for child in inside if (child.key, child.repeated) == (key, repeated)), None)
    return node


def in_order(given: Iterable[Assignment]) -> list[Assignment]:
    """Return the assignments, those of fields that follow from records last, the checksum at the very end.

    Any earlier, another assignment would delete them again.
    """
    return sorted(given, key=lambda one: (one.steps[-1] in DERIVED, one.steps[-1] == "crc"))


def assign(body: dict[str, Any], given: Assignment) -> None:
    """Put the value there, in place; structures and array elements that are missing on the way are made."""
    place: Any = body
    for step, following in zip(given.steps, given.steps[1:], strict=False):
        _forget(place, step)
        fresh: Any = [] if isinstance(following, int) else {}
        place = _enter(place, step, fresh, given.path)
    _forget(place, given.steps[-1])
    _enter(place, given.steps[-1], None, given.path)
    place[given.steps[-1]] = given.value


def _enter(place: Any, step: str | int, fresh: Any, path: str) -> Any:
    """Return what stands at a step; put `fresh` there first if nothing does.

    Raise `InputError` where the step does not fit what it is taken of.
    """
    if isinstance(step, int):
        if not isinstance(place, list):
            raise InputError(f"--set {path}: [{step}] is not possible: it is not an array")
        while len(place) <= step:
            place.append({} if not isinstance(fresh, list) else [])
        return place[step]
    if not isinstance(place, dict):
        raise InputError(f"--set {path}: unknown field {step!r}")
    if place.get(step) is None:
        place[step] = fresh
    return place[step]


def _forget(place: Any, step: str | int) -> None:
    """Delete the checksum of a changed batch or message, and with its records also what it says about them."""
    if not isinstance(place, dict) or "magic" not in place or step == "crc":
        return
    place.pop("crc", None)
    if step == "records":
        for name in DERIVED:
            place.pop(name, None)
        if place["magic"] != 2:
            place.pop("value", None)


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
