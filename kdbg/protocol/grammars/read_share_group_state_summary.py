"""ReadShareGroupStateSummary (key 87): the stored state of a share group's partitions without its batches.

KIP-932; from the group coordinator to the share coordinator. v1 counts completed deliveries (KIP-1226).
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId,
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition" / Partition,
            "leader_epoch" / LeaderEpoch * "leader epoch the sender knows; -1 means unknown",
        ) * "partitions whose state to read",
    ) * "states to read, by topic",
)
response: Final = Struct(
    "results" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Default(Nullable(ErrorMessage), None),
            "state_epoch" / StateEpoch * "raised each time the state is initialized",
            "leader_epoch" / SinceRelease((4, 1), LeaderEpoch) * "leader epoch in which the state was last written",
            "start_offset" / Int64
                * "first record whose delivery is not finished; -1 means that the state is not initialized",
            "delivery_complete_count" / Since(1, Ignorable(Default(Int32, -1)))
                * "records from start_offset on that are finished already, for computing lag; -1 means unknown",
        ) * "states, one per partition",
    ) * "states, by topic",
)
kafka_4_0: Final = Dialect(
    "response", range(1), "v0 as written by Kafka 4.0, without leader_epoch", response, release=(4, 0)
)
api: Final = Api(
    87, "ReadShareGroupStateSummary", request, response, versions=range(2), flexible=0, dialects=(kafka_4_0,),
)  # fmt: skip
