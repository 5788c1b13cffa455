"""ReadShareGroupState (key 84): reads the stored state of a share group's partitions.

KIP-932; from the leader of a partition to the share coordinator.
"""

from ..wire import (
    Api,
    Array,
    Default,
    ErrorCode,
    GroupId,
    Int64,
    Nullable,
    Partition,
    Struct,
    TopicId,
)
from .meanings import DeliveryCount, ErrorMessage, LeaderEpoch, ShareDeliveryState, StateEpoch

request = Struct(
    "group_id" / GroupId,
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array("partition" / Partition, "leader_epoch" / LeaderEpoch),
    ),
)
response = Struct(
    "results" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition" / Partition,
            "error_code" / ErrorCode,
            "error_message" / Default(Nullable(ErrorMessage), None),
            "state_epoch" / StateEpoch,
            "start_offset" / Int64,
            "state_batches" / Array(
                "first_offset" / Int64,
                "last_offset" / Int64,
                "delivery_state" / ShareDeliveryState,
                "delivery_count" / DeliveryCount,
            ),
        ),
    ),
)
api = Api(84, "ReadShareGroupState", request, response, versions=range(1), flexible=0)
