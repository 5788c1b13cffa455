"""Records of `__cluster_metadata`, the log of a KRaft quorum: all that controllers and brokers know of their cluster.

KIP-500, KIP-631. Values begin with a frame; keys are null. In the preview of Kafka 2.8 (frame version 0) nearly all of
them were classic. A broker's registration told its controlled shutdown since v1 (KIP-841), the move from ZooKeeper v2
(KIP-866), log directories v3 (KIP-858), the cordoned ones v4 (KIP-1066); changes of it the same, but for ZooKeeper. A
partition has directories since v1 (KIP-858) and eligible leader replicas since v2 (KIP-966).
"""

from typing import Any

from ...wire import (
    Array,
    BeforeRelease,
    Boolean,
    Bytes,
    Default,
    Float64,
    Int16,
    Int32,
    Int64,
    Nullable,
    Partition,
    Secret,
    Since,
    SinceRelease,
    String,
    Struct,
    Tag,
    Timestamp,
    TopicId,
    TopicName,
    Uuid,
    UVarint,
)
from ...wire.language.payload import Payload
from ...wire.language.types import Release, Word
from ..meanings import (
    AclOperation,
    AclPatternType,
    AclPermissionType,
    AclResourceType,
    BrokerEpoch,
    BrokerId,
    ConfigResourceType,
    ControllerId,
    EntityName,
    EntityType,
    FencingChange,
    Host,
    IncarnationId,
    LeaderEpoch,
    LeaderRecoveryState,
    LeaderRecoveryStateChange,
    MaxSupportedVersion,
    MinSupportedVersion,
    PartitionEpoch,
    PartitionLeader,
    Rack,
    ResourceName,
    ScramMechanism,
    SecurityProtocol,
    ShutdownChange,
    UnsignedPort,
    ZkMigrationState,
)

FRAME = ("frame_version" / Default(UVarint, 1), "api_key" / UVarint, "version" / UVarint)


def record(
    name: str, *fields: Any, versions: range = range(1), releases: tuple[Release, ...] = (), classic: bool = False
) -> Payload:
    """A record of this log. `releases` had other forms of it; `classic`: so had the preview, which was not flexible."""
    preview: tuple[Release, ...] = ((2, 8),) if classic else ()
    return Payload(
        name, Struct(*fields), versions, 0, FRAME, releases + preview, flexible_release=(3, 0) if classic else (0, 0)
    )


acl = (
    "resource_type" / AclResourceType,
    "resource_name" / ResourceName,
    "pattern_type" / AclPatternType,
    "principal" / String,
    "host" / String,
    "operation" / AclOperation,
    "permission_type" / AclPermissionType,
)
endpoints = Array("name" / String, "host" / Host, "port" / UnsignedPort, "security_protocol" / SecurityProtocol)
features = Array(
    "name" / String,
    "min_supported_version" / MinSupportedVersion,
    "max_supported_version" / MaxSupportedVersion,
)
replicas = Array(Int32)
scram_credentials = Array(
    "mechanism" / ScramMechanism,
    "salt" / Secret(Bytes),
    "salted_password" / Secret(Bytes),
    "iterations" / Int32,
)


def unless_changed(type: Array) -> Word:
    """A tagged array that is null where a change leaves it as it was."""
    return Default(Nullable(type), None)


