"""DeleteTopics (key 20): deletes topics.

KIP-4. v5 error messages and quotas (KIP-599), v6 topics by name or by id (KIP-516).
"""

from .meanings import *

request: Final = Struct(
    "topics" / Since(6, Array(
        "name" / Default(Nullable(TopicName), None) * "name of the topic; null when it is meant by its id",
        "topic_id" / TopicId * "id of the topic; all zeros when it is meant by its name",
    )) * "topics to delete, each by its name or by its id",
    "topic_names" / Until(5, Ignorable(Array(TopicName))) * "which topics to delete, by name",
    "timeout_ms" / Timeout * "milliseconds to wait until the topics are gone; they may go even if it runs out",
)
response: Final = Struct(
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "responses" / Array(
        "name" / NullableSince(6, TopicName)
            * "name of the topic; null when only its id is known, or the sender may not see it",
        "topic_id" / Since(6, Ignorable(TopicId)),
        "error_code" / ErrorCode,
        "error_message" / Since(5, Ignorable(Default(Nullable(ErrorMessage), None))),
    ) * "what became of each topic",
)
api: Final = Api(20, "DeleteTopics", request, response, versions=range(7), flexible=4)
