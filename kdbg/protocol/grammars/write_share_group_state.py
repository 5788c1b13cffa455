"""WriteShareGroupState (key 85): stores how far deliveries of a share group's partitions have come.

KIP-932; from the leader of a partition to the share coordinator. v1 counts completed deliveries (KIP-1226).
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId,
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition" / Partition,
            "state_epoch" / StateEpoch * "epoch of the state that is written, fenced if older than the stored one",
            "leader_epoch" / LeaderEpoch
                * "leader epoch of the leader that writes, fenced if older than the stored one",
            "start_offset" / Int64 * "first record whose delivery is not finished; -1 leaves it unchanged",
            "delivery_complete_count" / Since(1, Ignorable(Default(Int32, -1)))
                * "records from start_offset on that are finished already, for computing lag; -1 means unknown",
            "state_batches" / StateBatches * "ranges of records whose state has changed",
        ) * "states to store, one per partition",
    ) * "states to store, by topic",
)
response: Final = Struct(
    "results" / Array(
        "topic_id" / TopicId,
        "partitions" / ShareStateErrors * "results, one per partition",
    ) * "results, by topic",
)
api: Final = Api(85, "WriteShareGroupState", request, response, versions=range(2), flexible=0)
