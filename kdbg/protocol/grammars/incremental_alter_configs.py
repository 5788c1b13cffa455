"""IncrementalAlterConfigs (key 44): changes single configuration keys: set, delete, append, subtract.

KIP-339.
"""

from .meanings import *

request: Final = Struct(
    "resources" / Array(
        "resource_type" / ConfigResourceType,
        "resource_name" / ResourceName,
        "configs" / Array(
            "name" / ConfigName,
            "config_operation" / AlterConfigOperation,
            "value" / Nullable(Secret(String, when="name"))
                * "the value as text, for lists the items to add or to take; null with DELETE",
        ) * "settings to change; all others stay as they are",
    ) * "topics, brokers and others whose settings change",
    "validate_only" / ValidateOnly,
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "responses" / ConfigErrors * "what became of each resource",
)
api: Final = Api(44, "IncrementalAlterConfigs", request, response, versions=range(2), flexible=1)
