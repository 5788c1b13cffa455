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
    Int16,
    Int32,
    Int64,
    Nullable,
    Partition,
    Since,
    String,
    Struct,
    TopicId,
)
from .meanings import ShareDeliveryState

request = Struct(
    "group_id" / GroupId,
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array(
            "partition" / Partition,
            "state_epoch" / Int32,
            "leader_epoch" / Int32,
            "start_offset" / Int64,
            "delivery_complete_count" / Since(1, Ignorable(Default(Int32, -1))),
            "state_batches" / Array(
                "first_offset" / Int64,
                "last_offset" / Int64,
                "delivery_state" / ShareDeliveryState,
                "delivery_count" / Int16,
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
            "error_message" / Default(Nullable(String), None),
        ),
    ),
)
api = Api(85, "WriteShareGroupState", request, response, versions=range(2), flexible=0)
