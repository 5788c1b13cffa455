"""DeleteTopics (key 20): deletes topics.

KIP-4. v5 error messages and quotas (KIP-599), v6 topics by name or by id (KIP-516).
"""

from ..wire import (
    Api,
    Array,
    Default,
    ErrorCode,
    Ignorable,
    Nullable,
    NullableSince,
    Since,
    Struct,
    TopicId,
    TopicName,
    Until,
)
from .meanings import ErrorMessage, ThrottleTime, Timeout

request = Struct(
    "topics" / Since(6, Array(
        "name" / Default(Nullable(TopicName), None),
        "topic_id" / TopicId,
    )),
    "topic_names" / Until(5, Ignorable(Array(TopicName))),
    "timeout_ms" / Timeout,
)
response = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "responses" / Array(
        "name" / NullableSince(6, TopicName),
        "topic_id" / Since(6, Ignorable(TopicId)),
        "error_code" / ErrorCode,
        "error_message" / Since(5, Ignorable(Default(Nullable(ErrorMessage), None))),
    ),
)
api = Api(20, "DeleteTopics", request, response, versions=range(7), flexible=4)
