"""Bodies of requests: what is left out filled in, topics as each version names them (KIP-516), forms to fill in, bytes.

Kafka's definitions give most fields no default, so that one that is left out is empty or 0: a filter that nothing
matches, a broker that may take no time. Who asks with kdbg and leaves a filter out means all, and as much time as
clients give. `kdbg encode` and `kdbg.encode` do without this table: there a field that is left out is what Kafka's
definitions say.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from ...exchanges.messages.guide_names import understood
from ...exchanges.messages.message import grammar_of
from ...exchanges.messages.reshape import rebuild
from ...protocol.wire import Api
from ...protocol.wire.nodes import Field, Node, NullableStruct, WireArray, WireStruct, build, children
from ...protocol.wire.records import RecordsNode
from .forms import HEADERS_SINCE, MAX_BYTES, MAX_WAIT_MS, REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS, TIMEOUT_MS, entries

MAX_RECORDS, TRANSACTION_TIMEOUT_MS = 500, 60_000
"""max.poll.records of the Java client's consumer, and transaction.timeout.ms of its producer."""
ANY = 1
"""Of resource types, pattern types, operations and permissions in a filter of ACLs."""
QUORUM = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
"""The one log that has a quorum."""
ALL_REPLICAS = LATEST = CONSUMER = BROKERS_CHOICE = AT_ONCE = -1

