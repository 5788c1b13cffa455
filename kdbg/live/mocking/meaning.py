"""What a request asks for, as features by which two of them are compared: the more they share, the closer they are.

Ids that brokers hand out do not count, but whether there is one does: a member that joins has none yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from ...analysis.compare.broker_assigned import OFFSET, assigned_kind
from ...analysis.compare.messages import inside, nodes
from ...protocol.wire.language.payload import OpenedPayload
from ...protocol.wire.nodes import Node, WireStruct
from ...protocol.wire.records.node import RecordsNode

Features: TypeAlias = frozenset[tuple[str, Any, int]]
"""Path, value and weight of each."""
SUBJECTS: Final = frozenset({"key", "coordinator_keys", "transactional_id", "resource_name", "mechanism"})
"""Names of fields that say what a request is about, and have no meaning that tells it."""
OF_KINDS: Final = {"topic": 4, "topic_id": 4, "group": 4, "partition": 2, "timestamp": 4}
OF_SUBJECTS, OF_HANDED, OF_LENGTHS, OF_OTHERS, OF_ALL = 4, 8, 2, 1, 12
TOPICS: Final = "topics"
"""The array that is null in a request for all topics, which is another request than one for some."""


def features(body: Mapping[str, Any], struct: WireStruct | None, names: Mapping[Any, str]) -> Features:
    """Return the features of a request; topics by name, where `names` tells that of an id."""
    return frozenset(_of(body, struct, "", names))


def closeness(one: Features, other: Features) -> float:
    """Return how much two requests have in common, less what only one of them says."""
    shared = sum(weight for _, _, weight in one & other)
    return shared - sum(weight for _, _, weight in one ^ other) / 2


def _of(
    value: Mapping[str, Any], struct: WireStruct | None, path: str, names: Mapping[Any, str]
) -> Iterator[tuple[str, Any, int]]:
    known = nodes(struct)
    for name, inner in value.items():
        yield from _one(name, inner, known.get(name), f"{path}.{name}", names)


def _one(
    name: str, value: Any, node: Node | None, path: str, names: Mapping[Any, str]
) -> Iterator[tuple[str, Any, int]]:
    if isinstance(node, RecordsNode):
        return
    if name == TOPICS:
        yield path, "all" if value is None else "some", OF_ALL
    if isinstance(value, OpenedPayload):
        yield from _of(value.value, value.grammar, path, names)
    elif isinstance(value, Mapping):
        yield from _of(value, inside(node), path, names)
    elif isinstance(value, list):
        yield path, bool(value), OF_LENGTHS
        item = getattr(node, "item", node)
        for each in value:
            if isinstance(each, Mapping):
                yield from _of(each, inside(node), f"{path}[]", names)
            else:
                yield from _one(name, each, item, f"{path}[]", names)
    else:
        kind = assigned_kind(name, node, value)
        if kind is OFFSET:
            return
        if kind is not None and not (node is not None and node.kind == "topic_id"):
            yield path, ("fixed", value) if value in kind.fixed else "given", OF_HANDED
            return
        of = node.kind if node is not None else ""
        weight = OF_KINDS.get(of, OF_SUBJECTS if name in SUBJECTS else OF_OTHERS)
        if of in ("topic", "topic_id"):
            path, value = path.rpartition(".")[0] + ".topic", names.get(value, value)
        yield path, value, weight
