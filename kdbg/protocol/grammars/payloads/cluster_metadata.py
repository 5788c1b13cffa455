"""Records of `__cluster_metadata`, the log of a KRaft quorum: all that controllers and brokers know of their cluster.

KIP-500, KIP-631. Values begin with a frame; keys are null. In the preview of Kafka 2.8 (frame version 0) nearly all of
them were classic. A broker's registration told its controlled shutdown since v1 (KIP-841), the move from ZooKeeper v2
(KIP-866), log directories v3 (KIP-858), the cordoned ones v4 (KIP-1066); changes of it the same, but for ZooKeeper. A
partition has directories since v1 (KIP-858) and eligible leader replicas since v2 (KIP-966).
"""

from typing import Any

from ...wire.language.payload import Payload
from ...wire.language.types import Release, Word
from ..meanings import *

FRAME = (
    "frame_version" / Default(UVarint, 1) * "format of this header: 1; 0 in Kafka 2.8",
    "api_key" / UVarint * "kind of record",
    "version" / UVarint * "version of the record's layout",
)


def record(
    name: str, *fields: Any, versions: range = range(1), releases: tuple[Release, ...] = (), classic: bool = False
) -> Payload:
    """Declare a record of this log: a payload after the frame.

    `releases` are those with another form of it; with `classic` the preview's form differs too: it is not flexible.
    """
    preview: tuple[Release, ...] = ((2, 8),) if classic else ()
    return Payload(
        name, Struct(*fields), versions, 0, FRAME, releases + preview, flexible_release=(3, 0) if classic else (0, 0)
    )


acl: Final = (
    "resource_type" / AclResourceType,
    "resource_name" / ResourceName * "name of the resource, or how it begins if pattern_type is PREFIXED; * means any",
    "pattern_type" / AclPatternType,
    "principal" / String * "who the rule is about, such as User:alice; User:* means anyone",
    "host" / String * "address the rule applies to; * means any",
    "operation" / AclOperation,
    "permission_type" / AclPermissionType * "allow or deny; deny takes precedence",
)
replicas: Final = Array(Int32)
scram_credentials: Final = Array(
    "mechanism" / ScramMechanism,
    "salt" / Secret(Bytes) * "random bytes hashed together with the password",
    "salted_password" / Secret(Bytes) * "result of hashing the password; any client that knows it can log in",
    "iterations" / Int32 * "rounds of hashing; the more, the slower is guessing",
)


def unless_changed(type: Array) -> Word:
    """Declare the type of a tagged array, null by default: null means that a change leaves the array as it was."""
    return Default(Nullable(type), None)