RECORDS = {
    0: record("RegisterBrokerRecord",
        "broker_id" / BrokerId,
        "is_migrating_zk_broker" / Since(2, Boolean),
        "incarnation_id" / IncarnationId,
        "broker_epoch" / BrokerEpoch,
        "end_points" / endpoints,
        "features" / features,
        "rack" / Nullable(Rack),
        "fenced" / SinceRelease((3, 0), Default(Boolean, True)),
        "in_controlled_shutdown" / Since(1, Boolean),
        "log_dirs" / Since(3, Tag(0, Array(Uuid))),
        "cordoned_log_dirs" / Since(4, Tag(1, Default(Nullable(Array(Uuid)), None))),
        versions=range(5), classic=True,
    ),
    1: record("UnregisterBrokerRecord", "broker_id" / BrokerId, "broker_epoch" / BrokerEpoch, classic=True),
    2: record("TopicRecord", "name" / TopicName, "topic_id" / TopicId, classic=True),
    3: record("PartitionRecord",
        "partition_id" / Default(Partition, -1),
        "topic_id" / TopicId,
        "replicas" / replicas,
        "isr" / replicas,
        "removing_replicas" / BeforeRelease((3, 0), Nullable(replicas)),
        "removing_replicas" / SinceRelease((3, 0), replicas),
        "adding_replicas" / BeforeRelease((3, 0), Nullable(replicas)),
        "adding_replicas" / SinceRelease((3, 0), replicas),
        "leader" / Default(PartitionLeader, -1),
        "leader_recovery_state" / SinceRelease((3, 2), Tag(0, LeaderRecoveryState)),
        "leader_epoch" / Default(LeaderEpoch, -1),
        "partition_epoch" / Default(PartitionEpoch, -1),
        "directories" / Since(1, Array(Uuid)),
        "eligible_leader_replicas" / Since(2, Tag(1, unless_changed(replicas))),
        "last_known_elr" / Since(2, Tag(2, unless_changed(replicas))),
        versions=range(3), classic=True,
    ),
    4: record("ConfigRecord",
        "resource_type" / ConfigResourceType,
        "resource_name" / ResourceName,
        "name" / String,
        "value" / BeforeRelease((3, 0), Secret(String, when="name")),
        "value" / SinceRelease((3, 0), Nullable(Secret(String, when="name"))),
        classic=True,
    ),
    5: record("PartitionChangeRecord",
        "partition_id" / Default(Partition, -1),
        "topic_id" / TopicId,
        "isr" / Tag(0, unless_changed(replicas)),
        "leader" / Tag(1, Default(PartitionLeader, -2)),
        "replicas" / SinceRelease((3, 0), Tag(2, unless_changed(replicas))),
        "removing_replicas" / SinceRelease((3, 0), Tag(3, unless_changed(replicas))),
        "adding_replicas" / SinceRelease((3, 0), Tag(4, unless_changed(replicas))),
        "leader_recovery_state" / SinceRelease((3, 2), Tag(5, Default(LeaderRecoveryStateChange, -1))),
        "directories" / Since(1, Tag(8, unless_changed(Array(Uuid)))),
        "eligible_leader_replicas" / Since(2, Tag(6, unless_changed(replicas))),
        "last_known_elr" / Since(2, Tag(7, unless_changed(replicas))),
        versions=range(3),
    ),
    6: record("AccessControlRecord",
        "resource_type" / AclResourceType,
        "resource_name" / Nullable(ResourceName),
        *acl[2:],
    ),
    7: record("FenceBrokerRecord", "id" / Int32, "epoch" / Int64, classic=True),
    8: record("UnfenceBrokerRecord", "id" / Int32, "epoch" / Int64, classic=True),
    9: record("RemoveTopicRecord", "topic_id" / TopicId, classic=True),
    10: record("DelegationTokenRecord",
        "owner" / String,
        "requester" / SinceRelease((3, 6), String),
        "renewers" / Array(String),
        "issue_timestamp" / Timestamp,
        "max_timestamp" / Timestamp,
        "expiration_timestamp" / Timestamp,
        "token_id" / String,
        releases=((3, 5),), classic=True,
    ),
    11: record("UserScramCredentialRecord",
        "name" / String,
        "credential_infos" / BeforeRelease((3, 5), scram_credentials),
        "mechanism" / SinceRelease((3, 5), ScramMechanism),
        "salt" / SinceRelease((3, 5), Secret(Bytes)),
        "stored_key" / SinceRelease((3, 5), Secret(Bytes)),
        "server_key" / SinceRelease((3, 5), Secret(Bytes)),
        "iterations" / SinceRelease((3, 5), Int32),
        releases=((3, 4),), classic=True,
    ),
    12: record("FeatureLevelRecord",
        "name" / String,
        "min_feature_level" / BeforeRelease((3, 3), Int16),
        "max_feature_level" / BeforeRelease((3, 3), Int16),
        "feature_level" / SinceRelease((3, 3), Int16),
        releases=((3, 2),), classic=True,
    ),
    14: record("ClientQuotaRecord",
        "entity" / Array("entity_type" / EntityType, "entity_name" / Nullable(EntityName)),
        "key" / String,
        "value" / Float64,
        "remove" / Boolean,
        classic=True,
    ),
    15: record("ProducerIdsRecord",
        "broker_id" / BrokerId,
        "broker_epoch" / Default(BrokerEpoch, -1),
        "next_producer_id" / Int64,
    ),
    16: record("RemoveFeatureLevelRecord", "name" / String),
    17: record("BrokerRegistrationChangeRecord",
        "broker_id" / BrokerId,
        "broker_epoch" / BrokerEpoch,
        "fenced" / Tag(0, FencingChange),
        "in_controlled_shutdown" / Since(1, Tag(1, ShutdownChange)),
        "log_dirs" / Since(2, Tag(2, Array(Uuid))),
        "cordoned_log_dirs" / Since(3, Tag(3, Default(Nullable(Array(Uuid)), None))),
        versions=range(4),
    ),
    18: record("AccessControlEntryRecord", "id" / Uuid, *acl),
    19: record("RemoveAccessControlEntryRecord", "id" / Uuid),
    20: record("NoOpRecord"),
    21: record("ZkMigrationStateRecord", "zk_migration_state" / ZkMigrationState),
    22: record("RemoveUserScramCredentialRecord", "name" / String, "mechanism" / ScramMechanism),
    23: record("BeginTransactionRecord", "name" / Tag(0, Default(Nullable(String), None))),
    24: record("EndTransactionRecord"),
    25: record("AbortTransactionRecord", "reason" / Tag(0, Default(Nullable(String), None))),
    26: record("RemoveDelegationTokenRecord", "token_id" / String),
    27: record("RegisterControllerRecord",
        "controller_id" / ControllerId,
        "incarnation_id" / IncarnationId,
        "zk_migration_ready" / Boolean,
        "end_points" / endpoints,
        "features" / features,
    ),
    28: record("ClearElrRecord", "topic_name" / TopicName),
    29: record("UnregisterControllerRecord", "controller_id" / ControllerId),
}
"""Every kind by the number in its frame."""
