"""ShareAcknowledge (key 79): a member of a share group accepts, releases or rejects records.

KIP-932. v0 was the early access of Kafka 4.0; v1 is the first stable version; v2 can renew the lock on
records (KIP-1222).
"""

from .meanings import *

request: Final = Struct(
    "group_id" / Default(Nullable(GroupId), None) * "share group that the member reads in; null if not given",
    "member_id" / Nullable(MemberId) * "id of the member, made by itself; null if not given",
    "share_session_epoch" / ShareSessionEpoch
        * "goes up with each request of the session that ShareFetch opened; -1 closes it",
    "is_renew_ack" / Since(2, Boolean) * "true if some of the acknowledgements renew a lock (type 4)",
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition_index" / Partition,
            "acknowledgement_batches" / AcknowledgementBatches * "ranges of offsets with their acknowledgements",
        ) * "acknowledgements, by partition",
    ) * "acknowledgements, by topic",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / RequestError,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "acquisition_lock_timeout_ms" / Since(2, Ignorable(Duration))
        * "how long records stay locked for the member, in ms",
    "responses" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Default(Nullable(ErrorMessage), None),
            "current_leader" / ShareLeader
                * "the partition's leader now; meaningful only with NOT_LEADER_OR_FOLLOWER and the like",
        ) * "results, one per partition",
    ) * "results, by topic",
    "node_endpoints" / RackedEndpoints * "addresses of the leaders named above, which saves a Metadata request",
)
api: Final = Api(79, "ShareAcknowledge", request, response, versions=range(3), flexible=0)
