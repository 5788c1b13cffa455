"""AlterConfigs (key 33): replaces the whole configuration of a resource: what is not named falls back.

KIP-133. IncrementalAlterConfigs, key 44, changes single keys and is to be preferred.
"""

from .meanings import *

request: Final = Struct(
    "resources" / Array(
        "resource_type" / ConfigResourceType,
        "resource_name" / ResourceName,
        "configs" / Array(
            "name" / ConfigName,
            "value" / Nullable(Secret(String, when="name")) * "its new value as text; brokers refuse null",
        ) * "the whole new configuration; keys that are not here fall back to their defaults",
    ) * "topics, brokers and others that get a new configuration",
    "validate_only" / ValidateOnly,
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "responses" / ConfigErrors * "what became of each resource",
)
api: Final = Api(33, "AlterConfigs", request, response, versions=range(3), flexible=2)
