"""CreateTopics (key 19): creates topics, with counts of partitions and replicas or with exact assignments.

KIP-4. v1 a dry run and error messages, v4 the default numbers of the broker (KIP-464), v5 the configuration
of the new topic in the answer (KIP-525), v6 quotas (KIP-599), v7 topic ids in the answer (KIP-516).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    ErrorCode,
    Ignorable,
    Int16,
    Int32,
    Nullable,
    Partition,
    Secret,
    Since,
    String,
    Struct,
    Tag,
    TopicId,
    TopicName,
)
from .meanings import BrokerDefault16, BrokerDefault32, ConfigSource, ErrorMessage, ThrottleTime, Timeout, ValidateOnly

request = Struct(
    "topics" / Array(
        "name" / TopicName,
        "num_partitions" / BrokerDefault32,
        "replication_factor" / BrokerDefault16,
        "assignments" / Array("partition_index" / Partition, "broker_ids" / Array(Int32)),
        "configs" / Array(
            "name" / String,
            "value" / Nullable(Secret(String, when="name")),
        ),
    ),
    "timeout_ms" / Default(Timeout, 60000),
    "validate_only" / Since(1, ValidateOnly),
)
response = Struct(
    "throttle_time_ms" / Since(2, Ignorable(ThrottleTime)),
    "topics" / Array(
        "name" / TopicName,
        "topic_id" / Since(7, Ignorable(TopicId)),
        "error_code" / ErrorCode,
        "error_message" / Since(1, Ignorable(Nullable(ErrorMessage))),
        "num_partitions" / Since(5, Ignorable(Default(Int32, -1))),
        "replication_factor" / Since(5, Ignorable(Default(Int16, -1))),
        "configs" / Since(5, Ignorable(Nullable(Array(
            "name" / String,
            "value" / Nullable(Secret(String, when="is_sensitive")),
            "read_only" / Boolean,
            "config_source" / Default(ConfigSource, -1),
            "is_sensitive" / Boolean,
        )))),
        "topic_config_error_code" / Since(5, Ignorable(Tag(0, ErrorCode))),
    ),
)
api = Api(19, "CreateTopics", request, response, versions=range(8), flexible=5)
