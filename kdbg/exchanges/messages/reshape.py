"""A body of one version as another version of the same API says it: by the names of its fields.

What the other version has no place for is named; what it has and the body has not takes its default. Where a later
version says many times what an earlier one said once, `FOLDED` has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from ...errors import BuildError
from ...protocol.wire import Api
from ...protocol.wire.language.api import Direction
from ...protocol.wire.nodes import Node, NullableStruct, WireArray, WireStruct, join
from ...protocol.wire.records.node import RecordsNode


class Folded(NamedTuple):
    """From version `since` on, the array `name` says what fields at the top said before: `fields` maps those to the
    fields of its items, "" for the items themselves."""

    since: int
    name: str
    fields: Mapping[str, str]


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


FOLDED: Final[Mapping[tuple[str, Direction], Folded]] = {
    ("FindCoordinator", "request"): Folded(4, "coordinator_keys", {"key": ""}),
    ("FindCoordinator", "response"): Folded(
        4, "coordinators", _same("node_id", "host", "port", "error_code", "error_message")
    ),
    ("OffsetFetch", "request"): Folded(8, "groups", _same("group_id", "topics")),
    ("OffsetFetch", "response"): Folded(8, "groups", _same("topics", "error_code")),
    ("LeaveGroup", "request"): Folded(3, "members", _same("member_id")),
    ("AddPartitionsToTxn", "request"): Folded(
        4,
        "transactions",
        {
            "v3_and_below_transactional_id": "transactional_id",
            "v3_and_below_producer_id": "producer_id",
            "v3_and_below_producer_epoch": "producer_epoch",
            "v3_and_below_topics": "topics",
        },
    ),
    ("AddPartitionsToTxn", "response"): Folded(
        4, "results_by_transaction", {"results_by_topic_v3_and_below": "topic_results"}
    ),
}


class Reshaper:
    """Brings bodies from one version to another. `lost` are the paths of what had no place, and said something.

    `name_of` tells the name of a topic by its id, `id_of` the id by its name, each None where it is not known.
    """

    lost: list[str]

    def __init__(
        self,
        name_of: Callable[[UUID], str | None] = lambda topic: None,
        id_of: Callable[[str], UUID | None] = lambda name: None,
    ) -> None:
        self.lost = []
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
                made[field.name] = self._value(value[field.name], inner, field.node, join(path, field.name))
            elif field.tag is None:
                made[field.name] = field.default
        for name, field in old.items():
            kind = field.node.kind
            if name in value and name not in made and not moved and kind not in ("topic", "topic_id"):
                self._lose(value[name], field.default, join(path, name))
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

    def _lose(self, value: Any, default: Any, path: str) -> None:
        """Note a value that has no place, unless it says nothing."""
        if value != default and value not in (None, "", 0, -1, False) and value != []:
            self.lost.append(path)

    def _with_topics(self, value: Mapping[str, Any], node: WireStruct, path: str) -> Mapping[str, Any]:
        """Return a structure with the topic's name or its id, whichever this version wants and the structure lacks."""
        kinds = {field.node.kind: field.name for field in node.members}
        name, topic_id = kinds.get("topic"), kinds.get("topic_id")
        if name is not None and not value.get(name) and isinstance(value.get("topic_id"), UUID):
            found = self._name_of(value["topic_id"])
            if found is None and name not in value:
                raise BuildError(join(path, name), f"the name of topic {value['topic_id']} is unknown")
            return {**value, name: found if found is not None else value[name]}
        if topic_id is not None and topic_id not in value:
            given = next((each for each in ("name", "topic", "topic_name") if isinstance(value.get(each), str)), None)
            known = self._id_of(value[given]) if given is not None else None
            if given is not None and known is None and name is None:
                raise BuildError(join(path, topic_id), f"the id of topic {value[given]!r} is unknown")
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
