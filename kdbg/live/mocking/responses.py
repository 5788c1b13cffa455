"""The body of a response: put together of recorded ones, then in the words and with the ids of the client that asks.

What no capture has is made up where a client needs it by its own timing: which requests of a group or a producer a
capture holds depends on the client that was recorded. One sent a heartbeat, one an InitProducerId.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from ...analysis.compare.messages import inside
from ...protocol.wire import Api
from ...protocol.wire.language.payload import OpenedPayload
from ...protocol.wire.nodes import Node, WireArray, WireStruct
from ...protocol.wire.readings.outline import PartitionOutline, outline

ECHOED: Final = frozenset({
    "member_id", "group_id", "group_instance_id", "instance_id", "transactional_id", "v3_and_below_transactional_id",
    "key", "coordinator_keys", "group_ids", "groups", "groups_names",
})  # fmt: skip
"""Fields whose values a client chooses, or was given, and that answers repeat."""
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
BESIDE: Final[Mapping[str, Any]] = {
    "base_offset": -1, "log_append_time_ms": -1, "log_start_offset": -1, "high_watermark": -1, "generation_id": -1,
    "node_id": -1, "port": -1,
}  # fmt: skip
"""Values of fields beside an error code."""


class RequestedTopics(NamedTuple):
    """The topics and partitions that a request names, the names of topic ids, and what fills one without a record.

    `every`: the request is for all topics. `fill` is given the structure of a topic or a partition, its values, and
    the topic's name.
    """

    rows: Sequence[PartitionOutline]
    names: Mapping[UUID, str]
    every: bool
    fill: Callable[[WireStruct, dict[str, Any], Any], None]


def assemble(
    struct: WireStruct, made: dict[str, Any], sources: Sequence[Mapping[str, Any]], asked: RequestedTopics,
    topic: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Return `made`, which has the topics and partitions that are asked for, filled from recorded answers.

    `sources` are those, the closest first: what is no part of a topic is as the first has it. `topic` is the one that
    `made` is a part of. Where all topics are asked for, each is as the closest has it that has no error to tell of it.
    """
    first = sources[0]
    for field in struct.members:
        kind, name = keyed(field.node), field.name
        item = inside(field.node)
        named = kind is not None and any(row[0 if kind == "topic" else 1] is not None for row in asked.rows)
        if item is not None and kind == "topic" and asked.every:
            whole: dict[Any, Any] = {}
            for each in (one for source in sources for one in source.get(name) or ()):
                key = _key(each, item, asked)
                if key not in whole or (whole[key].get("error_code") and not each.get("error_code")):
                    whole[key] = each
            made[name] = list(whole.values())
        elif item is None or not named or not isinstance(made.get(name), list):
            made |= {name: first[name]} if name in first else {}
        else:
            for each in made[name]:
                key = _key(each, item, asked)
                around = key if kind == "topic" else topic
                others = (one for source in sources for one in source.get(name) or () if isinstance(one, Mapping))
                if found := [one for one in others if _key(one, item, asked) == key]:
                    assemble(item, each, found, asked, around)
                else:
                    asked.fill(item, each, around)
    return made


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


def echoed(body: dict[str, Any], recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recorded answer with the words of a request in place of those that the recorded request had there."""
    words = dict(_pairs(recorded, asked))
    return _replaced(body, words) if words else body


def _pairs(recorded: Any, asked: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield what the recorded request says, and the one at hand in the same place, where they differ."""
    if isinstance(recorded, Mapping) and isinstance(asked, Mapping):
        for each in recorded.keys() & asked.keys():
            yield from _pairs(recorded[each], asked[each], each)
    elif isinstance(recorded, list) and isinstance(asked, list):
        for one, other in zip(recorded, asked, strict=False):
            yield from _pairs(one, other, name)
    elif name in ECHOED and isinstance(recorded, str) and isinstance(asked, str) and "" != recorded != asked != "":
        yield recorded, asked


def _replaced(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _replaced(inner, words) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, words) for inner in value]
    return words.get(value, value) if isinstance(value, str) and not isinstance(value, OpenedPayload) else value


