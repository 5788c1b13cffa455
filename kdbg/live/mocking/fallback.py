"""What is answered though no capture has it: what a client does by its own timing, and partitions nothing is known of.

Which requests of a group or a producer a capture holds depends on the client that was recorded: one sent a heartbeat,
one an InitProducerId. Another client needs both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

PRODUCE, FETCH, LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH, JOIN_GROUP = 0, 1, 2, 8, 9, 11
HEARTBEAT, LEAVE_GROUP, INIT_PRODUCER_ID = 12, 13, 22
NEEDED: Final[Mapping[int, int]] = {
    HEARTBEAT: JOIN_GROUP, LEAVE_GROUP: JOIN_GROUP, OFFSET_COMMIT: JOIN_GROUP, OFFSET_FETCH: JOIN_GROUP,
    INIT_PRODUCER_ID: PRODUCE, LIST_OFFSETS: FETCH,
}  # fmt: skip
"""APIs that are answered without a record, each where another one is recorded."""
PRODUCER: Final = {"producer_id": 1000, "producer_epoch": 0}
FILLED: Final = frozenset({PRODUCE, LIST_OFFSETS, OFFSET_COMMIT, 24, 28})
"""APIs that are answered without an error for each partition that is there."""
UNKNOWN_TOPIC_ID = 100


def base(key: int, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a response without a record says beside its topics, which stand for themselves."""
    if key == INIT_PRODUCER_ID:
        return {"error_code": 0, **PRODUCER}
    if key == LEAVE_GROUP:
        return {"members": [{name: one.get(name) for name in ("member_id", "group_instance_id")} | {"error_code": 0}
                            for one in asked.get("members") or ()]}  # fmt: skip
    return {}


def commits(
    body: dict[str, Any], asked: Mapping[str, Any], sources: Sequence[Mapping[str, Any]], names: Mapping[UUID, str]
) -> dict[str, Any]:
    """Return an OffsetFetch response about the partitions that are asked for: as recorded, else without a commit.

    `sources` are recorded ones, the closest first.
    """
    rows: dict[Any, Mapping[str, Any]] = {}
    for source in sources:
        for topic in (one for part in _groups(source) for one in part.get("topics") or ()):
            for part in topic["partitions"]:
                rows.setdefault((_name(topic, names), part["partition_index"]), part)
    if "groups" not in body:
        return body | _topics(asked, body, rows, names)
    before = (body["groups"] or [{}])[0]
    groups = [
        {"group_id": one["group_id"], "error_code": before.get("error_code", 0)} | _topics(one, before, rows, names)
        for one in asked["groups"]
    ]
    return body | {"groups": groups}


def _topics(
    asked: Mapping[str, Any], before: Mapping[str, Any], rows: Mapping[Any, Mapping[str, Any]],
    names: Mapping[UUID, str],
) -> dict[str, Any]:  # fmt: skip
    """Return the topics of a group; all that were recorded where the request is for all."""
    if asked.get("topics") is None:
        return {"topics": before.get("topics") or []}
    made = []
    for topic in asked["topics"]:
        name, numbers = _name(topic, names), topic["partition_indexes"]
        unknown = isinstance(name, UUID)
        parts = [dict(rows.get((name, number)) or _uncommitted(number, unknown=unknown)) for number in numbers]
        key = "topic_id" if "topic_id" in topic else "name"
        made.append({key: topic[key], "partitions": parts})
    return {"topics": made}


def _uncommitted(number: int, *, unknown: bool) -> dict[str, Any]:
    return {
        "partition_index": number, "committed_offset": -1, "committed_leader_epoch": -1, "metadata": "",
        "error_code": UNKNOWN_TOPIC_ID if unknown else 0,
    }  # fmt: skip


def _groups(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from body.get("groups", (body,))


def _name(topic: Mapping[str, Any], names: Mapping[UUID, str]) -> Any:
    by_id = topic.get("topic_id")
    return topic.get("name") if by_id is None else names.get(by_id, by_id)
