"""An answer put together: what a request asks for, topic by topic, each part as the closest recorded answer has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from ...analysis.compare.messages import inside
from ...protocol.wire.nodes import Field, Node, WireArray, WireStruct
from ...protocol.wire.readings.outline import PartitionOutline


class RequestedTopics(NamedTuple):
    """The topics and partitions that a request names, the names of topic ids, and what fills one without a record.

    `every`: the request is for all topics. `fill` is given the structure of a topic or a partition, its values, and
    the topic's name.
    """

    rows: Sequence[PartitionOutline]
    names: Mapping[UUID, str]
    every: bool
    fill: Callable[[WireStruct, dict[str, Any], Any], None]

    def names_any(self, kind: str) -> bool:
        """Return whether the request names any topic, or any partition."""
        return any(row[0 if kind == "topic" else 1] is not None for row in self.rows)


def assemble(
    struct: WireStruct,
    made: dict[str, Any],
    sources: Sequence[Mapping[str, Any]],
    asked: RequestedTopics,
    topic: Any = None,
) -> dict[str, Any]:
    """Return `made`, which has the topics and partitions that are asked for, filled from recorded answers.

    `sources` are those, the closest first: what is no part of a topic is as the first has it. `topic` is the one that
    `made` is a part of.
    """
    first = sources[0]
    for field in struct.members:
        kind = keyed(field.node)
        if kind == "topic" and asked.every:
            made[field.name] = _union(field, sources, asked)
            continue
        if kind is None or not asked.names_any(kind) or not isinstance(made.get(field.name), list):
            if field.name in first:
                made[field.name] = first[field.name]
            continue
        item = inside(field.node)
        assert item is not None
        for each in made[field.name]:
            key = _key(each, item, asked)
            found = [
                other
                for source in sources
                for other in source.get(field.name) or ()
                if isinstance(other, Mapping) and _key(other, item, asked) == key
            ]
            if found:
                assemble(item, each, found, asked, key if kind == "topic" else topic)
            else:
                asked.fill(item, each, key if kind == "topic" else topic)
    return made


def _union(field: Field, sources: Sequence[Mapping[str, Any]], asked: RequestedTopics) -> list[Any]:
    """Return the topics of all recorded answers, each as the closest has it that has no error to tell of it."""
    item = inside(field.node)
    assert item is not None
    found: dict[Any, Any] = {}
    for topic in (each for source in sources for each in source.get(field.name) or ()):
        key = _key(topic, item, asked)
        if key not in found or (found[key].get("error_code") and not topic.get("error_code")):
            found[key] = topic
    return list(found.values())


def keyed(node: Node) -> str | None:
    """Return what the items of an array are: "topic", "partition", or None for others."""
    item = inside(node) if isinstance(node, WireArray) else None
    kinds = {field.node.kind for field in item.members} if item is not None else set()
    return "topic" if kinds & {"topic", "topic_id"} else "partition" if "partition" in kinds else None


def _key(item: Mapping[str, Any], struct: WireStruct, asked: RequestedTopics) -> Any:
    """Return the name of a topic, its id where nobody knows one, or the number of a partition."""
    kinds = {field.node.kind: field.name for field in struct.members}
    if "topic" in kinds or "topic_id" in kinds:
        name, topic = item.get(kinds.get("topic", "")), item.get(kinds.get("topic_id", ""))
        return name or (asked.names.get(topic, topic) if topic is not None else None)
    return item.get(kinds.get("partition", ""))
