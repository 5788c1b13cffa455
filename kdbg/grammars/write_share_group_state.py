"""WriteShareGroupState (key 85): stores how far deliveries of a share group's partitions have come.

KIP-932; from the leader of a partition to the share coordinator. v1 counts completed deliveries (KIP-1226).
"""

from ..wire import (
    Api,
    Array,
    Default,
    ErrorCode,
    GroupId,
    Ignorable,
    Int32,
    Int64,
    Nullable,
    Partition,
    Since,
    Struct,
    TopicId,
)
from .meanings import DeliveryCount, ErrorMessage, LeaderEpoch, ShareDeliveryState, StateEpoch

request = Struct(
    "group_id" / GroupId,
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition" / Partition,
            "state_epoch" / StateEpoch,
            "leader_epoch" / LeaderEpoch,
            "start_offset" / Int64,
            "delivery_complete_count" / Since(1, Ignorable(Default(Int32, -1))),
            "state_batches" / Array(
                "first_offset" / Int64,
                "last_offset" / Int64,
                "delivery_state" / ShareDeliveryState,
                "delivery_count" / DeliveryCount,
            ),
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
api = Api(85, "WriteShareGroupState", request, response, versions=range(2), flexible=0)
