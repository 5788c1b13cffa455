"""Numbers that stand for something: enumerations and bit sets of the protocol, by the names Kafka gives them."""

from ..wire import Bits, Boolean, Enum, Int8, Int16, Int32, Int64, Timestamp

Acks = Enum(Int16, {0: "NONE", 1: "LEADER", -1: "ALL"})
AclOperation = Enum(Int8, {
    0: "UNKNOWN", 1: "ANY", 2: "ALL", 3: "READ", 4: "WRITE", 5: "CREATE", 6: "DELETE", 7: "ALTER", 8: "DESCRIBE",
    9: "CLUSTER_ACTION", 10: "DESCRIBE_CONFIGS", 11: "ALTER_CONFIGS", 12: "IDEMPOTENT_WRITE", 13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS", 15: "TWO_PHASE_COMMIT",
})
AclOperations = Bits(Int32, {
    3: "READ", 4: "WRITE", 5: "CREATE", 6: "DELETE", 7: "ALTER", 8: "DESCRIBE", 9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS", 11: "ALTER_CONFIGS", 12: "IDEMPOTENT_WRITE", 13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS", 15: "TWO_PHASE_COMMIT",
})
AclPatternType = Enum(Int8, {0: "UNKNOWN", 1: "ANY", 2: "MATCH", 3: "LITERAL", 4: "PREFIXED"})
AclPermissionType = Enum(Int8, {0: "UNKNOWN", 1: "ANY", 2: "DENY", 3: "ALLOW"})
AclResourceType = Enum(Int8, {
    0: "UNKNOWN", 1: "ANY", 2: "TOPIC", 3: "GROUP", 4: "CLUSTER", 5: "TRANSACTIONAL_ID", 6: "DELEGATION_TOKEN",
    7: "USER",
})
AlterConfigOperation = Enum(Int8, {0: "SET", 1: "DELETE", 2: "APPEND", 3: "SUBTRACT"})
BrokerDefault = Enum(Int64, {-1: "DEFAULT"})
BrokerDefault16 = Enum(Int16, {-1: "DEFAULT"})
BrokerDefault32 = Enum(Int32, {-1: "DEFAULT"})
CommitTimestamp = Timestamp.means("timestamp", {-1: "RECEIVE_TIME"})
CompressionType = Enum(Int8, {0: "NONE", 1: "GZIP", 2: "SNAPPY", 3: "LZ4", 4: "ZSTD"})
ConfigResourceType = Enum(Int8, {
    0: "UNKNOWN", 2: "TOPIC", 4: "BROKER", 8: "BROKER_LOGGER", 16: "CLIENT_METRICS", 32: "GROUP",
})
ConfigSource = Enum(Int8, {
    0: "UNKNOWN", 1: "TOPIC_CONFIG", 2: "DYNAMIC_BROKER_CONFIG", 3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG", 5: "DEFAULT_CONFIG", 6: "DYNAMIC_BROKER_LOGGER_CONFIG", 7: "CLIENT_METRICS_CONFIG",
    8: "GROUP_CONFIG",
})
ConfigType = Enum(Int8, {
    0: "UNKNOWN", 1: "BOOLEAN", 2: "STRING", 3: "INT", 4: "SHORT", 5: "LONG", 6: "DOUBLE", 7: "LIST", 8: "CLASS",
    9: "PASSWORD",
})
ControlRequestType = Enum(Int8, {0: "UNKNOWN", 1: "INCREMENTAL", 2: "FULL"})
CoordinatorKeyType = Enum(Int8, {0: "GROUP", 1: "TRANSACTION", 2: "SHARE"})
DeleteRecordsOffset = Enum(Int64, {-1: "HIGH_WATERMARK"})
ElectionType = Enum(Int8, {0: "PREFERRED", 1: "UNCLEAN"})
EndpointType = Enum(Int8, {0: "UNKNOWN", 1: "BROKER", 2: "CONTROLLER"})
FeatureUpgradeType = Enum(Int8, {0: "UNKNOWN", 1: "UPGRADE", 2: "SAFE_DOWNGRADE", 3: "UNSAFE_DOWNGRADE"})
FencingChange = Enum(Int8, {-1: "UNFENCE", 0: "NONE", 1: "FENCE"})
FetchSessionEpoch = Enum(Int32, {0: "INITIAL", -1: "FINAL"})
GroupMemberType = Enum(Int8, {-1: "UNKNOWN", 0: "CLASSIC", 1: "CONSUMER"})
GroupMemberState = Enum(Int8, {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS", 127: "UNKNOWN"})
IsolationLevel = Enum(Int8, {0: "READ_UNCOMMITTED", 1: "READ_COMMITTED"})
LeaderRecoveryState = Enum(Int8, {0: "RECOVERED", 1: "RECOVERING"})
LeaderRecoveryStateChange = Enum(Int8, {-1: "NO_CHANGE", 0: "RECOVERED", 1: "RECOVERING"})
ListOffsetsTimestamp = Timestamp.means("timestamp", {
    -1: "LATEST", -2: "EARLIEST", -3: "MAX_TIMESTAMP", -4: "EARLIEST_LOCAL", -5: "LATEST_TIERED",
    -6: "EARLIEST_PENDING_UPLOAD",
})
MemberEpoch = Enum(Int32, {0: "JOIN", -1: "LEAVE", -2: "LEAVE_STATIC"})
PartitionLeader = Enum(Int32, {-1: "NO_LEADER", -2: "NO_LEADER_CHANGE"})
QuotaMatchType = Enum(Int8, {0: "EXACT", 1: "DEFAULT", 2: "ANY"})
RemoteLogSegmentState = Enum(Int8, {
    0: "COPY_SEGMENT_STARTED", 1: "COPY_SEGMENT_FINISHED", 2: "DELETE_SEGMENT_STARTED", 3: "DELETE_SEGMENT_FINISHED",
})
RemotePartitionDeleteState = Enum(Int8, {
    0: "DELETE_PARTITION_MARKED", 1: "DELETE_PARTITION_STARTED", 2: "DELETE_PARTITION_FINISHED",
})
ReplicaId = Enum(Int32, {-1: "CONSUMER", -2: "DEBUGGING"})
ScramMechanism = Enum(Int8, {0: "UNKNOWN", 1: "SCRAM_SHA_256", 2: "SCRAM_SHA_512"})
SecurityProtocol = Enum(Int16, {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"})
ShareAcknowledgeType = Enum(Int8, {0: "GAP", 1: "ACCEPT", 2: "RELEASE", 3: "REJECT", 4: "RENEW"})
ShareAcquireMode = Enum(Int8, {0: "BATCH_OPTIMIZED", 1: "RECORD_LIMIT"})
ShareDeliveryState = Enum(Int8, {0: "AVAILABLE", 2: "ACKNOWLEDGED", 4: "ARCHIVED"})
ShareMemberEpoch = Enum(Int32, {0: "JOIN", -1: "LEAVE"})
ShareSessionEpoch = Enum(Int32, {0: "INITIAL", -1: "FINAL"})
ShutdownChange = Enum(Int8, {0: "NONE", 1: "IN_CONTROLLED_SHUTDOWN"})
StreamsGroupStatus = Enum(Int8, {
    0: "STALE_TOPOLOGY", 1: "MISSING_SOURCE_TOPICS", 2: "INCORRECTLY_PARTITIONED_TOPICS",
    3: "MISSING_INTERNAL_TOPICS", 4: "SHUTDOWN_APPLICATION", 5: "ASSIGNMENT_DELAYED", 6: "MISSING_CLIENT_TAGS",
})
StreamsMemberState = Enum(Int8, {1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS", 127: "UNKNOWN"})
TransactionResult = Enum(Boolean, {0: "ABORT", 1: "COMMIT"})
TransactionState = Enum(Int8, {
    0: "EMPTY", 1: "ONGOING", 2: "PREPARE_COMMIT", 3: "PREPARE_ABORT", 4: "COMPLETE_COMMIT", 5: "COMPLETE_ABORT",
    6: "DEAD", 7: "PREPARE_EPOCH_FENCE",
})
TransactionVersion = Enum(Int8, {0: "TV_0", 1: "TV_1", 2: "TV_2"})
TopologyDescriptionStatus = Enum(Int8, {0: "NOT_REQUESTED", 1: "NOT_STORED", 2: "ERROR", 3: "AVAILABLE"})
ZkMigrationState = Enum(Int8, {0: "NONE", 1: "MIGRATION", 2: "PRE_MIGRATION", 3: "POST_MIGRATION", 4: "ZK"})