RECORDS = {
    0: record("RegisterBrokerRecord",
        "broker_id" / BrokerId,
        "is_migrating_zk_broker" / Since(2, Boolean)
            * "true for a broker that still uses ZooKeeper, during a migration",
        "incarnation_id" / IncarnationId,
        "broker_epoch" / BrokerEpoch * "number of this registration; requests with an older one are refused",
        "end_points" / SecuredEndpoints * "addresses of the node, one per listener",
        "features" / SupportedFeatures * "feature levels the node supports",
        "rack" / Nullable(Rack),
        "fenced" / SinceRelease((3, 0), Default(Boolean, True))
            * "true until the broker has caught up; a fenced broker leads nothing and clients do not see it",
        "in_controlled_shutdown" / Since(1, Boolean)
            * "true while the broker hands over its partitions before it stops",
        "log_dirs" / Since(3, Tag(0, Array(Uuid))) * "ids of the broker's log directories that are online",
        "cordoned_log_dirs" / Since(4, Tag(1, Default(Nullable(Array(Uuid)), None)))
            * "ids of log directories that get no new partitions; null means unknown",
        versions=range(5), classic=True,
    ),
    1: record("UnregisterBrokerRecord",
        "broker_id" / BrokerId,
        "broker_epoch" / BrokerEpoch * "registration that ends",
        classic=True,
    ),
    2: record("TopicRecord", "name" / TopicName, "topic_id" / TopicId, classic=True),
    3: record("PartitionRecord",
        "partition_id" / Default(Partition, -1),
        "topic_id" / TopicId,
        "replicas" / replicas * "brokers that hold the partition, the preferred leader first",
        "isr" / replicas * "replicas in sync with the leader",
        "removing_replicas" / BeforeRelease((3, 0), Nullable(replicas)) * "replicas that a reassignment will remove",
        "removing_replicas" / SinceRelease((3, 0), replicas) * "replicas that a reassignment will remove",
        "adding_replicas" / BeforeRelease((3, 0), Nullable(replicas)) * "replicas that a reassignment is adding",
        "adding_replicas" / SinceRelease((3, 0), replicas) * "replicas that a reassignment is adding",
        "leader" / Default(PartitionLeader, -1) * "broker that leads the partition; -1 means none",
        "leader_recovery_state" / SinceRelease((3, 2), Tag(0, LeaderRecoveryState))
            * "RECOVERING from an unclean election until the leader reports that it is done",
        "leader_epoch" / Default(LeaderEpoch, -1),
        "partition_epoch" / Default(PartitionEpoch, -1),
        "directories" / Since(1, Array(Uuid))
            * "ids of the log directories that hold the replicas, in the order of replicas",
        "eligible_leader_replicas" / Since(2, Tag(1, unless_changed(replicas)))
            * "replicas outside the ISR that have all committed records; null means none",
        "last_known_elr" / Since(2, Tag(2, unless_changed(replicas)))
            * "replicas that were eligible before an unclean shutdown; null means none",
        versions=range(3), classic=True,
    ),
    4: record("ConfigRecord",
        "resource_type" / ConfigResourceType,
        "resource_name" / ResourceName * "name of the resource; empty means the default for all brokers",
        "name" / ConfigName,
        "value" / BeforeRelease((3, 0), Secret(String, when="name"))
            * "value of the setting; null deletes it, since Kafka 3.0",
        "value" / SinceRelease((3, 0), Nullable(Secret(String, when="name")))
            * "value of the setting; null deletes it, since Kafka 3.0",
        classic=True,
    ),
    5: record("PartitionChangeRecord",
        "partition_id" / Default(Partition, -1),
        "topic_id" / TopicId,
        "isr" / Tag(0, unless_changed(replicas)) * "replicas in sync with the leader; null means unchanged",
        "leader" / Tag(1, Default(PartitionLeader, -2))
            * "broker that leads the partition; -1 means none, -2 unchanged",
        "replicas" / SinceRelease((3, 0), Tag(2, unless_changed(replicas)))
            * "brokers that hold the partition, the preferred leader first; null means unchanged",
        "removing_replicas" / SinceRelease((3, 0), Tag(3, unless_changed(replicas)))
            * "replicas that a reassignment will remove; null means unchanged",
        "adding_replicas" / SinceRelease((3, 0), Tag(4, unless_changed(replicas)))
            * "replicas that a reassignment is adding; null means unchanged",
        "leader_recovery_state" / SinceRelease((3, 2), Tag(5, Default(LeaderRecoveryStateChange, -1)))
            * "RECOVERING from an unclean election or not; -1 means unchanged",
        "directories" / Since(1, Tag(8, unless_changed(Array(Uuid))))
            * "ids of the log directories that hold the replicas; null means unchanged",
        "eligible_leader_replicas" / Since(2, Tag(6, unless_changed(replicas)))
            * "replicas outside the ISR that have all committed records; null means unchanged",
        "last_known_elr" / Since(2, Tag(7, unless_changed(replicas)))
            * "replicas that were eligible before an unclean shutdown; null means unchanged",
        versions=range(3),
    ),
    6: record("AccessControlRecord",
        "resource_type" / AclResourceType,
        "resource_name" / Nullable(ResourceName)
            * "name of the resource, or how it begins if pattern_type is PREFIXED; * means any, null no name",
        *acl[2:],
    ),
    7: record("FenceBrokerRecord",
        "id" / Int32 * "broker to fence: it loses its leaderships and clients no longer see it",
        "epoch" / Int64 * "registration of the broker that is fenced",
        classic=True,
    ),
    8: record("UnfenceBrokerRecord",
        "id" / Int32 * "broker that may lead partitions again",
        "epoch" / Int64 * "registration of the broker that is unfenced",
        classic=True,
    ),
    9: record("RemoveTopicRecord", "topic_id" / TopicId, classic=True),
    10: record("DelegationTokenRecord",
        "owner" / String * "principal that the token authenticates, such as User:alice",
        "requester" / SinceRelease((3, 6), String) * "principal that requested the token",
        "renewers" / Array(String) * "principals that may renew the token besides its owner",
        "issue_timestamp" / Timestamp * "when the token was issued, in ms since 1970",
        "max_timestamp" / Timestamp * "when the token ends for good, however often it is renewed, in ms since 1970",
        "expiration_timestamp" / Timestamp * "when the token expires unless it is renewed, in ms since 1970",
        "token_id" / String * "public id of the token; its secret is not in the log",
        releases=((3, 5),), classic=True,
    ),
    11: record("UserScramCredentialRecord",
        "name" / UserName,
        "credential_infos" / BeforeRelease((3, 5), scram_credentials) * "credentials of the user, one per mechanism",
        "mechanism" / SinceRelease((3, 5), ScramMechanism),
        "salt" / SinceRelease((3, 5), Secret(Bytes)) * "random bytes hashed together with the password",
        "stored_key" / SinceRelease((3, 5), Secret(Bytes)) * "key with which the broker checks a client's proof",
        "server_key" / SinceRelease((3, 5), Secret(Bytes)) * "key with which the broker proves that it knows the user",
        "iterations" / SinceRelease((3, 5), Int32) * "rounds of hashing; the more, the slower is guessing",
        releases=((3, 4),), classic=True,
    ),
    12: record("FeatureLevelRecord",
        "name" / FeatureName,
        "min_feature_level" / BeforeRelease((3, 3), Int16) * "lowest level that is finalized",
        "max_feature_level" / BeforeRelease((3, 3), Int16) * "highest level that is finalized",
        "feature_level" / SinceRelease((3, 3), Int16) * "level the whole cluster uses; 0 means disabled",
        releases=((3, 2),), classic=True,
    ),
    14: record("ClientQuotaRecord",
        "entity" / Array("entity_type" / EntityType, "entity_name" / Nullable(EntityName))
            * "entity of the quota: a user, a client id, both together, or an address",
        "key" / String * "name of the quota, such as producer_byte_rate",
        "value" / Float64 * "the limit, in the unit of the quota; ignored if the quota is removed",
        "remove" / Boolean * "true removes the quota",
        classic=True,
    ),
    15: record("ProducerIdsRecord",
        "broker_id" / BrokerId * "broker that requested a block of ids",
        "broker_epoch" / Default(BrokerEpoch, -1) * "registration of that broker; -1 means unknown",
        "next_producer_id" / Int64 * "first id of the next block: all ids below it are given out",
    ),
    16: record("RemoveFeatureLevelRecord", "name" / String * "name of the feature to remove"),
    17: record("BrokerRegistrationChangeRecord",
        "broker_id" / BrokerId,
        "broker_epoch" / BrokerEpoch * "registration that changes",
        "fenced" / Tag(0, FencingChange) * "whether the broker is fenced from now on; 0 means unchanged",
        "in_controlled_shutdown" / Since(1, Tag(1, ShutdownChange))
            * "whether the broker has begun to shut down; 0 means unchanged",
        "log_dirs" / Since(2, Tag(2, Array(Uuid)))
            * "ids of the log directories that are online; empty means unchanged",
        "cordoned_log_dirs" / Since(3, Tag(3, Default(Nullable(Array(Uuid)), None)))
            * "ids of log directories that get no new partitions; null means unchanged",
        versions=range(4),
    ),
    18: record("AccessControlEntryRecord",
        "id" / Uuid * "id of the rule, by which it can be removed",
        *acl,
    ),
    19: record("RemoveAccessControlEntryRecord", "id" / Uuid * "id of the rule to remove"),
    20: record("NoOpRecord"),
    21: record("ZkMigrationStateRecord", "zk_migration_state" / ZkMigrationState),
    22: record("RemoveUserScramCredentialRecord",
        "name" / UserName,
        "mechanism" / ScramMechanism,
    ),
    23: record("BeginTransactionRecord",
        "name" / Tag(0, Default(Nullable(String), None))
            * "what the records up to the end of the transaction are for; null means not stated",
    ),
    24: record("EndTransactionRecord"),
    25: record("AbortTransactionRecord",
        "reason" / Tag(0, Default(Nullable(String), None))
            * "why the records since the beginning do not count; null means not stated",
    ),
    26: record("RemoveDelegationTokenRecord",
        "token_id" / String * "public id of the token; its secret is not in the log",
    ),
    27: record("RegisterControllerRecord",
        "controller_id" / ControllerId,
        "incarnation_id" / IncarnationId * "id of this run of the controller's process, new with each start",
        "zk_migration_ready" / Boolean * "true if the controller is configured for a migration from ZooKeeper",
        "end_points" / SecuredEndpoints * "addresses of the node, one per listener",
        "features" / SupportedFeatures * "feature levels the node supports",
    ),
    28: record("ClearElrRecord",
        "topic_name" / TopicName * "topic whose eligible leader replicas are cleared; empty means all topics",
    ),
    29: record("UnregisterControllerRecord", "controller_id" / ControllerId * "node id of the controller"),
}
"""Every kind by the number in its frame."""
