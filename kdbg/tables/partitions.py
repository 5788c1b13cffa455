"""What a message says of each partition, found by its grammar; and which fields of which API the tables keep.

A structure with a partition in it is one row; the topic, the topic id and the group are those that stand around it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

from ..wire.compression import CODECS
from ..wire.nodes import Node, NullableStruct, WireArray, WireStruct, join
from ..wire.outline import best_name, count_records
from ..wire.recordset import CODEC_MASK

REQUEST, RESPONSE = "request", "response"
KEPT: dict[str, dict[str, dict[str, str]]] = {
    "Produce": {RESPONSE: {"base_offset": "offset", "log_start_offset": "log_start_offset"}},
    "Fetch": {
        REQUEST: {"fetch_offset": "offset"},
        RESPONSE: {
            "high_watermark": "high_watermark", "last_stable_offset": "last_stable_offset",
            "log_start_offset": "log_start_offset",
        },
    },
    "ListOffsets": {
        REQUEST: {"timestamp": "asked_timestamp"}, RESPONSE: {"offset": "offset", "old_style_offsets": "offset"},
    },
    "OffsetCommit": {REQUEST: {"committed_offset": "offset"}},
    "OffsetFetch": {RESPONSE: {"committed_offset": "offset"}},
    "DeleteRecords": {REQUEST: {"offset": "offset"}, RESPONSE: {"low_watermark": "log_start_offset"}},
    "OffsetForLeaderEpoch": {RESPONSE: {"end_offset": "offset"}},
    "TxnOffsetCommit": {REQUEST: {"committed_offset": "offset"}},
    "OffsetDelete": {},
    "ShareFetch": {},
    "ShareAcknowledge": {},
}  # fmt: skip
"""API by API, the fields of both messages that become columns; a partition's error and record set always do."""


class Part(NamedTuple):
    """A partition in a message: `topic` is a name, or a UUID where only that is said; `value` its structure."""

    group: str | None
    topic: Any
    partition: int
    value: dict[str, Any]
    path: str


Walk = Callable[[Any, str | None, Any, str, list[Part]], None]
"""Goes through (value, group, topic, path) and adds to the list."""


def parts(grammar: WireStruct, body: Any) -> list[Part]:
    """The partitions in a message; of one that broke off, those before."""
    walk, found = _plan(grammar), list[Part]()
    try:
        if walk is not None:
            walk(body, None, None, "", found)
    except (KeyError, TypeError, AttributeError):
        return found
    return found


@cache
def _plan(node: Node) -> Walk | None:
    """The way to the partitions in values of a grammar; None where there are none."""
    if isinstance(node, NullableStruct):
        return _plan(node.struct)
    if isinstance(node, WireStruct):
        return _structure(node)
    item = _plan(node.item) if isinstance(node, WireArray) else None
    return None if item is None else partial(_array, item)


def _array(item: Walk, items: Any, group: str | None, topic: Any, path: str, found: list[Part]) -> None:
    for i, value in enumerate(items or ()):
        item(value, group, topic, f"{path}[{i}]", found)


def _structure(node: WireStruct) -> Walk | None:
    kinds = {known.node.kind: known.name for known in node.fields if known.node.kind}
    below = [(known.name, inner) for known in node.members if (inner := _plan(known.node)) is not None]
    group_key, topic_key, id_key, partition_key = map(kinds.get, ("group", "topic", "topic_id", "partition"))
    if not below and partition_key is None:
        return None

    def walk(value: Any, group: str | None, topic: Any, path: str, found: list[Part]) -> None:
        if value is None:
            return
        group = value[group_key] if group_key else group
        if topic_key or id_key:
            topic = best_name(value.get(topic_key), value.get(id_key))
        if partition_key:
            found.append(Part(group, topic, value[partition_key], value, path))
        for name, follow in below:
            if name in value:
                follow(value[name], group, topic, join(path, name), found)

    return walk


class Amount(NamedTuple):
    """A record set in numbers; `last_offset` counts from 0 in a produce request."""

    bytes: int | None = None
    records: int | None = None
    last_offset: int | None = None
    codec: str | None = None


def amount(entries: Any) -> Amount:
    """How much a record set holds."""
    if not isinstance(entries, list):
        return Amount()
    whole = [entry for entry in entries if "magic" in entry]
    size = sum(_size(entry) for entry in entries)
    if not whole:
        return Amount(size, 0)
    return Amount(size, count_records(entries), _last_offset(whole[-1]), codec(whole[0]))


def _size(entry: dict[str, Any]) -> int:
    """Bytes of one entry, its offset and its length included."""
    if "magic" in entry:
        return int(entry["batch_length"] if entry["magic"] == 2 else entry["message_size"]) + 12
    return sum(len(piece) for piece in entry.values())


def _last_offset(entry: dict[str, Any]) -> int:
    if entry["magic"] == 2:
        return int(entry["base_offset"] + entry["last_offset_delta"])
    inner = (record["offset"] for record in reversed(entry.get("records") or ()) if "offset" in record)
    return int(next(inner, entry["offset"]))  # the last of them may have broken off


def codec(entry: dict[str, Any]) -> str:
    """The name of what a batch or a message is compressed with."""
    number = entry["attributes"] & CODEC_MASK
    return CODECS.get(number) or f"unknown ({number})"
