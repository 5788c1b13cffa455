"""DescribeConfigs (key 32): the configuration of topics, brokers and other resources.

KIP-133. v1 the source of each value and its synonyms, instead of a mere "is default" (KIP-226), v3 types and
documentation of the keys (KIP-569).
"""

from ..wire import (
    Api,
    Array,
    Boolean,
    Default,
    ErrorCode,
    Ignorable,
    Nullable,
    Secret,
    Since,
    String,
    Struct,
    Until,
)
from .meanings import ConfigResourceType, ConfigSource, ConfigType, ErrorMessage, ResourceName, ThrottleTime

request = Struct(
    "resources" / Array(
        "resource_type" / ConfigResourceType,
        "resource_name" / ResourceName,
        "configuration_keys" / Nullable(Array(String)),
    ),
    "include_synonyms" / Since(1, Boolean),
    "include_documentation" / Since(3, Boolean),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "results" / Array(
        "error_code" / ErrorCode,
        "error_message" / Nullable(ErrorMessage),
        "resource_type" / ConfigResourceType,
        "resource_name" / ResourceName,
        "configs" / Array(
            "name" / String,
            "value" / Nullable(Secret(String, when="is_sensitive")),
            "read_only" / Boolean,
            "config_source" / Since(1, Ignorable(Default(ConfigSource, -1))),
            "is_default" / Until(0, Boolean),
            "is_sensitive" / Boolean,
            "synonyms" / Since(1, Ignorable(Array(
                "name" / String,
                "value" / Nullable(Secret(String, when="name")),
                "source" / ConfigSource,
            ))),
            "config_type" / Since(3, Ignorable(ConfigType)),
            "documentation" / Since(3, Ignorable(Nullable(String))),
        ),
    ),
)
api = Api(32, "DescribeConfigs", request, response, versions=range(5), flexible=4)
