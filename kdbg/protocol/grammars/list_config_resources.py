"""ListConfigResources (key 74): the resources that have a configuration.

v0 is ListClientMetricsResources and lists client metrics subscriptions only (KIP-1000); v1 chooses among all
types of resources (KIP-1142).
"""

from .meanings import *

request: Final = Struct(
    "resource_types" / Since(1, Array(ConfigResourceType)) * "kinds of resources to list; empty lists all kinds",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "config_resources" / Array(
        "resource_name" / ResourceName,
        "resource_type" / Since(1, Ignorable(Default(ConfigResourceType, 16))),
    ) * "what has a configuration",
)
api: Final = Api(74, "ListConfigResources", request, response, versions=range(2), flexible=0)
