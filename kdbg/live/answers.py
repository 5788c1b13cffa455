"""What a broker would answer that refuses a request: the body of a response with one error code everywhere.

Topics and partitions are those that the request names. So a client gets what Kafka's own classes make of an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..exchanges.messages.exchange import CapturedMessage
from ..protocol.wire import Api
from ..protocol.wire.nodes import Node, NullableStruct, WireArray, WireStruct
from ..protocol.wire.readings.outline import PartitionOutline

ASKING = ("Describe", "List", "Get")
"""How the names of APIs begin that only ask, beside these."""
ONLY_ASK = frozenset({"Fetch", "Metadata", "FindCoordinator", "ApiVersions", "OffsetFetch", "OffsetForLeaderEpoch",
                      "ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"})  # fmt: skip


def only_asks(api: Api) -> bool:
    """Return whether a request of an API changes nothing: its real answer can be had, and changed."""
    return api.name in ONLY_ASK or api.name.startswith(ASKING)


def refusal(api: Api, version: int, asked: CapturedMessage, code: int) -> dict[str, Any] | None:
    """Return the body that refuses a request; None where nothing in it would say so.

    That is so where the response speaks of things, one by one, that are neither topics nor partitions.
    """
    if not api.reads("response", version):
        return None
    outline = asked.outline()
    body = skeleton(api, version, outline[0] if outline is not None else ())
    return body if with_error(api.at("response", version), body, code) else None


def skeleton(api: Api, version: int, rows: Sequence[PartitionOutline]) -> dict[str, Any]:
    """Return the body of a response that names the topics and partitions of a request, and says nothing of them."""
    return _struct(api.at("response", version), list(rows))


def with_error(node: Node, value: Any, code: int) -> bool:
    """Put an error code into a body, in place: of each part that it speaks of, else of the whole; return whether it
    had room for it."""
    if value is None:
        return False
    if isinstance(node, NullableStruct):
        return with_error(node.struct, value, code)
    if isinstance(node, WireArray):
        return max([with_error(node.item, item, code) for item in value], default=False)
    if not isinstance(node, WireStruct):
        return False
    below = [with_error(field.node, value[field.name], code) for field in node.members if field.name in value]
    own = [field.name for field in node.members if field.node.kind == "error"]
    if not any(below):
        value.update(dict.fromkeys(own, code))
    return any(below) or bool(own)


def _struct(node: WireStruct, rows: list[PartitionOutline]) -> dict[str, Any]:
    return {field.name: _value(field.node, field.default, rows) for field in node.fields}


def _value(node: Node, default: Any, rows: list[PartitionOutline]) -> Any:
    if node.kind in ("topic", "topic_id", "partition"):
        return _named(node.kind, default, rows)
    if isinstance(node, WireStruct):
        return _struct(node, rows)
    if isinstance(node, WireArray) and isinstance(node.item, WireStruct):
        return [_struct(node.item, part) for part in _parts(node.item, rows)]
    return default


def _named(kind: str, default: Any, rows: list[PartitionOutline]) -> Any:
    """Return the topic or the partition that the rows are of, in the form that the field has."""
    topic, partition, *_ = rows[0] if rows else (None, None)
    if kind == "partition":
        return default if partition is None else partition
    is_id = not isinstance(topic, str)
    return topic if topic is not None and is_id == (kind == "topic_id") else default


def _parts(item: WireStruct, rows: list[PartitionOutline]) -> list[list[PartitionOutline]]:
    """Return the rows of each element that an array is to have: one for each topic, or for each partition."""
    kinds = {field.node.kind for field in item.members}
    if kinds & {"topic", "topic_id"}:
        topics = dict[Any, list[PartitionOutline]]()
        for row in rows:
            topics.setdefault(row[0], []).append(row)
        return [part for topic, part in topics.items() if topic is not None]
    return [[row] for row in rows if row[1] is not None] if "partition" in kinds else []
