"""TxnOffsetCommit (key 28): stores a consumer group's offsets as part of a transaction.

KIP-98. v2 leader epochs (KIP-320), v3 member id, static id and generation, so that a member left behind is
refused (KIP-447), v4 TRANSACTION_ABORTABLE, v5 does the work of AddOffsetsToTxn as well (both KIP-890),
v6 topic ids instead of names (KIP-1319).
"""

from .meanings import *

request: Final = Struct(
    "transactional_id" / TransactionalId,
    "group_id" / GroupId * "group whose offsets the transaction commits",
    "producer_id" / ProducerId,
    "producer_epoch" / ProducerEpoch,
    "generation_id_or_member_epoch" / Since(3, Default(GenerationId, -1))
        * "generation of the group, or member epoch; refused if outdated, -1 skips the check",
    "member_id" / Since(3, MemberId),
    "group_instance_id" / Since(3, Default(Nullable(GroupInstanceId), None)),
    "topics" / Array(
        "name" / Until(5, Ignorable(TopicName)),
        "topic_id" / Since(6, Ignorable(TopicId)),
        "partitions" / Array(
            "partition_index" / Partition,
            "committed_offset" / CommittedOffset * "next record to read, once the transaction commits",
            "committed_leader_epoch" / Since(2, Ignorable(Default(CommittedLeaderEpoch, -1))),
            "committed_metadata" / Nullable(String) * "free text to keep with the offset; null means none",
        ) * "offsets to store, one per partition",
    ) * "offsets to store, by topic",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "topics" / Array(
        "name" / Until(5, Ignorable(TopicName)),
        "topic_id" / Since(6, Ignorable(TopicId)),
        "partitions" / Array("partition_index" / Partition, "error_code" / ErrorCode) * "results, one per partition",
    ) * "results, by topic",
)
api: Final = Api(28, "TxnOffsetCommit", request, response, versions=range(7), flexible=3)
