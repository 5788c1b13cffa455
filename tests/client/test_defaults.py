"""What a request says of fields that its body leaves out: every filter that null widens, and every time, decided."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from kdbg.live.client.bodies import DEFAULTS, filled, template
from kdbg.live.client.forms import FORMS
from kdbg.protocol import grammars
from kdbg.protocol.wire import Api
from kdbg.protocol.wire.nodes import Node, NullableStruct, WireArray, WireStruct, build
from kdbg.protocol.wire.records import RecordsNode

from ..cases import for_each
from .brokers import Brokers
from .clusters import started
from .servers import Request, in_loop

ALL = UNCHANGED = NONE = UNKNOWN = None
"""Null, and what it means."""
DECIDED: dict[str, dict[str, Any]] = {
    "Produce": {"timeout_ms": 30_000, "topic_data.partition_data.records": NONE, "transactional_id": NONE},
    "Fetch": {"max_wait_ms": 500, "cluster_id": UNKNOWN},
    "ListOffsets": {"timeout_ms": 30_000},
    "Metadata": {"topics": ALL, "topics.name": UNKNOWN},
    "UpdateMetadata": {"live_brokers.rack": NONE},
    "OffsetCommit": {"topics.partitions.committed_metadata": "", "group_instance_id": NONE},
    "OffsetFetch": {"topics": ALL, "groups.topics": ALL, "groups.member_id": NONE},
    "JoinGroup": {
        "session_timeout_ms": 30_000, "rebalance_timeout_ms": 60_000, "group_instance_id": NONE, "reason": NONE,
    },
    "Heartbeat": {"group_instance_id": NONE},
    "LeaveGroup": {"members.group_instance_id": NONE, "members.reason": NONE},
    "SyncGroup": {"group_instance_id": NONE, "protocol_type": UNKNOWN, "protocol_name": UNKNOWN},
    "ApiVersions": {"cluster_id": UNKNOWN},
    "CreateTopics": {"topics.configs.value": NONE, "timeout_ms": 60_000},
    "DeleteTopics": {"timeout_ms": 30_000, "topics.name": UNKNOWN},
    "DeleteRecords": {"timeout_ms": 30_000},
    "InitProducerId": {"transactional_id": NONE, "transaction_timeout_ms": 60_000},
    "TxnOffsetCommit": {"topics.partitions.committed_metadata": "", "group_instance_id": NONE},
    "DescribeAcls": {"resource_name_filter": ALL, "principal_filter": ALL, "host_filter": ALL},
    "DeleteAcls": {
        "filters.resource_name_filter": ALL, "filters.principal_filter": ALL, "filters.host_filter": ALL,
    },
    "DescribeConfigs": {"resources.configuration_keys": ALL},
    "AlterConfigs": {"resources.configs.value": NONE},
    "DescribeLogDirs": {"topics": ALL},
    "CreatePartitions": {"topics.assignments": UNKNOWN, "timeout_ms": 30_000},
    "CreateDelegationToken": {"owner_principal_type": UNKNOWN, "owner_principal_name": UNKNOWN},
    "ExpireDelegationToken": {"expiry_time_period_ms": -1},
    "DescribeDelegationToken": {"owners": ALL},
    "ElectLeaders": {"topic_partitions": ALL, "timeout_ms": 60_000},
    "IncrementalAlterConfigs": {"resources.configs.value": NONE},
    "AlterPartitionReassignments": {"timeout_ms": 60_000, "topics.partitions.replicas": NONE},
    "ListPartitionReassignments": {"timeout_ms": 60_000, "topics": ALL},
    "DescribeClientQuotas": {"components.match": NONE},
    "AlterClientQuotas": {"entries.entity.entity_name": NONE},
    "DescribeUserScramCredentials": {"users": ALL},
    "Vote": {"cluster_id": UNKNOWN},
    "BeginQuorumEpoch": {"cluster_id": UNKNOWN},
    "EndQuorumEpoch": {"cluster_id": UNKNOWN},
    "UpdateFeatures": {"timeout_ms": 60_000},
    "Envelope": {"request_principal": b""},
    "FetchSnapshot": {"cluster_id": UNKNOWN},
    "BrokerRegistration": {"rack": NONE},
    "BrokerHeartbeat": {"cordoned_log_dirs": UNCHANGED},
    "ListTransactions": {"transactional_id_pattern": ALL},
    "ConsumerGroupHeartbeat": {
        "instance_id": NONE, "rack_id": UNCHANGED, "rebalance_timeout_ms": -1, "subscribed_topic_names": UNCHANGED,
        "server_assignor": UNCHANGED, "topic_partitions": UNCHANGED, "subscribed_topic_regex": UNCHANGED,
    },
    "DescribeTopicPartitions": {"cursor": NONE},
    "ShareGroupHeartbeat": {"rack_id": UNCHANGED, "subscribed_topic_names": UNCHANGED},
    "ShareFetch": {"group_id": NONE, "member_id": "", "max_wait_ms": 500},
    "ShareAcknowledge": {"group_id": NONE, "member_id": ""},
    "AddRaftVoter": {"cluster_id": UNKNOWN, "timeout_ms": 30_000},
    "RemoveRaftVoter": {"cluster_id": UNKNOWN},
    "UpdateRaftVoter": {"cluster_id": UNKNOWN},
    "StreamsGroupHeartbeat": {
        "instance_id": UNCHANGED, "rack_id": UNCHANGED, "rebalance_timeout_ms": -1, "topology": UNCHANGED,
        "active_tasks": UNCHANGED, "standby_tasks": UNCHANGED, "warmup_tasks": UNCHANGED, "process_id": UNCHANGED,
        "user_endpoint": UNCHANGED, "client_tags": UNCHANGED, "task_offsets": UNCHANGED,
        "task_end_offsets": UNCHANGED,
    },
    "DescribeShareGroupOffsets": {"groups.topics": ALL},
    "StreamsGroupTopologyDescriptionUpdate": {
        "topology_description.subtopologies.nodes.sink_topic": NONE,
        "topology_description.global_stores.source.sink_topic": NONE,
        "topology_description.global_stores.processor.sink_topic": NONE,
    },
}  # fmt: skip
"""Every field of a request that may be null, or says how long something may take, and what is sent if it is left out.
`UNKNOWN` is what the broker finds out by itself, or does without."""
VERSIONS = [(api, version) for api in grammars.apis() for version in api.versions]


every_version = for_each("api, version", VERSIONS, by=lambda api: api.name[0])


def undecided(node: Node, path: str = "") -> Iterator[tuple[str, bool]]:
    """The paths of all such fields, and whether each may be null."""
    node = getattr(node, "struct", node)
    if isinstance(node, WireArray):
        yield from undecided(node.item, path)
    for field in node.members if isinstance(node, WireStruct) else ():
        inner = f"{path}.{field.name}".lstrip(".")
        nullable = isinstance(field.node, NullableStruct) or getattr(field.node, "nullable", False)
        if nullable or field.node.kind == "duration":
            yield inner, nullable
        yield from undecided(field.node, inner)


def empty(node: Node) -> Any:
    """A body that says nothing, with one element in every array that a path leads through."""
    node = getattr(node, "struct", node)
    if isinstance(node, WireArray):
        return [empty(node.item)]
    if not isinstance(node, WireStruct):
        return node.default()
    inner = ((field.name, getattr(field.node, "struct", field.node)) for field in node.fields)
    return {name: empty(one) for name, one in inner if isinstance(one, (WireArray, WireStruct))}


def at(grammar: Node, body: Any, path: str) -> Any:
    """What is sent at a path: of the body, or Kafka's default."""
    for step in path.split("."):
        grammar = getattr(grammar, "struct", grammar)
        grammar = grammar.item if isinstance(grammar, WireArray) else grammar
        grammar = getattr(grammar, "struct", grammar)
        assert isinstance(grammar, WireStruct)
        (field,) = (one for one in grammar.members if one.name == step)
        body = body[0] if isinstance(body, list) else body
        body, grammar = (body or {}).get(step, field.default), field.node
    return body