WAITS = {
    "Fetch": ("max_wait_ms",),
    "ShareFetch": ("max_wait_ms",),
    "JoinGroup": ("rebalance_timeout_ms", "session_timeout_ms"),
}
"""The fields that say how long a broker may wait before it answers, the first that a version has."""
DEFAULTS: dict[str, dict[str, Any]] = {
    "Produce": {"acks": ALL_REPLICAS, "timeout_ms": TIMEOUT_MS},
    "Fetch": {"max_wait_ms": MAX_WAIT_MS, "topics.partitions.partition_max_bytes": MAX_BYTES},
    "ListOffsets": {"replica_id": CONSUMER, "timeout_ms": TIMEOUT_MS, "topics.partitions.timestamp": LATEST},
    "Metadata": {"topics": None, "topics.name": None},
    "UpdateMetadata": {"live_brokers.rack": None},
    "OffsetFetch": {"topics": None, "groups.topics": None},
    "JoinGroup": {"session_timeout_ms": SESSION_TIMEOUT_MS, "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS},
    "CreateTopics": {
        "topics.num_partitions": BROKERS_CHOICE, "topics.replication_factor": BROKERS_CHOICE,
        "topics.configs.value": None,
    },
    "DeleteTopics": {"timeout_ms": TIMEOUT_MS},
    "DeleteRecords": {"timeout_ms": TIMEOUT_MS},
    "InitProducerId": {"transactional_id": None, "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS},
    "DescribeAcls": {
        "resource_type_filter": ANY, "resource_name_filter": None, "pattern_type_filter": ANY,
        "principal_filter": None, "host_filter": None, "operation": ANY, "permission_type": ANY,
    },
    # What is deleted must be named: a type, operation or permission that is left out is refused by the broker.
    "DeleteAcls": {
        "filters.resource_name_filter": None, "filters.principal_filter": None, "filters.host_filter": None,
    },
    "DescribeConfigs": {"resources.configuration_keys": None},
    "AlterConfigs": {"resources.configs.value": None},
    "DescribeLogDirs": {"topics": None},
    "CreatePartitions": {"topics.assignments": None, "timeout_ms": TIMEOUT_MS},
    "CreateDelegationToken": {"owner_principal_type": None, "owner_principal_name": None},
    "RenewDelegationToken": {"renew_period_ms": BROKERS_CHOICE},
    "ExpireDelegationToken": {"expiry_time_period_ms": AT_ONCE},
    "DescribeDelegationToken": {"owners": None},
    "ElectLeaders": {"topic_partitions": None},
    "IncrementalAlterConfigs": {"resources.configs.value": None},
    "DescribeQuorum": {"topics": QUORUM},
    "DescribeClientQuotas": {"components.match": None},
    "AlterClientQuotas": {"entries.entity.entity_name": None},
    "DescribeUserScramCredentials": {"users": None},
    "BrokerRegistration": {"rack": None},
    "ShareFetch": {"max_wait_ms": MAX_WAIT_MS, "max_records": MAX_RECORDS, "batch_size": MAX_RECORDS},
    "AddRaftVoter": {"cluster_id": None, "timeout_ms": TIMEOUT_MS},
    "RemoveRaftVoter": {"cluster_id": None},
    "UpdateRaftVoter": {"cluster_id": None},
    "DescribeShareGroupOffsets": {"groups.topics": None},
}  # fmt: skip
"""API -> path of a field in its request, without indexes -> its value where it is left out. Null where a version
cannot say it is left to Kafka's default."""


def filled(api: Api, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body with the defaults of this table where it leaves a field out; no field is changed."""
    if api.name not in DEFAULTS:
        return dict(body)
    made: dict[str, Any] = _filled(api.at("request", version), body, DEFAULTS[api.name], "")
    return made


def waits(api: Api, body: Mapping[str, Any]) -> float:
    """Return how long a broker may keep this request by what it says, in seconds: a fetch for records to come, a join
    for the other members."""
    for name in WAITS.get(api.name, ()):
        if isinstance(body.get(name), int) and body[name] > 0:
            return float(body[name] / 1000)
    return 0.0


def _filled(grammar: Node, value: Any, table: Mapping[str, Any], path: str) -> Any:
    if isinstance(grammar, NullableStruct):
        grammar = grammar.struct
    if isinstance(grammar, WireArray) and isinstance(value, list):
        return [_filled(grammar.item, item, table, path) for item in value]
    if not isinstance(grammar, WireStruct) or not isinstance(value, Mapping):
        return value
    made = dict(value)
    for field in grammar.fields:
        inner = f"{path}.{field.name}" if path else field.name
        if field.name in value:
            made[field.name] = _filled(field.node, value[field.name], table, inner)
        elif inner in table:
            made[field.name] = left_out(field, inner, table)
    return made


def left_out(field: Field, path: str, table: Mapping[str, Any]) -> Any:
    """Return the value of a field that is left out."""
    nullable = isinstance(field.node, NullableStruct) or getattr(field.node, "nullable", False)
    found = table.get(path, field.default)
    return field.default if found is None and not nullable else deepcopy(found)


def fitting(api: Api, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `body` that this version has, at the top: others may stand there for other versions."""
    if version not in api.versions:
        return dict(body)
    grammar: WireStruct = api.at("request", version)
    return {name: value for name, value in body.items() if name in set(grammar.keys)}


def body_bytes(api: Api, version: int, body: Mapping[str, Any]) -> bytes:
    """Return the bytes of a body by its grammar, or by that of the guide whose fields it has.

    `BuildError` names the field that does not fit.
    """
    if version in api.versions:
        grammar, body = understood(api, "request", version, body)
    else:
        grammar = grammar_of(api, version, "request")
    return build(grammar, rebuild(body))


NAMES = ("name", "topic", "topic_name")


def unnamed(grammar: Node, value: Any) -> set[str]:
    """Return the topic names in `value` for which this grammar has no field, but one for the topic id."""
    found: set[str] = set()
    _walk(grammar, value, lambda topic, name: found.add(name))
    return found


def by_id(grammar: Node, value: Any, ids: Mapping[str, uuid.UUID]) -> Any:
    """Return the value with topic ids for the names that have no place; a name without a known id stays.

    A name under another key than the grammar's (`name` for `topic`) moves there: versions differ in that too.
    """

    def exchange(topic: dict[str, Any], name: str) -> dict[str, Any]:
        if name not in ids:
            return topic
        return {"topic_id": ids[name]} | {key: item for key, item in topic.items() if key not in NAMES}

    return _walk(grammar, value, exchange)


def _walk(grammar: Node, value: Any, exchange: Callable[[dict[str, Any], str], Any]) -> Any:
    """Return the value with `exchange` applied to every structure that has a topic's name where an id is wanted."""
    if isinstance(grammar, NullableStruct):
        grammar = grammar.struct
    if isinstance(grammar, WireArray) and isinstance(value, list):
        return [_walk(grammar.item, item, exchange) for item in value]
    if not isinstance(grammar, WireStruct) or not isinstance(value, Mapping):
        return value
    inner = {field.name: field.node for field in grammar.members}
    walked = {key: _walk(inner[key], item, exchange) if key in inner else item for key, item in value.items()}
    given = next((key for key in NAMES if key in value and key not in inner), None)
    if given is None or value[given] is None:
        return walked
    if "topic_id" in inner and "topic_id" not in value:
        return exchange(walked, value[given])
    own = next((key for key, node in inner.items() if node.kind == "topic" and key in NAMES and key not in value), None)
    return walked if own is None else {own if key == given else key: item for key, item in walked.items()}


def template(api: Api, version: int) -> dict[str, Any]:
    """Return a request body with every field, as JSON can say it; `UnknownVersion` for an unknown version."""
    table = DEFAULTS.get(api.name, {})

    def value(node: Node, field: Field | None, path: str) -> Any:
        """Return the template of a node: `field` is the one at `path`, None for an array's item or after a marker."""
        if isinstance(node, WireStruct):
            return {one.name: value(one.node, one, f"{path}.{one.name}".lstrip(".")) for one in node.members}
        if isinstance(node, RecordsNode):  # one record, in the format that this version of Produce carries
            headers = (("", ""),) if version >= HEADERS_SINCE else ()
            return entries(version, ("",), None, headers, -1, "none", None)
        for child in children(node):
            inside = value(child.node, None, path)
            return [inside] if child.repeated else inside
        plain = node.default() if field is None else left_out(field, path, table)
        if isinstance(plain, bytes):
            return plain.decode()
        return str(plain) if isinstance(plain, uuid.UUID) else plain

    made: dict[str, Any] = value(api.at("request", version), None, "")
    return made
