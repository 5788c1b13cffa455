"""ApiVersions (key 18): which requests, in which versions, the broker understands.

KIP-35; usually the first request of a connection. v3 names the client software (KIP-511) and brings cluster
features as tagged fields (KIP-584). Its response has header v0 in every version, and a broker that does not
know the version asked for answers in v0, so that a client can always read it. v4 lets a feature start at 0
(KAFKA-17011), v5 says which broker of which cluster is meant (KIP-1242).
"""

from ..wire import (
    FOREVER,
    Api,
    ApiKey,
    Array,
    Boolean,
    Default,
    Dialect,
    ErrorCode,
    Ignorable,
    Int8,
    Int16,
    Int64,
    Nullable,
    Since,
    String,
    Struct,
    Tag,
)
from .meanings import ClusterId, NodeId, ThrottleTime

request = Struct(
    "client_software_name" / Since(3, Ignorable(String)),
    "client_software_version" / Since(3, Ignorable(String)),
    "cluster_id" / Since(5, Ignorable(Default(Nullable(ClusterId), None))),
    "node_id" / Since(5, Ignorable(Default(NodeId, -1))),
)
response = Struct(
    "error_code" / ErrorCode,
    "api_keys" / Array(
        "api_key" / ApiKey,
        "min_version" / Int16,
        "max_version" / Int16,
    ),
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "supported_features" / Since(3, Ignorable(Tag(0, Array(
        "name" / String,
        "min_version" / Int16,
        "max_version" / Int16,
    )))),
    "finalized_features_epoch" / Since(3, Ignorable(Tag(1, Default(Int64, -1)))),
    "finalized_features" / Since(3, Ignorable(Tag(2, Array(
        "name" / String,
        "max_version_level" / Int16,
        "min_version_level" / Int16,
    )))),
    "zk_migration_ready" / Since(3, Ignorable(Tag(3, Boolean))),
)
unknown_version = Dialect(
    "response", range(1, FOREVER), "the form of version 0, in which brokers refuse versions they do not know (KIP-511)",
    response,
)  # fmt: skip
librdkafka_mock = Dialect(
    "response", range(3, 6), "the form of librdkafka's mock broker: a count of N where N + 1 is due, no tagged fields",
    Struct(
        "error_code" / ErrorCode,
        "api_keys" / Array("api_key" / ApiKey, "min_version" / Int16, "max_version" / Int16, number=Int8),
        "throttle_time_ms" / ThrottleTime,
    ),
)  # fmt: skip
api = Api(
    18, "ApiVersions", request, response, versions=range(6), flexible=3, classic_response_header=True,
    dialects=(unknown_version, librdkafka_mock),
)  # fmt: skip
