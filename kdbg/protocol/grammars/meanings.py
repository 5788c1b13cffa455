"""Types with a meaning: what many messages share, enumerations and bit sets by the names Kafka gives them, structures.

The text after a type is that of every field of the type which has none of its own: a plain phrase with its unit.
Grammar files take all their words from here, those of `wire` included.
"""

from ..wire import *

AddingReplicas: Final = Array(Int32) * "broker ids that a reassignment under way brings in"
ApplicationHost: Final = String * "host name or address that the application serves at (application.server)"
ApplicationPort: Final = UInt16 * "TCP port that the application serves at (application.server)"
AssignmentEpoch: Final = Int32 * "epoch of the group that the assignment was made for"
BrokerEpoch: Final = Int64 * "epoch that the broker got when it registered; a stale one is refused, -1 if unknown"
BrokerId: Final = Int32 * "node id of the broker"
ClientHost: Final = String * "address that the member's requests come from"
ClientId: Final = String * "client.id of the member"
ClientRack: Final = String * "rack that the client is in (client.rack), null for none"
ClusterId: Final = String * "id of the cluster"
CommittedLeaderEpoch: Final = Int32 * "leader epoch of the last record consumed, -1 if unknown"
CommittedOffset: Final = Int64 * "offset of the next record to consume, -1 for none"
ConfigName: Final = String * "key of the setting, such as retention.ms"
ControllerEpoch: Final = Int32 * "epoch of the controller, one more with each new controller"
ControllerId: Final = Int32 * "node id of the controller, -1 if there is none"
DeliveryCount: Final = Int16 * "how many times the records were delivered"
EntityName: Final = String * "name of the entity, null for the default entity"
EntityType: Final = String * "kind of entity: user, client-id or ip"
ErrorMessage: Final = String * "error message from the broker; null if there is none"
FeatureName: Final = String * "name of the feature, such as metadata.version"
GenerationId: Final = Int32 * "generation of the group, one more with each rebalance, -1 for none"
GroupEpoch: Final = Int32 * "epoch of the group, one more with each change of its members or subscriptions"
GroupInstanceId: Final = String * "lasting name of a static member (group.instance.id), null for a dynamic one"
GroupState: Final = String * "state of the group, as Stable or Empty"
HeartbeatInterval: Final = Duration * "milliseconds from one heartbeat of the member to the next"
HighWatermark: Final = Int64 * "offset that all in-sync replicas have reached; consumers read up to here"
Host: Final = String.means("host") * "host name or address to connect to"
IncarnationId: Final = Uuid * "id of this run of the broker's process, new with each start"
IncludeOperations: Final = Boolean * "true requests the operations that the client may perform"
InSyncReplicas: Final = Array(Int32) * "broker ids of the replicas in sync with the leader"
LastStableOffset: Final = Int64 * "offset below which no transaction is open, -1 if unknown"
LeaderEpoch: Final = Int32 * "epoch of the leader, one more with each new leader, -1 if unknown"
LeaderId: Final = Int32 * "node id of the leader, -1 if there is none"
ListenerName: Final = String * "name of the listener, such as PLAINTEXT or CONTROLLER"
LogStartOffset: Final = Int64 * "first offset that the log still has, -1 if unknown"
MaxSupportedVersion: Final = Int16 * "highest level of the feature that is supported"
MemberId: Final = String * "id of the group member, empty before it has one"
MinSupportedVersion: Final = Int16 * "lowest level of the feature that is supported"
NodeId: Final = Int32 * "id of the node (node.id)"
OfflineReplicas: Final = Array(Int32) * "broker ids of the replicas whose broker or log directory is down"
PartitionEpoch: Final = Int32 * "epoch of the partition, one more with each change of its leader or in-sync replicas"
Partitions: Final = Array(Partition) * "numbers of the partitions"
Port: Final = Int32.means("port") * "TCP port to connect to"
PrincipalName: Final = String * "name of the principal"
PrincipalType: Final = String * "kind of principal, as User"
ProducerEpoch: Final = Int16 * "epoch of the producer id; requests with an older one are fenced, -1 for none"
ProducerId: Final = Int64 * "id of an idempotent or transactional producer, -1 for none"
ProtocolType: Final = String * "what kind of group this is: consumer, connect or a word of the application's own"
Rack: Final = String * "rack that the broker is in (broker.rack), null for none"
ReachedEpoch: Final = Int32 * "epoch of the member: that of the assignment it has reached"
RebalanceTimeout: Final = Duration * "milliseconds that members have for their part in a rebalance"
RemovingReplicas: Final = Array(Int32) * "broker ids that a reassignment under way takes out"
ReplicaDirectoryId: Final = Uuid * "id of the directory that the replica keeps its log in"
Replicas: Final = Array(Int32) * "broker ids of all replicas, preferred leader first"
RequestError: Final = ErrorCode * "what refused the whole request, 0 if nothing did; its parts have errors of their own"
ResourceName: Final = String * "name of the resource, of brokers the id; empty for the default of all brokers"
SessionTimeout: Final = Duration * "session timeout in milliseconds: a member without a heartbeat this long is removed"
StateEpoch: Final = Int32 * "epoch of the share group's state of the partition"
SubtopologyId: Final = String * "id of the subtopology: the part before the underscore in the ids of its tasks"
TargetClusterId: Final = String * "id of the cluster that is meant; another one refuses the request, null skips that"
ThrottleTime: Final = Duration * "milliseconds the client is throttled because it exceeded a quota; 0 if not throttled"
Timeout: Final = Duration * "milliseconds that the broker may take before it gives up"
TransactionalId: Final = String * "name that a producer keeps across restarts (transactional.id), null for none"
UnsignedPort: Final = UInt16.means("port") * "TCP port to connect to"
UserName: Final = String * "name of the user"
ValidateOnly: Final = Boolean * "true to check whether it could be done, and change nothing"
VoterDirectoryId: Final = Uuid * "id of the directory that the voter keeps its metadata log in"
VoterId: Final = Int32 * "node id of the voter"

