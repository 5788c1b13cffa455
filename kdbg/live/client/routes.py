"""Which broker a request must go to, any, a partition's leader, a coordinator, or the controller, and in which version.

From the guide's "Partitioning and bootstrapping" and, for later APIs, from what brokers refuse.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import UUID

from ...errors import BuildError
from ...exchanges.messages.exchange import Exchange
from ...protocol.wire import Api
from ...protocol.wire.nodes import Fixed, Node, NullableStruct, UuidNode, WireArray, WireStruct
from ...protocol.wire.nodes.leaves import number_of
from ...protocol.wire.readings.outline import outline
from ...protocol.wire.records import RecordsNode

API_VERSIONS, METADATA, VOTE, BROKER_REGISTRATION = 18, 3, 52, 62
LEADER = frozenset({0, 1, 2, 21, 23, 78, 79, 61})
"""Produce, Fetch, ListOffsets, DeleteRecords, OffsetForLeaderEpoch, ShareFetch, ShareAcknowledge, DescribeProducers."""
GROUP = frozenset({8, 9, 11, 12, 13, 14, 15, 28, 42, 47, 68, 69, 76, 77, 88, 89, 90, 91, 92, 93})
"""What the group coordinator answers: commits, memberships of all group protocols, descriptions, deletions."""
TRANSACTION = frozenset({22, 24, 25, 26, 65})
"""InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, DescribeTransactions."""
SHARE = frozenset({83, 84, 85, 86, 87})
"""What the share coordinator answers (KIP-932): the state of a share group's partition, kept, read and deleted."""
CONTROLLER = frozenset({19, 20, 37, 43, 45, 46, 57})
"""CreateTopics, DeleteTopics, CreatePartitions, ElectLeaders, partition reassignments, UpdateFeatures."""
CONFIGS, BROKER_ITSELF = frozenset({32, 33, 44}), (4, 8)
"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs; a broker's settings and its loggers, which it alone knows."""
KEY_TYPES = {"group": 0, "transaction": 1, "share": 2}
"""FindCoordinator's key_type."""
RETRY = frozenset({3, 5, 6, 14, 15, 16, 41, 72, 74, 75, 100, 103})
"""Errors that newer metadata, or a little patience, may cure: unknown topic (it may be new), no leader, another leader,
coordinator loading, missing or moved, another controller, stale epochs, unknown topic id."""

Versions = Mapping[int, tuple[int, int]]
"""What a broker speaks (KIP-35): API key -> (lowest, highest); empty where the broker does not tell."""


class Route(NamedTuple):
    """`kind` is "any", "leader", "group", "transaction", "share", "controller" or "broker".

    `subject` is a (topic, partition), the name of a group, a transactional id, the key of a share group's partition, or
    the id of a broker.
    """

    kind: str
    subject: Any = None


def route(api: Api, body: Mapping[str, Any]) -> Route:
    """Return where a request with this body goes, whatever its version; to any broker if it names no subject."""
    if api.key in CONTROLLER:
        return Route("controller")
    if api.key in CONFIGS and (broker := _broker(completed(api.at("request", api.versions[-1]), body))) is not None:
        return Route("broker", broker)
    if api.key in TRANSACTION:
        lists = [body.get("transactional_ids"), body.get("transactions")]
        firsts = [first[0] for first in lists if isinstance(first, list) and first]
        found = [body.get("transactional_id"), body.get("v3_and_below_transactional_id"), *firsts]
        ids = (one.get("transactional_id") if isinstance(one, Mapping) else one for one in found)
        transaction = next((one for one in ids if isinstance(one, str) and one), None)
        return Route("transaction", transaction) if transaction else Route("any")
    if api.key in SHARE:
        key = _share_key(completed(api.at("request", api.versions[-1]), body))
        return Route("share", key) if key else Route("any")
    if api.key in LEADER:
        partitions = partitions_of(api, body)
        return Route("leader", partitions[0]) if partitions else Route("any")
    for version in reversed(api.versions) if api.key in GROUP else ():
        grammar = api.at("request", version)
        _, groups, _ = outline(grammar)(completed(grammar, body))
        if groups and isinstance(groups[0], str) and groups[0]:
            return Route("group", groups[0])
    return Route("any")


