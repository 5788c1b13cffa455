"""DescribeConfigs (key 32): the configuration of topics, brokers and other resources.

KIP-133. v1 the source of each value and its synonyms, instead of a mere "is default" (KIP-226), v3 types and
documentation of the keys (KIP-569).
"""

from .meanings import *

request: Final = Struct(
    "resources" / Array(
        "resource_type" / ConfigResourceType,
        "resource_name" / ResourceName,
        "configuration_keys" / Nullable(Array(String)) * "requested settings; null means all",
    ) * "topics, brokers and other resources to describe",
    "include_synonyms" / Since(1, Boolean) * "true also requests the values of the key at other levels",
    "include_documentation" / Since(3, Boolean) * "true requests a description of each key",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "results" / Array(
        "error_code" / ErrorCode,
        "error_message" / Nullable(ErrorMessage),
        "resource_type" / ConfigResourceType,
        "resource_name" / ResourceName,
        "configs" / Array(
            "name" / ConfigName,
            "value" / Nullable(Secret(String, when="is_sensitive"))
                * "its value as text; null when it is sensitive or not set",
            "read_only" / Boolean * "true when the setting cannot be changed while the broker runs",
            "config_source" / Since(1, Ignorable(Default(ConfigSource, -1))),
            "is_default" / Until(0, Boolean) * "true when the value is not set",
            "is_sensitive" / Boolean * "true for passwords and the like, whose values are not sent",
            "synonyms" / Since(1, Ignorable(Array(
                "name" / String * "key of the setting at that level, such as log.retention.ms of the broker",
                "value" / Nullable(Secret(String, when="name"))
                    * "value at that level as text; null when it is sensitive",
                "source" / ConfigSource,
            ))) * "all levels that set the key; the first one is in force",
            "config_type" / Since(3, Ignorable(ConfigType)),
            "documentation" / Since(3, Ignorable(Nullable(String)))
                * "description of the key; null when not requested or when there is none",
        ) * "settings of the resource",
    ) * "one result for each resource",
)
api: Final = Api(32, "DescribeConfigs", request, response, versions=range(5), flexible=4)
