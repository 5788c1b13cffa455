"""InitializeShareGroupState (key 83): sets up the stored state of a share group's partitions.

KIP-932; from the group coordinator to the share coordinator.
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId * "the share group that begins to read the partitions",
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition" / Partition,
            "state_epoch" / StateEpoch * "raised each time the state is set anew; an older one is fenced",
            "start_offset" / Int64 * "first offset to deliver; -1 leaves it to share.auto.offset.reset",
        ) * "first state of each partition",
    ) * "partitions to set up, by topic",
)
response: Final = ShareStateResponse
api: Final = Api(83, "InitializeShareGroupState", request, response, versions=range(1), flexible=0)
