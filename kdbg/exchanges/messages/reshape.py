"""Bodies changed: values put at paths (`--set topics[0].name=orders`), opened payloads back to bytes, other versions.

A body of one version is said as another version of the same API says it, by the names of its fields. What the other
version has no place for is named; what it has and the body has not takes its default. Where a later version says many
times what an earlier one said once, `FOLDED` has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from ...errors import BuildError, InputError, UnknownPayload
from ...protocol.wire import Api, nodes
from ...protocol.wire.language import Direction
from ...protocol.wire.language.payload import PayloadForm
from ...protocol.wire.nodes import Fixed, Node, NullableStruct, Sized, UuidNode, Varint, WireArray, WireStruct
from ...protocol.wire.readings.compiled import read_whole
from ...protocol.wire.records import RecordsNode

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
        node: Node | None = grammar
        for step in self.steps:
            key, repeated = ("", True) if isinstance(step, int) else (step, False)
            inside = nodes.children(node) if node is not None else ()
            if len(inside) == 1 and not inside[0].key and not inside[0].repeated:
                inside = nodes.children(inside[0].node)
            node = next((child.node for child in inside if (child.key, child.repeated) == (key, repeated)), None)
        wants_text = isinstance(node, Sized) and isinstance(self.value, (int, float))
        return self._replace(value=self.text) if wants_text else self


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


def in_order(given: Iterable[Assignment]) -> list[Assignment]:
    """Return the assignments, last those that others would delete again: what follows from records, then the crc."""
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
    return nodes.contains(
        grammar, lambda node: not isinstance(node, NO_BYTES) or (isinstance(node, Sized) and not node.text)
    )


def rebuild(value: Any, path: str = "") -> Any:
    """Return the body with the bytes of each payload in its place; parts that hold none are shared, not copied."""
    if isinstance(value, Mapping):
        if set(value) <= KEYS and isinstance(value.get("payload"), str) and isinstance(value.get("value"), Mapping):
            return _payload(value, path)
        made = {key: rebuild(item, nodes.join(path, str(key))) for key, item in value.items()}
        return made if any(made[key] is not item for key, item in value.items()) else value
    if isinstance(value, list):
        items = [rebuild(item, f"{path}[{i}]") for i, item in enumerate(value)]
        return items if any(new is not item for new, item in zip(items, value, strict=True)) else value
    return value


def _payload(opened: Mapping[str, Any], path: str) -> bytes:
    """Return the bytes of one payload. Raise `BuildError` where its name is unknown and it comes without bytes."""
    seen = nodes.to_bytes({"base64": opened["base64"]}, path, "BYTES") if "base64" in opened else None
    value = rebuild(opened["value"], path)
    try:
        reading = _reading(opened["payload"], value, path)
    except UnknownPayload as error:
        if seen is None:
            raise BuildError(path, str(error)) from None
        return seen
    if seen is None:
        return nodes.build(reading.grammar, value, path)
    for form in (reading, *reading.former):
        said = read_whole(form.grammar, seen)
        if said is not None:  # the captured bytes, if they say the same; else it is written in the form that they have
            written = nodes.build(form.grammar, value, path)
            return seen if read_whole(form.grammar, written) == said else written
    return nodes.build(reading.grammar, value, path)


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
            nodes.join(path, known.version_field), f"{known.name} has no version {version!r}; supported: {versions}"
        )
    return known.reading(version)


class Folded(NamedTuple):
    """From version `since` on, the array `name` says what fields at the top said before: `fields` maps those to the
    fields of its items, "" for the items themselves."""

    since: int
    name: str
    fields: Mapping[str, str]


FOLDED: Final[Mapping[tuple[str, Direction], Folded]] = {
    ("FindCoordinator", "request"): Folded(4, "coordinator_keys", {"key": ""}),
    ("FindCoordinator", "response"): Folded(
        4, "coordinators", {name: name for name in ("node_id", "host", "port", "error_code", "error_message")}
    ),
    ("OffsetFetch", "request"): Folded(8, "groups", {"group_id": "group_id", "topics": "topics"}),
    ("OffsetFetch", "response"): Folded(8, "groups", {"topics": "topics", "error_code": "error_code"}),
    ("LeaveGroup", "request"): Folded(3, "members", {"member_id": "member_id"}),
    ("AddPartitionsToTxn", "request"): Folded(
        4, "transactions",
        {f"v3_and_below_{name}": name for name in ("transactional_id", "producer_id", "producer_epoch", "topics")},
    ),
    ("AddPartitionsToTxn", "response"): Folded(
        4, "results_by_transaction", {"results_by_topic_v3_and_below": "topic_results"}
    ),
}  # fmt: skip


class Reshaper:
    """Brings bodies from one version to another. `lost` are the paths of what had no place, and said something.

    `name_of` tells the name of a topic by its id, `id_of` the id by its name, each None where it is not known.
    """

    def __init__(
        self,
        name_of: Callable[[UUID], str | None] = lambda topic: None,
        id_of: Callable[[str], UUID | None] = lambda name: None,
    ) -> None:
        self.lost: list[str] = []
        self._name_of, self._id_of = name_of, id_of

    def reshaped(
        self, api: Api, direction: Direction, body: Mapping[str, Any], version: int, wanted: int
    ) -> dict[str, Any]:
        """Return the body in the wanted version; raise `BuildError` where that version cannot say it."""
        if version == wanted:
            return dict(body)
        moved = _folded(api, direction, body, version, wanted)
        made: dict[str, Any] = self._structure(
            moved, api.at(direction, version), api.at(direction, wanted), "", moved is not body
        )
        return made

    def _structure(
        self, value: Mapping[str, Any], before: WireStruct | None, node: WireStruct, path: str, moved: bool
    ) -> dict[str, Any]:
        value = self._with_topics(value, node, path)
        old = {field.name: field for field in before.members} if before is not None else {}
        made = {}
        for field in node.members:
            if field.name in value:
                inner = old[field.name].node if field.name in old else None
                made[field.name] = self._value(value[field.name], inner, field.node, nodes.join(path, field.name))
            elif field.tag is None:
                made[field.name] = field.default
        for name, field in old.items():
            kind = field.node.kind
            if name in value and name not in made and not moved and kind not in ("topic", "topic_id"):
                lost = value[name]
                if lost != field.default and lost not in (None, "", 0, -1, False) and lost != []:  # it says something
                    self.lost.append(nodes.join(path, name))
        return made

    def _value(self, value: Any, before: Node | None, node: Node, path: str) -> Any:
        if value is None:
            return None if isinstance(node, NullableStruct) or getattr(node, "nullable", False) else node.default()
        before, node = _bare(before), _bare(node)
        if isinstance(node, RecordsNode):
            return value
        if isinstance(node, WireStruct) and isinstance(value, Mapping):
            return self._structure(value, before if isinstance(before, WireStruct) else None, node, path, False)
        if isinstance(node, WireArray) and isinstance(value, list):
            item = before.item if isinstance(before, WireArray) else None
            return [self._value(each, item, node.item, f"{path}[{i}]") for i, each in enumerate(value)]
        return value

    def _with_topics(self, value: Mapping[str, Any], node: WireStruct, path: str) -> Mapping[str, Any]:
        """Return a structure with the topic's name or its id, whichever this version wants and the structure lacks."""
        kinds = {field.node.kind: field.name for field in node.members}
        name, topic_id = kinds.get("topic"), kinds.get("topic_id")
        if name is not None and not value.get(name) and isinstance(value.get("topic_id"), UUID):
            found = self._name_of(value["topic_id"])
            if found is None and name not in value:
                raise BuildError(nodes.join(path, name), f"the name of topic {value['topic_id']} is unknown")
            return {**value, name: found if found is not None else value[name]}
        if topic_id is not None and topic_id not in value:
            given = next((each for each in ("name", "topic", "topic_name") if isinstance(value.get(each), str)), None)
            known = self._id_of(value[given]) if given is not None else None
            if given is not None and known is None and name is None:
                raise BuildError(nodes.join(path, topic_id), f"the id of topic {value[given]!r} is unknown")
            return value if known is None else {**value, topic_id: known}
        return value


def _bare(node: Node | None) -> Any:
    return node.struct if isinstance(node, NullableStruct) else node


def _folded(api: Api, direction: Direction, body: Mapping[str, Any], version: int, wanted: int) -> Mapping[str, Any]:
    """Return the body with what one version says once and the other many times in its place."""
    fold = FOLDED.get((api.name, direction))
    if fold is None or (version < fold.since) == (wanted < fold.since):
        return body
    if version < fold.since:
        said = {inner: body[outer] for outer, inner in fold.fields.items() if outer in body}
        item = said.get("", said)
        return {**{name: value for name, value in body.items() if name not in fold.fields}, fold.name: [item]}
    items = body.get(fold.name) or []
    if len(items) != 1:
        raise BuildError(fold.name, f"{len(items):,} elements, but version {wanted} of {api.name} has only one")
    only = items[0]
    said = {outer: only if not inner else only.get(inner) for outer, inner in fold.fields.items()}
    return {**{name: value for name, value in body.items() if name != fold.name}, **said}
