"""Produce (key 0): record batches from a client to the leaders of their partitions.

The 0.8 guide has it as "Produce API"; with acks 0 the broker never answers. v1 throttling (KIP-13), v2 the
log append time (KIP-32), v3 transactions and record batches of magic 2 (KIP-98), v7 zstd (KIP-110), v8 errors
per record (KIP-467), v10 the new leader in the answer (KIP-951), v11 and v12 transactions guarded by the
broker (KIP-890), v13 topic ids instead of names (KIP-516).
"""

from .meanings import *
from .records import Records

request: Final = Struct(
    "transactional_id" / Since(3, Default(Nullable(TransactionalId), None))
        * "transaction the records belong to; null outside transactions",
    "acks" / Acks * "replicas that must have the records before the response; with 0 there is no response",
    "timeout_ms" / Timeout * "how long the leader may wait for the other replicas, in ms; used with acks -1 only",
    "topic_data" / Array(
        "topic_id" / Since(13, Ignorable(TopicId)),
        "name" / Until(12, Ignorable(TopicName)),
        "partition_data" / Array(
            "index" / Partition,
            "records" / Nullable(Records)
                * "record set, null for none: exactly one batch of magic 2 since v3, messages of magic 0 or 1 before",
        ) * "records to append, by partition",
    ) * "records to append, by topic",
)
response: Final = Struct(
    "responses" / Array(
        "topic_id" / Since(13, Ignorable(TopicId)),
        "name" / Until(12, Ignorable(TopicName)),
        "partition_responses" / Array(
            "index" / Partition,
            "error_code" / ErrorCode,
            "base_offset" / Int64 * "offset given to the first record; -1 after an error",
            "log_append_time_ms" / Since(2, Ignorable(Default(Timestamp, -1)))
                * "when the broker appended them, if the topic uses that time; -1 means the records keep theirs",
            "log_start_offset" / Since(5, Ignorable(Default(LogStartOffset, -1))),
            "record_errors" / Since(8, Ignorable(Array(
                "batch_index" / Int32 * "position of the refused record in its batch, from 0",
                "batch_index_error_message" / Default(Nullable(String), None)
                    * "why this record was rejected; null if there is no message",
            ))) * "records that caused the whole batch to be refused",
            "error_message" / Since(8, Ignorable(Default(Nullable(ErrorMessage), None))),
            "current_leader" / Since(10, Tag(0, Struct(
                "leader_id" / Default(LeaderId, -1) * "broker to produce to instead; -1 means that it is not known",
                "leader_epoch" / Default(LeaderEpoch, -1),
            ))) * "the partition's leader now, given with NOT_LEADER_OR_FOLLOWER",
        ) * "results, one per partition",
    ) * "results, by topic",
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "node_endpoints" / Since(10, Tag(0, RackedEndpoints))
        * "addresses of the leaders named above, which saves a Metadata request",
)
api: Final = Api(0, "Produce", request, response, versions=range(14), flexible=9)
