"""ShareFetch (key 78): records for a member of a share group, and acknowledgements of earlier ones.

KIP-932. v0 was the early access of Kafka 4.0; v1 is the first stable version and limits records instead of
bytes per partition; v2 the acquire mode (KIP-1206) and the renewal of locks (KIP-1222).
"""

from .meanings import *
from .records import FetchedRecords

request: Final = Struct(
    "group_id" / Default(Nullable(GroupId), None) * "share group that the member reads in; null if not given",
    "member_id" / Nullable(MemberId) * "id of the member, made by itself; null if not given",
    "share_session_epoch" / ShareSessionEpoch
        * "0 opens a share session, -1 closes it; in between it goes up with each request",
    "max_wait_ms" / Duration * "how long the broker may wait for min_bytes, in ms",
    "min_bytes" / Int32 * "the broker responds once it has this many bytes, or after max_wait_ms",
    "max_bytes" / Default(Int32, 2**31 - 1)
        * "maximum bytes of records; a first batch that is larger is sent nevertheless",
    "max_records" / Since(1, Int32) * "maximum number of records to acquire, exceeded where the mode completes a batch",
    "batch_size" / Since(1, Int32) * "preferred size of the ranges in acquired_records, in records",
    "share_acquire_mode" / Since(2, Ignorable(ShareAcquireMode)),
    "is_renew_ack" / Since(2, Boolean) * "true if some of the acknowledgements renew a lock (type 4)",
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition_index" / Partition,
            "partition_max_bytes" / Until(0, Int32)
                * "maximum bytes of records from this partition; 0 only acknowledges",
            "acknowledgement_batches" / AcknowledgementBatches * "ranges of offsets with their acknowledgements",
        ) * "partitions to fetch from, with acknowledgements of earlier records",
    ) * "partitions that are new to the session or have acknowledgements, by topic",
    "forgotten_topics_data" / Array("topic_id" / TopicId, "partitions" / Partitions)
        * "partitions to remove from the session, by topic",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / RequestError,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "acquisition_lock_timeout_ms" / Since(1, Duration) * "how long acquired records stay locked for the member, in ms",
    "responses" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition_index" / Partition,
            "error_code" / ErrorCode * "error of the fetch, 0 for none",
            "error_message" / Default(Nullable(ErrorMessage), None),
            "acknowledge_error_code" / ErrorCode * "error of the acknowledgements sent with the fetch, 0 for none",
            "acknowledge_error_message" / Default(Nullable(String), None)
                * "why the acknowledgements failed, in words; null if they did not",
            "current_leader" / ShareLeader
                * "the partition's leader now; meaningful only with NOT_LEADER_OR_FOLLOWER and the like",
            "records" / NullableUntil(0, FetchedRecords)
                * "record set, in v0 perhaps null; the member may process only what acquired_records lists",
            "acquired_records" / Array(
                "first_offset" / Int64 * "first offset of the range",
                "last_offset" / Int64 * "last offset of the range, inclusive",
                "delivery_count" / DeliveryCount * "number of this delivery, 1 for the first",
            ) * "ranges of offsets locked for this member",
        ) * "records and results, by partition",
    ) * "records and results, by topic",
    "node_endpoints" / RackedEndpoints * "addresses of the leaders named above, which saves a Metadata request",
)
api: Final = Api(78, "ShareFetch", request, response, versions=range(3), flexible=0)