Acks: Final = Enum(Int16, {
    0: "NONE", 1: "LEADER", -1: "ALL",
}) * "acknowledgements required: -1 all in-sync replicas, 1 leader, 0 none (no response)"
AclOperation: Final = Enum(Int8, {
    0: "UNKNOWN", 1: "ANY", 2: "ALL", 3: "READ", 4: "WRITE", 5: "CREATE", 6: "DELETE", 7: "ALTER", 8: "DESCRIBE",
    9: "CLUSTER_ACTION", 10: "DESCRIBE_CONFIGS", 11: "ALTER_CONFIGS", 12: "IDEMPOTENT_WRITE", 13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS", 15: "TWO_PHASE_COMMIT",
}) * "operation that the rule allows or denies"
AclOperations: Final = Bits(Int32, {
    3: "READ", 4: "WRITE", 5: "CREATE", 6: "DELETE", 7: "ALTER", 8: "DESCRIBE", 9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS", 11: "ALTER_CONFIGS", 12: "IDEMPOTENT_WRITE", 13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS", 15: "TWO_PHASE_COMMIT",
}) * "operations that the client may perform, one bit each; -2147483648 if not requested"
AclPatternType: Final = Enum(Int8, {
    0: "UNKNOWN", 1: "ANY", 2: "MATCH", 3: "LITERAL", 4: "PREFIXED",
}) * "how names of resources are compared with the rule's"
AclPermissionType: Final = Enum(Int8, {
    0: "UNKNOWN", 1: "ANY", 2: "DENY", 3: "ALLOW",
}) * "whether the rule allows or denies; one that denies wins"
AclResourceType: Final = Enum(Int8, {
    0: "UNKNOWN", 1: "ANY", 2: "TOPIC", 3: "GROUP", 4: "CLUSTER", 5: "TRANSACTIONAL_ID", 6: "DELEGATION_TOKEN",
    7: "USER",
}) * "kind of resource that the rule guards"
AlterConfigOperation: Final = Enum(Int8, {
    0: "SET", 1: "DELETE", 2: "APPEND", 3: "SUBTRACT",
}) * "what is done to the entry; APPEND and SUBTRACT change lists"
BrokerDefault: Final = Enum(Int64, {-1: "DEFAULT"})
BrokerDefault16: Final = Enum(Int16, {-1: "DEFAULT"})
BrokerDefault32: Final = Enum(Int32, {-1: "DEFAULT"})
CommitTimestamp: Final = Timestamp.means("timestamp", {
    -1: "RECEIVE_TIME",
}) * "when the offset was committed, milliseconds since 1970"
CompressionType: Final = Enum(Int8, {
    0: "NONE", 1: "GZIP", 2: "SNAPPY", 3: "LZ4", 4: "ZSTD",
}) * "codec that the data is compressed with"
ConfigResourceType: Final = Enum(Int8, {
    0: "UNKNOWN", 2: "TOPIC", 4: "BROKER", 8: "BROKER_LOGGER", 16: "CLIENT_METRICS", 32: "GROUP",
}) * "kind of resource that is configured"
ConfigSource: Final = Enum(Int8, {
    0: "UNKNOWN", 1: "TOPIC_CONFIG", 2: "DYNAMIC_BROKER_CONFIG", 3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG", 5: "DEFAULT_CONFIG", 6: "DYNAMIC_BROKER_LOGGER_CONFIG", 7: "CLIENT_METRICS_CONFIG",
    8: "GROUP_CONFIG",
}) * "where the value comes from"
ConfigType: Final = Enum(Int8, {
    0: "UNKNOWN", 1: "BOOLEAN", 2: "STRING", 3: "INT", 4: "SHORT", 5: "LONG", 6: "DOUBLE", 7: "LIST", 8: "CLASS",
    9: "PASSWORD",
}) * "data type of the value"
ControlRequestType: Final = Enum(Int8, {
    0: "UNKNOWN", 1: "INCREMENTAL", 2: "FULL",
}) * "whether this is the whole state or what has changed in it"
CoordinatorKeyType: Final = Enum(Int8, {
    0: "GROUP", 1: "TRANSACTION", 2: "SHARE",
}) * "what the keys name: groups, transactional ids or partitions of share groups"
DeleteRecordsOffset: Final = Enum(Int64, {-1: "HIGH_WATERMARK"}) * "records before this offset are deleted"
ElectionType: Final = Enum(Int8, {
    0: "PREFERRED", 1: "UNCLEAN",
}) * "whether the preferred replica is elected, or any that is alive even if it lacks records"
EndpointType: Final = Enum(Int8, {0: "UNKNOWN", 1: "BROKER", 2: "CONTROLLER"}) * "whose addresses are meant"
FeatureUpgradeType: Final = Enum(Int8, {
    0: "UNKNOWN", 1: "UPGRADE", 2: "SAFE_DOWNGRADE", 3: "UNSAFE_DOWNGRADE",
}) * "whether the level may only rise, or fall as well, safely or with loss"
FencingChange: Final = Enum(Int8, {
    -1: "UNFENCE", 0: "NONE", 1: "FENCE",
}) * "whether the broker becomes fenced: out of use for clients"
FetchSessionEpoch: Final = Enum(Int32, {0: "INITIAL", -1: "FINAL"}) * "number of the request within the fetch session"
GroupMemberType: Final = Enum(Int8, {
    -1: "UNKNOWN", 0: "CLASSIC", 1: "CONSUMER",
}) * "group protocol that the member uses"
GroupMemberState: Final = Enum(Int8, {
    0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS", 127: "UNKNOWN",
}) * "how far the member is in taking on its assignment"
IsolationLevel: Final = Enum(Int8, {
    0: "READ_UNCOMMITTED", 1: "READ_COMMITTED",
}) * "whether records of open and aborted transactions are returned"
LeaderRecoveryState: Final = Enum(Int8, {
    0: "RECOVERED", 1: "RECOVERING",
}) * "whether the leader was elected uncleanly and has yet to recover"
LeaderRecoveryStateChange: Final = Enum(Int8, {
    -1: "NO_CHANGE", 0: "RECOVERED", 1: "RECOVERING",
}) * "whether the leader was elected uncleanly and has yet to recover"
ListOffsetsTimestamp: Final = Timestamp.means("timestamp", {
    -1: "LATEST", -2: "EARLIEST", -3: "MAX_TIMESTAMP", -4: "EARLIEST_LOCAL", -5: "LATEST_TIERED",
    -6: "EARLIEST_PENDING_UPLOAD",
}) * "the first record at or after this time is looked for, milliseconds since 1970"
MemberEpoch: Final = Enum(Int32, {0: "JOIN", -1: "LEAVE", -2: "LEAVE_STATIC"}) * "epoch of the member in its group"
PartitionLeader: Final = Enum(Int32, {-1: "NO_LEADER", -2: "NO_LEADER_CHANGE"}) * "node id of the partition's leader"
QuotaMatchType: Final = Enum(Int8, {0: "EXACT", 1: "DEFAULT", 2: "ANY"}) * "how names of entities are compared"
RemoteLogSegmentState: Final = Enum(Int8, {
    0: "COPY_SEGMENT_STARTED", 1: "COPY_SEGMENT_FINISHED", 2: "DELETE_SEGMENT_STARTED", 3: "DELETE_SEGMENT_FINISHED",
}) * "how far the copy or deletion of the segment is"
RemotePartitionDeleteState: Final = Enum(Int8, {
    0: "DELETE_PARTITION_MARKED", 1: "DELETE_PARTITION_STARTED", 2: "DELETE_PARTITION_FINISHED",
}) * "how far the deletion of the partition's remote data is"
ReplicaId: Final = Enum(Int32, {-1: "CONSUMER", -2: "DEBUGGING"}) * "node id of the requesting follower; client: -1"
ScramMechanism: Final = Enum(Int8, {
    0: "UNKNOWN", 1: "SCRAM_SHA_256", 2: "SCRAM_SHA_512",
}) * "SCRAM mechanism that the credential is for"
SecurityProtocol: Final = Enum(Int16, {
    0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL",
}) * "whether the listener requires TLS and SASL"
ShareAcknowledgeType: Final = Enum(Int8, {
    0: "GAP", 1: "ACCEPT", 2: "RELEASE", 3: "REJECT", 4: "RENEW",
}) * "what becomes of the records"
ShareAcquireMode: Final = Enum(Int8, {
    0: "BATCH_OPTIMIZED", 1: "RECORD_LIMIT",
}) * "whether the record limit may be exceeded to return whole batches"
ShareDeliveryState: Final = Enum(Int8, {
    0: "AVAILABLE", 2: "ACKNOWLEDGED", 4: "ARCHIVED",
}) * "what has become of the records"
ShareMemberEpoch: Final = Enum(Int32, {0: "JOIN", -1: "LEAVE"}) * "epoch of the member in its share group"
ShareSessionEpoch: Final = Enum(Int32, {0: "INITIAL", -1: "FINAL"}) * "number of the request within the share session"
ShutdownChange: Final = Enum(Int8, {
    0: "NONE", 1: "IN_CONTROLLED_SHUTDOWN",
}) * "whether the broker begins a controlled shutdown"
StreamsGroupStatus: Final = Enum(Int8, {
    0: "STALE_TOPOLOGY", 1: "MISSING_SOURCE_TOPICS", 2: "INCORRECTLY_PARTITIONED_TOPICS",
    3: "MISSING_INTERNAL_TOPICS", 4: "SHUTDOWN_APPLICATION", 5: "ASSIGNMENT_DELAYED", 6: "MISSING_CLIENT_TAGS",
}) * "what hinders the group"
StreamsMemberState: Final = Enum(Int8, {
    1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS", 127: "UNKNOWN",
}) * "how far the member is in taking on its assignment"
TransactionResult: Final = Enum(Boolean, {0: "ABORT", 1: "COMMIT"}) * "how the transaction ends"
TransactionState: Final = Enum(Int8, {
    0: "EMPTY", 1: "ONGOING", 2: "PREPARE_COMMIT", 3: "PREPARE_ABORT", 4: "COMPLETE_COMMIT", 5: "COMPLETE_ABORT",
    6: "DEAD", 7: "PREPARE_EPOCH_FENCE",
}) * "state of the transaction"
TransactionVersion: Final = Enum(Int8, {0: "TV_0", 1: "TV_1", 2: "TV_2"}) * "version of the transaction protocol"
TopologyDescriptionStatus: Final = Enum(Int8, {
    0: "NOT_REQUESTED", 1: "NOT_STORED", 2: "ERROR", 3: "AVAILABLE",
}) * "whether the description of the topology is there"
ZkMigrationState: Final = Enum(Int8, {
    0: "NONE", 1: "MIGRATION", 2: "PRE_MIGRATION", 3: "POST_MIGRATION", 4: "ZK",
}) * "how far the migration from ZooKeeper to KRaft is"