def for_member(api: Api, body: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recorded response to JoinGroup or SyncGroup as it is for the member that sent this request.

    The protocol of its group is one that it offers: the recorded one, else the first. What it offers stands beside its
    id, and a leader gets the assignment that it sent.
    """
    if body.get("error_code"):
        return body
    if api.name == "JoinGroup":
        offered = {one["name"]: one["metadata"] for one in asked.get("protocols") or ()}
        if not offered:
            return body
        name = body["protocol_name"] if body.get("protocol_name") in offered else next(iter(offered))
        members = [
            {**one, "metadata": offered[name]} if one["member_id"] == body["member_id"] else one
            for one in body.get("members") or ()
        ]
        own = {"protocol_type": asked["protocol_type"]} if "protocol_type" in body else {}
        return body | own | {"protocol_name": name, "members": members}
    if api.name == "SyncGroup":
        sent = (one["assignment"] for one in asked.get("assignments") or () if one["member_id"] == asked["member_id"])
        own = {name: asked[name] for name in ("protocol_type", "protocol_name") if name in body and asked.get(name)}
        return body | own | {"assignment": next(sent, body["assignment"])}
    return body


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
        for topic in (one for part in source.get("groups", (source,)) for one in part.get("topics") or ()):
            for part in topic["partitions"]:
                rows.setdefault((_name(topic, names), part["partition_index"]), part)
    if "groups" not in body:
        return body | _committed(asked, body, rows, names)
    before = (body["groups"] or [{}])[0]
    groups = [
        {"group_id": one["group_id"], "error_code": before.get("error_code", 0)} | _committed(one, before, rows, names)
        for one in asked["groups"]
    ]
    return body | {"groups": groups}


def _committed(
    asked: Mapping[str, Any], before: Mapping[str, Any], rows: Mapping[Any, Mapping[str, Any]],
    names: Mapping[UUID, str],
) -> dict[str, Any]:  # fmt: skip
    """Return the topics of a group; all that were recorded where the request is for all."""
    if asked.get("topics") is None:
        return {"topics": before.get("topics") or []}
    made = []
    for topic in asked["topics"]:
        name, numbers = _name(topic, names), topic["partition_indexes"]
        nothing = {
            "committed_offset": -1, "committed_leader_epoch": -1, "metadata": "",
            "error_code": UNKNOWN_TOPIC_ID if isinstance(name, UUID) else 0,
        }  # fmt: skip
        parts = [dict(rows.get((name, number)) or {"partition_index": number, **nothing}) for number in numbers]
        key = "topic_id" if "topic_id" in topic else "name"
        made.append({key: topic[key], "partitions": parts})
    return {"topics": made}


def _name(topic: Mapping[str, Any], names: Mapping[UUID, str]) -> Any:
    by_id = topic.get("topic_id")
    return topic.get("name") if by_id is None else names.get(by_id, by_id)


def has_errors(api: Api, version: int, body: Mapping[str, Any]) -> bool:
    """Return whether a response has an error code other than 0."""
    return any(outline(api.at("response", version))(body)[2])


def as_rejected(body: Any) -> Any:
    """Return the body of a response with what stands beside its error codes."""
    if isinstance(body, list):
        return [as_rejected(item) for item in body]
    if not isinstance(body, Mapping):
        return body
    made = {name: as_rejected(value) for name, value in body.items()}
    return made | {name: BESIDE[name] for name in BESIDE.keys() & made.keys()} if made.get("error_code") else made


def with_partition_errors(body: dict[str, Any], codes: Mapping[Any, int]) -> None:
    """Put error codes, by topic and partition, into a Produce response, in place; an error that is there stays."""
    for topic in body.get("responses") or () if codes else ():
        name = topic.get("name", topic.get("topic_id"))
        for part in topic["partition_responses"]:
            code = codes.get((name, part["index"]))
            if code and not part["error_code"]:
                part.update(as_rejected(part | {"error_code": code}))
