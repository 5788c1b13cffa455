"""Bodies in the words of Kafka's guides of 0.8 and 0.10.1, brought to today's names: `{"timeout": 5}` of Produce v0.

Only in the versions that a guide describes; what it names are the fields of the same layout. Where a guide has plain
values in place of structures with one field (`"topics": ["orders"]`), or the other way round, both are taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from ...errors import BuildError
from ...protocol.grammars.guides import COMPUTED, EARLY, FORMER_NAMES, MESSAGE, described
from ...protocol.wire import Api
from ...protocol.wire.language import Direction, snake_case
from ...protocol.wire.nodes import Node, NullableStruct, WireArray, WireStruct, join
from ...protocol.wire.readings.layout import tails, walk
from ...protocol.wire.records import RecordsNode

Step = str | int
LEFT_OUT = frozenset(map(snake_case, COMPUTED))


class GuideNames:
    """The names that guides give to the fields of one version of a message: `grammar` is its layout."""

    def __init__(self, api: str, direction: Direction, version: int, grammar: WireStruct) -> None:
        self.guides: list[Any] = described(api, direction, version)
        self.grammar: WireStruct = grammar

    @cached_property
    def of_fields(self) -> dict[str, list[tuple[str, str]]]:
        """Path -> (title of the guide, its name for the field) for every field that a guide calls otherwise."""
        found: dict[str, list[tuple[str, str]]] = {}
        for path, _, _ in walk(self.grammar):
            for guide, names in self.guides:
                name = _renamed(names, path)
                if name is not None:
                    found.setdefault(path, []).append((guide.title, name))
        return found

    @cached_property
    def aliases(self) -> dict[tuple[str, str], str]:
        """(path of a structure, a guide's name in snake_case) -> today's name."""
        found: dict[tuple[str, str], str] = {}
        for path, names in self.of_fields.items():
            around, _, today = path.rpartition(".")
            found |= {(around, _snake(name)): today for _, name in names}
        return found

    @cached_property
    def items(self) -> dict[str, str]:
        """Path of an array of plain values -> what a guide calls its items, which are structures of one field there."""
        paths = [path for path, _, _ in walk(self.grammar)]
        return {path: _snake(name) for path in paths for _, names in self.guides
                if (name := _renamed(names, f"{path}.0")) is not None}  # fmt: skip

    def today(self, struct: WireStruct, path: str, key: str) -> str:
        """Return today's name of a field of a structure; the key itself where nobody knows it."""
        if key in struct.keys:
            return key
        name = _snake(key)
        return self.aliases.get((path, name)) or (name if name in struct.keys else key)

    def body(self, value: Any) -> Any:
        """Return the body with today's names. Raise `BuildError` where a field is given under two names."""
        return self._struct(self.grammar, value, "", "") if self.guides and isinstance(value, Mapping) else value

    def _struct(self, node: WireStruct, value: Any, path: str, place: str) -> Any:
        """Return a structure with today's names; `path` is its path in the grammar, `place` that in the body."""
        if not isinstance(value, Mapping):
            alone = len(node.fields) == 1 and not node.tags
            return {node.fields[0].name: value} if alone and value is not None else value
        made: dict[str, Any] = {}
        said: dict[str, str] = {}
        nodes = {field.name: field.node for field in node.members}
        for key, item in self._flat(value, node, path):
            name = self.today(node, path, key)
            here = join(place, key)
            if name in made:
                raise BuildError(here, f"given twice: {said[name]!r} is the same field")
            if _snake(key) in LEFT_OUT and name not in nodes:
                continue
            made[name], said[name] = self._value(nodes.get(name), item, join(path, name), here), key
        return made

    def _flat(self, value: Mapping[str, Any], node: WireStruct, path: str) -> Iterator[tuple[str, Any]]:
        """Yield (name, value) of each field; a structure that only the guide has (`coordinator`) gives its fields."""
        for key, item in value.items():
            name = _snake(str(key))
            if isinstance(item, Mapping) and key not in node.keys and any(
                around == path and alias.startswith(f"{name}.") for around, alias in self.aliases
            ):  # fmt: skip
                yield from ((f"{name}.{inner}", value) for inner, value in item.items())
            else:
                yield str(key), item

    def _value(self, node: Node | None, value: Any, path: str, place: str) -> Any:
        if isinstance(node, NullableStruct):
            node = node.struct
        if isinstance(node, WireStruct):
            return value if value is None else self._struct(node, value, path, place)
        if not isinstance(value, list):
            return value
        if isinstance(node, RecordsNode) and any(guide is EARLY for guide, _ in self.guides):
            return [_message(entry, f"{place}[{i}]") for i, entry in enumerate(value)]
        if isinstance(node, WireArray):
            return [self._item(node.item, item, path, f"{place}[{i}]") for i, item in enumerate(value)]
        return value

    def _item(self, node: Node, value: Any, path: str, place: str) -> Any:
        if isinstance(node, (WireStruct, NullableStruct)):
            return self._value(node, value, f"{path}[]", place)
        if isinstance(value, Mapping) and [_snake(str(key)) for key in value] == [self.items.get(path)]:
            return next(iter(value.values()))
        return value

    def steps(self, given: Sequence[Step]) -> list[Step]:
        """Return a path into the body, step by step, with today's names."""
        found: list[Step] = []
        node: Node | None = self.grammar
        path = ""
        for step in given if self.guides else ():
            if isinstance(step, int):
                node = node.item if isinstance(node, WireArray) else None
                path = f"{path}[]"
            elif node is not None and isinstance(struct := _structure(node), WireStruct):
                step = self.today(struct, path, step)
                node = next((field.node for field in struct.members if field.name == step), None)
                path = join(path, step)
            elif found and _snake(step) == self.items.get(path.removesuffix("[]")):
                continue
            found.append(step)
        return found if self.guides else list(given)


@lru_cache(maxsize=256)
def _forms(api: Api, direction: Direction, version: int) -> list[GuideNames]:
    """Return the names in Kafka's own layout of a version, then those in layouts that only a guide has."""
    layouts = [layout for _, layout in api.guide_layouts(direction, version)]
    return [GuideNames(api.name, direction, version, layout) for layout in (api.at(direction, version), *layouts)]


def guide_names(api: Api, direction: Direction, version: int) -> GuideNames:
    """Return the guides' names for the fields of one version. Raise `UnknownVersion` if kdbg does not know it."""
    return _forms(api, direction, version)[0]


def understood(api: Api, direction: Direction, version: int, body: Any) -> tuple[WireStruct, Any]:
    """Return the layout that a body is written in, and the body with guides' names replaced by today's.

    The layout is Kafka's own, unless the body has fields that only a guide's form of this version has: the time stamp
    in OffsetCommit v0. Raise `BuildError` where a field is given under two names, and `UnknownVersion` for a version
    that kdbg does not know.
    """
    first, *others = _forms(api, direction, version)
    former, keys = FORMER_NAMES.get((api.name, direction), {}), set(first.grammar.keys)
    if former and isinstance(body, Mapping):
        body = {(former[key] if former.get(key) in keys and key not in keys else key): body[key] for key in body}
    made = first.body(body)
    if others and not _known(first.grammar, made):
        for form in others:
            if _known(form.grammar, other := form.body(body)):
                return form.grammar, other
    return first.grammar, made


def _known(node: Node, value: Any) -> bool:
    """Return whether a grammar has every field of a value."""
    node = _structure(node)
    if isinstance(node, WireArray) and isinstance(value, list):
        return all(_known(node.item, item) for item in value)
    if not isinstance(node, WireStruct) or not isinstance(value, Mapping):
        return True
    nodes = {field.name: field.node for field in node.members}
    return all(key in node.keys for key in value) and all(
        _known(nodes[key], value[key]) for key in value if key in nodes
    )


def _renamed(names: Mapping[str, str], path: str) -> str | None:
    """Return what a guide calls the field at a path: its entry for the longest end of the path, None without one."""
    return next((names[tail] for tail in reversed(tails(path.replace("[]", ""))) if tail in names), None)


def _message(entry: Any, place: str) -> Any:
    """Return an entry of a record set with today's names; the fields that the guide of 0.8 puts in `message` join it.

    Raise `BuildError` where a field is given under two names.
    """
    if not isinstance(entry, Mapping):
        return entry
    flat: list[tuple[str, Any]] = []
    for key, item in entry.items():
        inside = item.items() if isinstance(item, Mapping) and _snake(str(key)) == "message" else ((key, item),)
        flat += [(str(name), value) for name, value in inside]
    today = {_snake(name.rpartition(".")[2]): known for known, name in MESSAGE.items()}
    made: dict[str, Any] = {}
    for key, item in flat:
        name = today.get(_snake(key), _snake(key))
        if name in made:
            raise BuildError(join(place, key), f"given twice: as {name!r}, too")
        made[name] = item
    return made


def _structure(node: Node) -> Node:
    return node.struct if isinstance(node, NullableStruct) else node


def _snake(name: str) -> str:
    """Return a guide's name in snake_case: `topic_name` for `TopicName`; dots stay."""
    return ".".join(map(snake_case, name.split(".")))
