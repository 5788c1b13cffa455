"""DeleteShareGroupState (key 86): deletes the stored state of a share group's partitions.

KIP-932; from the group coordinator to the share coordinator.
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId * "the share group whose state is deleted",
    "topics" / Array(
        "topic_id" / TopicId,
        "partitions" / Array("partition" / Partition) * "partitions whose state is deleted",
    ) * "partitions whose state is deleted, by topic",
)
response: Final = ShareStateResponse
api: Final = Api(86, "DeleteShareGroupState", request, response, versions=range(1), flexible=0)
