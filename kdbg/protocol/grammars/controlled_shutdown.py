"""ControlledShutdown (key 7): a broker requests that the controller move its leaderships away before it stops.

Only in clusters with ZooKeeper; gone in Kafka 4.0. The header of v0 lacks the client_id that every other
request has. v2 adds the broker epoch (KIP-380), v3 is flexible.
"""

from .meanings import *

request: Final = Struct(
    "broker_id" / BrokerId * "the broker that is about to stop",
    "broker_epoch" / Since(2, Ignorable(Default(BrokerEpoch, -1))),
)
response: Final = Struct(
    "error_code" / ErrorCode,
    "remaining_partitions" / Array("topic_name" / TopicName, "partition_index" / Partition)
        * "what the broker still leads; empty when it may stop",
)
api: Final = Api(7, "ControlledShutdown", request, response, versions=range(4), flexible=3, headerless_until=0)
