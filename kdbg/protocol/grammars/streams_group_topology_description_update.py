"""StreamsGroupTopologyDescriptionUpdate (key 93): a Kafka Streams member describes its topology to the coordinator.

KIP-1331, since Kafka 4.4: sent when a heartbeat's answer says that the coordinator lacks the description.
"""

from .meanings import *
from .topology import topology

request: Final = Struct(
    "group_id" / GroupId,
    "member_id" / MemberId,
    "topology_epoch" / Int32 * "version of the topology described",
    "topology_description" / topology * "the topology node by node, for people to look at",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(ErrorMessage), None),
)
api: Final = Api(93, "StreamsGroupTopologyDescriptionUpdate", request, response, versions=range(1), flexible=0)
