"""CreateTopics (key 19): creates topics, with counts of partitions and replicas or with exact assignments.

KIP-4. v1 a dry run and error messages, v4 the default numbers of the broker (KIP-464), v5 the configuration
of the new topic in the answer (KIP-525), v6 quotas (KIP-599), v7 topic ids in the answer (KIP-516).
"""

from .meanings import *

request: Final = Struct(
    "topics" / Array(
        "name" / TopicName,
        "num_partitions" / BrokerDefault32
            * "how many partitions; -1 takes the broker's default or counts the assignments",
        "replication_factor" / BrokerDefault16
            * "copies of each partition; -1 takes the broker's default or counts the assignments",
        "assignments" / Array(
            "partition_index" / Partition,
            "broker_ids" / Array(Int32) * "replicas of the partition, preferred leader first",
        ) * "brokers of each partition, instead of the two numbers; empty lets the controller choose",
        "configs" / Array(
            "name" / ConfigName,
            "value" / Nullable(Secret(String, when="name")) * "its value as text; brokers refuse null",
        ) * "settings of the topic that differ from the defaults",
    ) * "topics to create",
    "timeout_ms" / Default(Timeout, 60000)
        * "milliseconds to wait for the new topics; they may come even if it runs out",
    "validate_only" / Since(1, ValidateOnly),
)
response: Final = Struct(
    "throttle_time_ms" / Since(2, Ignorable(ThrottleTime)),
    "topics" / Array(
        "name" / TopicName,
        "topic_id" / Since(7, Ignorable(TopicId)) * "id the new topic got; all zeros on error",
        "error_code" / ErrorCode,
        "error_message" / Since(1, Ignorable(Nullable(ErrorMessage))),
        "num_partitions" / Since(5, Ignorable(Default(Int32, -1)))
            * "how many partitions it got; -1 on error or where the sender may not know",
        "replication_factor" / Since(5, Ignorable(Default(Int16, -1)))
            * "copies of each partition; -1 on error or where the sender may not know",
        "configs" / Since(5, Ignorable(Nullable(Array(
            "name" / ConfigName,
            "value" / Nullable(Secret(String, when="is_sensitive")) * "its value as text; null when it is sensitive",
            "read_only" / Boolean * "true when the setting cannot be changed",
            "config_source" / Default(ConfigSource, -1),
            "is_sensitive" / Boolean * "true for passwords and the like, whose values are not sent",
        )))) * "configuration of the new topic; null on error or where the sender may not know",
        "topic_config_error_code" / Since(5, Ignorable(Tag(0, ErrorCode)))
            * "why numbers and configuration are missing although the topic was created",
    ) * "what became of each topic",
)
api: Final = Api(19, "CreateTopics", request, response, versions=range(8), flexible=5)