def without(body: Any, path: str) -> Any:
    """The body without what stands at a path."""
    first, _, rest = path.partition(".")
    if isinstance(body, list):
        return [without(item, path) for item in body]
    return {
        name: without(item, rest) if name == first else item for name, item in body.items() if rest or name != first
    }


def test_every_one_is_decided() -> None:
    found = {api.name: {path for version in api.versions for path, _ in undecided(api.at("request", version))}
             for api in grammars.apis()}  # fmt: skip
    assert {name: paths for name, paths in found.items() if paths} == {name: set(one) for name, one in DECIDED.items()}


@every_version
def test_what_is_left_out_says_what_was_decided(api: Api, version: int) -> None:
    grammar = api.at("request", version)
    for path, nullable in undecided(grammar):
        body = filled(api, version, without(empty(grammar), path))
        wanted = DECIDED[api.name][path]
        if wanted is not None or nullable:
            assert at(grammar, body, path) == wanted, path
        build(grammar, body)


@every_version
def test_what_is_said_stays(api: Api, version: int) -> None:
    body = template(api, version)
    assert filled(api, version, body) == body


@for_each("name", DEFAULTS)
def test_every_default_is_a_fields_of_some_version(name: str) -> None:
    api = grammars.api(name)
    paths = {path for version in api.versions for path in fields(api.at("request", version))}
    assert set(DEFAULTS[name]) <= paths