def partitions_of(api: Api, body: Mapping[str, Any]) -> list[tuple[Any, int]]:
    """Return every partition that a request for leaders is about, as (topic, partition)."""
    for version in reversed(api.versions):
        grammar = api.at("request", version)
        rows, _, _ = outline(grammar)(completed(grammar, body))
        if rows and _is_topic(rows[0][0]):
            return [(topic, partition or 0) for topic, partition, *_ in rows]
    return []


def _share_key(body: Mapping[str, Any]) -> str:
    """Return FindCoordinator's key for a body's first share-group partition, `group:topic id:partition`, or ""."""
    topics = body.get("topics")
    topic = topics[0] if isinstance(topics, list) and topics and isinstance(topics[0], Mapping) else {}
    partitions, topic_id = topic.get("partitions"), topic.get("topic_id")
    if not (isinstance(partitions, list) and partitions and isinstance(partitions[0], Mapping) and _is_topic(topic_id)):
        return ""
    written = base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=") if isinstance(topic_id, UUID) else ""
    return f"{body.get('group_id')}:{written}:{partitions[0].get('partition')}"


def _broker(body: Mapping[str, Any]) -> int | None:
    """Return the id of the first broker whose own settings or loggers a body is about, None for none."""
    for resource in body.get("resources") or ():
        if isinstance(resource, Mapping) and resource.get("resource_type") in BROKER_ITSELF:
            name = resource.get("resource_name")
            return int(name) if isinstance(name, str) and name.isdecimal() and name.isascii() else None
    return None


def curable(exchange: Exchange) -> int | None:
    """Return an error code in an answer that newer metadata, or a little patience, may cure; None for none."""
    found = exchange.response.outline() if exchange.response is not None else None
    if found is None or exchange.api is None or exchange.api.key == METADATA:
        return None
    return next((code for code in found[2] if code in RETRY), None)


def completed(grammar: Node, value: Any) -> Any:
    """Return the value as it would be read back: with defaults, and numbers and UUIDs in place of their texts.

    Records become None; what does not fit stays as it is.
    """
    if isinstance(grammar, NullableStruct):
        grammar = grammar.struct
    if isinstance(grammar, WireArray) and isinstance(value, list):
        return [completed(grammar.item, item) for item in value]
    if isinstance(grammar, WireStruct) and isinstance(value, Mapping):
        return {field.name: completed(field.node, value.get(field.name, field.default)) for field in grammar.fields}
    if isinstance(grammar, RecordsNode):
        return None
    if isinstance(grammar, Fixed) and isinstance(value, str):
        with suppress(BuildError):
            return number_of(grammar, value, "")
    if isinstance(grammar, UuidNode) and isinstance(value, str):
        with suppress(ValueError):
            return UUID(value)
    return value


def _is_topic(name: Any) -> bool:
    """Return whether this names a topic: no empty name, and not the all-zero id."""
    return bool(name.int) if isinstance(name, UUID) else isinstance(name, str) and bool(name)


def choose(api: Api, known: Versions, within: range | None = None) -> int:
    """Return the highest version of `within` that both sides know; the lowest if the broker told none.

    Where there is none, the nearest to what the broker knows: its refusal says it best.
    """
    wanted = within or api.versions
    if not known:
        return wanted[0]
    lowest, highest = known.get(api.key, (wanted[0], wanted[-1]))
    return min(max(min(highest, wanted[-1]), lowest, wanted[0]), wanted[-1])


def serves(told: Versions | None, api: Api) -> bool:
    """Return whether a listener that told these versions offers an API; one that told none may offer any."""
    return not told or api.key in told


def spoken(told: Versions | None, api: Api, version: int) -> bool:
    """Return whether a listener that told these versions speaks this one of an API; True if it told none."""
    lowest, highest = (told or {}).get(api.key, (version, version))
    return serves(told, api) and lowest <= version <= highest


def is_controller(told: Versions) -> bool:
    """Return whether these are the APIs of a KRaft controller's listener: votes or registration, no Metadata."""
    return METADATA not in told and (VOTE in told or BROKER_REGISTRATION in told)