ListenerEndpoints: Final = Array("name" / ListenerName, "host" / Host, "port" / UnsignedPort)
SecuredEndpoints: Final = Array(
    "name" / ListenerName,
    "host" / Host,
    "port" / UnsignedPort,
    "security_protocol" / SecurityProtocol,
)
NodeEndpoints: Final = Array("node_id" / NodeId, "host" / Host, "port" / UnsignedPort)
RackedEndpoints: Final = Array(
    "node_id" / NodeId,
    "host" / Host,
    "port" / Port,
    "rack" / Default(Nullable(Rack), None),
)
SupportedFeatures: Final = Array(
    "name" / FeatureName,
    "min_supported_version" / MinSupportedVersion,
    "max_supported_version" / MaxSupportedVersion,
)
StateBatches: Final = Array(
    "first_offset" / Int64 * "first offset of the range",
    "last_offset" / Int64 * "last offset of the range, inclusive",
    "delivery_state" / ShareDeliveryState,
    "delivery_count" / DeliveryCount,
)
AcknowledgementBatches: Final = Array(
    "first_offset" / Int64 * "first offset of the range",
    "last_offset" / Int64 * "last offset of the range, inclusive",
    "acknowledge_types" / Array(ShareAcknowledgeType) * "one type for the whole range, or one per offset",
)
PartitionErrors: Final = Array(
    "topic_name" / TopicName,
    "partition_index" / Partition,
    "error_code" / ErrorCode,
)
ConfigErrors: Final = Array(
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
    "resource_type" / ConfigResourceType,
    "resource_name" / ResourceName,
)
ShareStateErrors: Final = Array(
    "partition" / Partition,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(ErrorMessage), None),
)
TokenRenewers: Final = Array(
    "principal_type" / PrincipalType * "type of the renewer, such as User",
    "principal_name" / PrincipalName * "name of the renewer",
)
ShareLeader: Final = Struct(
    "leader_id" / LeaderId * "broker to send to instead; -1 means unknown",
    "leader_epoch" / LeaderEpoch,
)
ErrorResponse: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
)
QuorumEpochResponse: Final = Struct(
    "error_code" / RequestError,
    "topics" / Array(
        "topic_name" / TopicName,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "leader_id" / LeaderId,
            "leader_epoch" / LeaderEpoch * "newest epoch that the voter knows of",
        ) * "in practice partition 0 alone",
    ) * "in practice __cluster_metadata alone",
    "node_endpoints" / Since(1, Tag(0, NodeEndpoints)) * "where the leader named above is reached",
)
ShareStateResponse: Final = Struct(
    "results" / Array(
        "topic_id" / TopicId,
        "partitions" / ShareStateErrors * "what became of each partition",
    ) * "what became of the partitions, by topic",
)
