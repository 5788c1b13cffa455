"""The fields that a structure of values has, each with the node of the grammar that it was read by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import header_grammar
from ...exchanges.messages.secrets import without_values
from ...protocol.wire.language import DIRECTIONS, Direction
from ...protocol.wire.language.payload import OpenedPayload
from ...protocol.wire.nodes import Node, UuidNode, WireStruct, join
from ...protocol.wire.readings.layout import structure
from ...protocol.wire.records import RecordsNode
from .broker_assigned import ABSENT, HANDED, OF_ONE_RUN


@cache
def nodes(struct: WireStruct | None) -> Mapping[str, Node]:
    """Return the nodes of a structure's fields by their names; none where no grammar says what a value is."""
    return {field.name: field.node for field in struct.members} if struct is not None else {}


def inside(node: Node | None) -> WireStruct | None:
    """Return the structure of what a field holds: of its items, or of the batches of a record set."""
    return node.format.batch if isinstance(node, RecordsNode) else structure(node) if node is not None else None


def leaves(
    value: Mapping[str, Any], struct: WireStruct | None, path: str = ""
) -> Iterator[tuple[str, Node | None, Any]]:
    """Yield (path, node, value) of every field that is no structure; an item's path ends with `[]`, whichever it is."""
    for name, inner in value.items():
        yield from _leaves(inner, nodes(struct).get(name), join(path, name))


def _leaves(value: Any, node: Node | None, path: str) -> Iterator[tuple[str, Node | None, Any]]:
    if isinstance(value, Mapping):
        yield from leaves(value, inside(node), path)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for item in value:
            yield from _leaves(item, node, f"{path}[]")
    else:
        yield path, node, value


HANDED_OUT = frozenset({
    *(name for name, kind in HANDED.items() if kind in OF_ONE_RUN),
    "correlation_id", "batch_length", "compressed_records", "crc", "timestamp",
})  # fmt: skip
"""Names of fields whose values a broker hands out, or that follow from those of others."""


def is_ignored(name: str, node: Node | None) -> bool:
    """Return whether a field is left out of a comparison unless it is asked for: an id, a time, a checksum."""
    return name in HANDED_OUT or isinstance(node, UuidNode) or (node is not None and node.kind in ("timestamp", "crc"))


RESOURCE, ACL = ("resource_type", "resource_name"), ("principal", "host", "operation", "permission_type")
KEYS: Final = (
    ("topic",), ("topic_name",), ("name",), ("topic_id",), ("partition",), ("partition_index",), ("index",),
    ("group_id",), ("api_key",), ("node_id",), ("broker_id",), ("key",), ("member_id",), ("transactional_id",),
    ("user",), (*RESOURCE, "pattern_type", *ACL), (*RESOURCE, "pattern_type"), RESOURCE, ACL,
    ("entity_type", "entity_name"), ("producer_id",), ("mechanism",), ("log_dir",),
)  # fmt: skip
"""Names of the fields that items of an array are identified by: the first that identify those of both arrays."""


Part: TypeAlias = tuple[Mapping[str, Any], WireStruct | None]
"""A structure of values, and its grammar."""


class Difference(NamedTuple):
    """One field: where it stands, the node that it was read by, and its value on each side."""

    direction: Direction
    path: str
    node: Node | None
    a: Any
    b: Any


@dataclass(slots=True)
class Comparison:
    """What two exchanges differ in, and how many fields are the same or were left out.

    With `ids` it looks at ids, times and checksums too.
    """

    ids: bool = False
    differences: list[Difference] = field(default_factory=list)
    same: int = 0
    ignored: int = 0

    def structures(
        self, a: Mapping[str, Any], of_a: WireStruct | None, b: Mapping[str, Any], of_b: WireStruct | None, path: str,
        direction: Direction,
    ) -> None:  # fmt: skip
        """Compare two structures, field by field in the order of the first."""
        for name in dict.fromkeys((*a, *b)):
            node = nodes(of_a).get(name) or nodes(of_b).get(name)
            if is_ignored(name, node) and not self.ids:
                self.ignored += 1
                continue
            one, other, there = a.get(name, ABSENT), b.get(name, ABSENT), nodes(of_b).get(name)
            self._values(one, other, node, there, join(path, name), direction)

    def _values(self, a: Any, b: Any, of_a: Node | None, of_b: Node | None, path: str, direction: Direction) -> None:
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            self.structures(a, inside(of_a), b, inside(of_b), path, direction)
        elif isinstance(a, OpenedPayload) and isinstance(b, OpenedPayload):
            self.structures(a.value, a.grammar, b.value, b.grammar, path, direction)
        elif isinstance(a, list) and isinstance(b, list) and any(isinstance(item, Mapping) for item in (*a, *b)):
            for index, one, other in paired(a, b):
                self._values(one, other, of_a, of_b, f"{path}[{index}]", direction)
        elif a == b and type(a) is type(b):
            self.same += 1
        else:
            self.differences.append(Difference(direction, path, of_a, a, b))


def compare(a: Exchange, b: Exchange, *, ids: bool = False, secrets: bool = False, values: bool = True) -> Comparison:
    """Compare two exchanges, headers and bodies; `ids` looks at ids, times and checksums too.

    Items of arrays are paired by topic, partition, name or group where they have any in common, else by position.
    Secrets are hidden unless `secrets` is set, records without `values`: two of one length are then the same.
    """
    found = Comparison(ids)
    for direction in DIRECTIONS:
        (head, body), (other_head, other_body) = (_parts(getattr(one, direction), secrets, values) for one in (a, b))
        found.structures(*head, *other_head, "header", direction)
        found.structures(*body, *other_body, "", direction)
    return found


def _parts(half: CapturedMessage | None, secrets: bool, values: bool) -> tuple[Part, Part]:
    """Return header and body of a message, each with its grammar."""
    message = half.message() if half is not None else None
    if message is None:
        return ({}, None), ({}, None)
    header = header_grammar(message.api, message.version, message.direction) if message.header is not None else None
    body = message.body if secrets else message.open_body
    shown = body if values else without_values(message.grammar, body)
    return (message.header or {}, header), (shown, message.grammar)


def paired(a: Sequence[Any], b: Sequence[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (index or key, item, item) of two arrays; `ABSENT` stands where one of them has no such item."""
    key = common_key(a, b)
    if key is None:
        for i in range(max(len(a), len(b))):
            yield i, a[i] if i < len(a) else ABSENT, b[i] if i < len(b) else ABSENT
        return
    ours, theirs = ({_identity(item, key): item for item in items} for items in (a, b))
    for value in dict.fromkeys((*ours, *theirs)):
        shown = value[0] if len(value) == 1 else " ".join(map(str, value))
        yield shown, ours.get(value, ABSENT), theirs.get(value, ABSENT)


def common_key(a: Sequence[Any], b: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the fields that identify the items of both arrays, and have values in common on both sides."""
    for key in KEYS:
        ours, theirs = ([_identity(item, key) for item in items] for items in (a, b))
        parts = [part for value in (*ours, *theirs) for part in value]
        named = all(isinstance(part, (str, int, UUID)) and part != -1 for part in parts)
        distinct = len(set(ours)) == len(ours) and len(set(theirs)) == len(theirs) if named else False
        if distinct and not set(ours).isdisjoint(theirs):
            return key
    return None


def _identity(item: Any, key: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(item.get(name) if isinstance(item, Mapping) else None for name in key)
