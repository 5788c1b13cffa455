"""IncrementalAlterConfigs (key 44): changes single configuration keys: set, delete, append, subtract.

KIP-339.
"""

from ..wire import Api, Array, Boolean, Duration, ErrorCode, Nullable, Secret, String, Struct
from .meanings import AlterConfigOperation, ConfigResourceType

request = Struct(
    "resources" / Array(
        "resource_type" / ConfigResourceType,
        "resource_name" / String,
        "configs" / Array(
            "name" / String,
            "config_operation" / AlterConfigOperation,
            "value" / Nullable(Secret(String, when="name")),
        ),
    ),
    "validate_only" / Boolean,
)
response = Struct(
    "throttle_time_ms" / Duration,
    "responses" / Array(
        "error_code" / ErrorCode,
        "error_message" / Nullable(String),
        "resource_type" / ConfigResourceType,
        "resource_name" / String,
    ),
)
api = Api(44, "IncrementalAlterConfigs", request, response, versions=range(2), flexible=1)
