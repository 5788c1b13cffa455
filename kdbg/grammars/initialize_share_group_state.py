"""InitializeShareGroupState (key 83): sets up the stored state of a share group's partitions.

KIP-932; from the group coordinator to the share coordinator.
"""

from ..wire import Api, Array, Default, ErrorCode, GroupId, Int64, Nullable, Partition, Struct, TopicId
from .meanings import ErrorMessage, StateEpoch

request = Struct(
    "group_id" / GroupId,
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition" / Partition,
            "state_epoch" / StateEpoch,
            "start_offset" / Int64,
        ),
    ),
)
response = Struct(
    "results" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Default(Nullable(ErrorMessage), None),
        ),
    ),
)
api = Api(83, "InitializeShareGroupState", request, response, versions=range(1), flexible=0)