def fields(node: Node, path: str = "") -> Iterator[str]:
    node = getattr(node, "struct", node)
    if isinstance(node, WireArray):
        yield from fields(node.item, path)
    for field in node.fields if isinstance(node, WireStruct) else ():
        inner = f"{path}.{field.name}".lstrip(".")
        yield inner
        if not isinstance(field.node, RecordsNode):
            yield from fields(field.node, inner)


def test_describing_acls_without_filters_asks_for_all() -> None:
    body = filled(grammars.api("describe-acls"), 3, {})
    assert body == {
        "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1, "principal_filter": None,
        "host_filter": None, "operation": 1, "permission_type": 1,
    }  # fmt: skip


def test_the_quorum_is_that_of_the_metadata() -> None:
    for version in grammars.api("describe-quorum").versions:
        (topic,) = filled(grammars.api("describe-quorum"), version, {})["topics"]
        assert topic == {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
        topic["partitions"].clear()  # the next one gets its own


def test_all_topics_in_a_version_that_has_no_null() -> None:
    assert build(grammars.api("metadata").at("request", 0), filled(grammars.api("metadata"), 0, {})) == bytes(4)


def test_what_is_to_be_deleted_must_be_said() -> None:
    """Names may be any, but not types, operations and permissions all at once."""
    (left,) = filled(grammars.api("delete-acls"), 3, {"filters": [{}]})["filters"]
    assert left == {"resource_name_filter": None, "principal_filter": None, "host_filter": None}


@for_each("name", FORMS)
def test_options_and_bodies_leave_the_same_time(name: str) -> None:
    table = DEFAULTS.get(name, {})
    for option, said in inspect.signature(FORMS[name]).parameters.items():
        if option in table and isinstance(said.default, int):
            assert table[option] == said.default, option


@in_loop
async def test_a_session_fills_in_what_is_left_out() -> None:
    """From options as from a body, in whichever version is spoken."""
    heard: list[dict[str, Any]] = []

    def listen(brokers: Brokers, node: int, request: Request) -> bytes:
        heard.append(request.body)
        return request.response()

    bodies: list[Any] = [{}, FORMS["ElectLeaders"], {"timeout_ms": 5}]
    async with started() as (brokers, cluster):
        brokers.versions["ElectLeaders"] = (0, 2)
        brokers.answers["ElectLeaders"] = listen
        for body in bodies:
            await cluster.send("elect-leaders", body)
    assert [one["topic_partitions"] for one in heard] == [None] * 3
    assert [one["timeout_ms"] for one in heard] == [60_000, 30_000, 5]


@in_loop
async def test_what_is_said_in_a_guides_words_is_not_left_out() -> None:
    """`timeout` is what the guide of 0.10.1 calls `timeout_ms`."""
    heard: list[dict[str, Any]] = []

    def listen(brokers: Brokers, node: int, request: Request) -> bytes:
        heard.append(request.body)
        return request.response()

    async with started() as (brokers, cluster):
        brokers.answers["Produce"] = listen
        await cluster.send("produce", {"timeout": 5}, version=2)
        await cluster.send("produce", {}, version=2)
    assert heard == [
        {"acks": -1, "timeout_ms": 5, "topic_data": []},
        {"acks": -1, "timeout_ms": 30_000, "topic_data": []},
    ]
