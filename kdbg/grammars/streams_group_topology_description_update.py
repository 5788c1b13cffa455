"""StreamsGroupTopologyDescriptionUpdate (key 93): a Kafka Streams member describes its topology to the coordinator.

KIP-1331, since Kafka 4.4: sent when a heartbeat's answer says that the coordinator lacks the description.
"""

from ..wire import Api, Default, Duration, ErrorCode, GroupId, Int32, Nullable, String, Struct
from .topology import topology

request = Struct(
    "group_id" / GroupId,
    "member_id" / String,
    "topology_epoch" / Int32,
    "topology_description" / topology,
)
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(String), None),
)
api = Api(93, "StreamsGroupTopologyDescriptionUpdate", request, response, versions=range(1), flexible=0)
