"""ReadShareGroupState (key 84): reads the stored state of a share group's partitions.

KIP-932; from the leader of a partition to the share coordinator.
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId,
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition" / Partition,
            "leader_epoch" / LeaderEpoch * "leader epoch of the requesting leader, fenced if older than the stored one",
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
            "state_epoch" / StateEpoch
                * "raised each time the state is initialized; writes with an older one are fenced",
            "start_offset" / Int64
                * "first record whose delivery is not finished; -1 means that the state is not initialized",
            "state_batches" / StateBatches * "state of the records from start_offset on, in ranges",
        ) * "states, one per partition",
    ) * "states, by topic",
)
api: Final = Api(84, "ReadShareGroupState", request, response, versions=range(1), flexible=0)
