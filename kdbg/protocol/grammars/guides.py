"""What Kafka's guides of 0.8 and of 0.10.1 call the fields that are named otherwise today.

Keys are today's names: the end of a field's path, as much of it as says which one is meant. `0` in a path is an item of
an array of plain values; a dot in a guide's name says that the field stands in a structure of its own there.
Names that differ by their case alone (`NodeId` in the guide of 0.8) are not listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..wire.language import Direction

Renamed = Mapping[str, str]


class Guide(NamedTuple):
    """One document: `messages` says up to which version it describes a message, and what it calls the fields."""

    title: str
    messages: Mapping[tuple[str, Direction], tuple[int, Renamed]]


LATER = Guide("0.10.1", {
    ("Produce", "request"): (2, {
        "timeout_ms": "timeout", "name": "topic", "partition_data": "data", "index": "partition",
        "records": "record_set",
    }),
    ("Produce", "response"): (2, {"name": "topic", "index": "partition", "log_append_time_ms": "timestamp"}),
    ("Fetch", "request"): (3, {"max_wait_ms": "max_wait_time", "partition_max_bytes": "max_bytes"}),
    ("Fetch", "response"): (3, {
        "partitions": "partition_responses", "partition_index": "partition", "records": "record_set",
    }),
    ("ListOffsets", "request"): (1, {"name": "topic", "partition_index": "partition"}),
    ("ListOffsets", "response"): (1, {
        "topics": "responses", "name": "topic", "partitions": "partition_responses", "partition_index": "partition",
        "old_style_offsets": "offsets",
    }),
    ("Metadata", "request"): (2, {}),
    ("Metadata", "response"): (2, {
        "topics": "topic_metadata", "topics.error_code": "topic_error_code", "name": "topic",
        "partitions": "partition_metadata", "partitions.error_code": "partition_error_code",
        "partition_index": "partition_id", "leader_id": "leader", "replica_nodes": "replicas", "isr_nodes": "isr",
    }),
    ("LeaderAndIsr", "request"): (0, {
        "ungrouped_partition_states": "partition_states", "topic_name": "topic", "partition_index": "partition",
        "partition_epoch": "zk_version", "live_leaders.broker_id": "id", "host_name": "host",
    }),
    ("LeaderAndIsr", "response"): (0, {
        "partition_errors": "partitions", "topic_name": "topic", "partition_index": "partition",
    }),
    ("StopReplica", "request"): (0, {
        "ungrouped_partitions": "partitions", "topic_name": "topic", "partition_index": "partition",
    }),
    ("StopReplica", "response"): (0, {
        "partition_errors": "partitions", "topic_name": "topic", "partition_index": "partition",
    }),
    ("UpdateMetadata", "request"): (2, {
        "ungrouped_partition_states": "partition_states", "topic_name": "topic", "partition_index": "partition",
        "v0_host": "host", "v0_port": "port", "endpoints": "end_points", "security_protocol": "security_protocol_type",
    }),
    ("ControlledShutdown", "response"): (1, {
        "remaining_partitions": "partitions_remaining", "topic_name": "topic", "partition_index": "partition",
    }),
    ("OffsetCommit", "request"): (2, {
        "generation_id_or_member_epoch": "group_generation_id", "retention_time_ms": "retention_time", "name": "topic",
        "partition_index": "partition", "committed_offset": "offset", "commit_timestamp": "timestamp",
        "committed_metadata": "metadata",
    }),
    ("OffsetCommit", "response"): (2, {
        "topics": "responses", "name": "topic", "partitions": "partition_responses", "partition_index": "partition",
    }),
    ("OffsetFetch", "request"): (1, {
        "name": "topic", "partition_indexes": "partitions", "partition_indexes.0": "partition",
    }),
    ("OffsetFetch", "response"): (1, {
        "topics": "responses", "name": "topic", "partitions": "partition_responses", "partition_index": "partition",
        "committed_offset": "offset",
    }),
    ("FindCoordinator", "request"): (0, {"key": "group_id"}),
    ("FindCoordinator", "response"): (0, {
        "node_id": "coordinator.node_id", "host": "coordinator.host", "port": "coordinator.port",
    }),
    ("JoinGroup", "request"): (1, {
        "session_timeout_ms": "session_timeout", "rebalance_timeout_ms": "rebalance_timeout",
        "protocols": "group_protocols", "name": "protocol_name", "metadata": "protocol_metadata",
    }),
    ("JoinGroup", "response"): (1, {
        "protocol_name": "group_protocol", "leader": "leader_id", "metadata": "member_metadata",
    }),
    ("Heartbeat", "request"): (0, {"generation_id": "group_generation_id"}),
    ("SyncGroup", "request"): (0, {"assignments": "group_assignment", "assignment": "member_assignment"}),
    ("SyncGroup", "response"): (0, {"assignment": "member_assignment"}),
    ("DescribeGroups", "request"): (0, {"groups": "group_ids"}),
    ("DescribeGroups", "response"): (0, {"group_state": "state", "protocol_data": "protocol"}),
    ("SaslHandshake", "response"): (0, {"mechanisms": "enabled_mechanisms"}),
    ("ApiVersions", "response"): (0, {"api_keys": "api_versions"}),
    ("CreateTopics", "request"): (0, {
        "topics": "create_topic_requests", "name": "topic", "assignments": "replica_assignment",
        "partition_index": "partition_id", "broker_ids": "replicas", "configs.name": "config_key",
        "value": "config_value", "timeout_ms": "timeout",
    }),
    ("CreateTopics", "response"): (0, {"topics": "topic_error_codes", "name": "topic"}),
    ("DeleteTopics", "request"): (0, {"topic_names": "topics", "timeout_ms": "timeout"}),
    ("DeleteTopics", "response"): (0, {"responses": "topic_error_codes", "name": "topic"}),
})
EARLY = Guide("0.8", {
    ("Produce", "request"): (0, {
        "acks": "RequiredAcks", "timeout_ms": "Timeout", "name": "TopicName", "index": "Partition",
        "records": "MessageSet",
    }),
    ("Produce", "response"): (0, {"name": "TopicName", "index": "Partition", "base_offset": "Offset"}),
    ("Fetch", "request"): (0, {"max_wait_ms": "MaxWaitTime", "topic": "TopicName", "partition_max_bytes": "MaxBytes"}),
    ("Fetch", "response"): (0, {
        "topic": "TopicName", "partition_index": "Partition", "high_watermark": "HighwaterMarkOffset",
        "records": "MessageSet",
    }),
    ("ListOffsets", "request"): (0, {
        "name": "TopicName", "partition_index": "Partition", "timestamp": "Time",
        "max_num_offsets": "MaxNumberOfOffsets",
    }),
    ("ListOffsets", "response"): (0, {
        "name": "TopicName", "partitions": "PartitionOffsets", "partition_index": "Partition",
        "old_style_offsets": "Offset",
    }),
    ("Metadata", "request"): (0, {"topics": "TopicName"}),
    ("Metadata", "response"): (0, {
        "brokers": "Broker", "topics": "TopicMetadata", "topics.error_code": "TopicErrorCode", "name": "TopicName",
        "partitions": "PartitionMetadata", "partitions.error_code": "PartitionErrorCode",
        "partition_index": "PartitionId", "leader_id": "Leader", "replica_nodes": "Replicas", "isr_nodes": "Isr",
    }),
    ("OffsetCommit", "request"): (0, {
        "group_id": "ConsumerGroup", "name": "TopicName", "partition_index": "Partition", "committed_offset": "Offset",
        "commit_timestamp": "TimeStamp", "committed_metadata": "Metadata",
    }),
    ("OffsetCommit", "response"): (0, {"name": "TopicName", "partition_index": "Partition"}),
    ("OffsetFetch", "request"): (0, {
        "group_id": "ConsumerGroup", "name": "TopicName", "partition_indexes": "Partition",
    }),
    ("OffsetFetch", "response"): (0, {
        "name": "TopicName", "partition_index": "Partition", "committed_offset": "Offset",
    }),
    ("FindCoordinator", "request"): (0, {"key": "ConsumerGroup"}),
    ("FindCoordinator", "response"): (0, {
        "node_id": "CoordinatorId", "host": "CoordinatorHost", "port": "CoordinatorPort",
    }),
})
GUIDES = (EARLY, LATER)
FORMER_NAMES: Mapping[tuple[str, Direction], Renamed] = {
    ("TxnOffsetCommit", "request"): {"generation_id": "generation_id_or_member_epoch"},
    ("StreamsGroupHeartbeat", "response"): {"acceptable_recovery_lag": "acceptable_recovery_lag_legacy"},
}
"""What releases before 4.4 call fields at the top of a body, with the names that 4.4 gives them."""
MESSAGE = {
    "offset": "Offset", "crc": "Message.Crc", "magic": "Message.MagicByte", "attributes": "Message.Attributes",
    "key": "Message.Key", "value": "Message.Value",
}
"""What the guide of 0.8 calls the fields of a message in a message set; `Message` itself may be left out."""
COMPUTED = ("MessageSetSize",)
"""Fields of the guide of 0.8 that no body has: they follow from the others."""


def described(api: str, direction: Direction, version: int) -> list[tuple[Guide, Renamed]]:
    """Return the guides that describe a version of a message, each with its own names for the fields."""
    entries = [(guide, *guide.messages.get((api, direction), (-1, {}))) for guide in GUIDES]
    return [(guide, names) for guide, last, names in entries if version <= last]
