"""DeleteShareGroupOffsets (key 92): deletes the offsets of an empty share group, topic by topic.

KIP-932.
"""

from .meanings import *

request: Final = Struct(
    "group_id" / GroupId * "the share group, which must have no members",
    "topics" / Array("topic_name" / TopicName) * "topics whose offsets the group shall forget",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / RequestError,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "responses" / Array(
        "topic_name" / TopicName,
        "topic_id" / TopicId,
        "error_code" / ErrorCode,
        "error_message" / Default(Nullable(ErrorMessage), None),
    ) * "what became of each topic",
)
api: Final = Api(92, "DeleteShareGroupOffsets", request, response, versions=range(1), flexible=0)
