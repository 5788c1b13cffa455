"""ApiVersions (key 18): which requests, in which versions, the broker understands.

KIP-35; usually the first request of a connection. v3 names the client software (KIP-511) and brings cluster
features as tagged fields (KIP-584). Its response has header v0 in every version, and a broker that does not
know the version asked for answers in v0, so that a client can always read it. v4 lets a feature start at 0
(KAFKA-17011), v5 says which broker of which cluster is meant (KIP-1242).
"""

from ..findings.quirks import FALLBACK
from .meanings import *

request: Final = Struct(
    "client_software_name" / Since(3, Ignorable(String))
        * "name of the client library, such as apache-kafka-java or librdkafka",
    "client_software_version" / Since(3, Ignorable(String)) * "version of the client library",
    "cluster_id" / Since(5, Ignorable(Default(Nullable(TargetClusterId), None))),
    "node_id" / Since(5, Ignorable(Default(NodeId, -1)))
        * "node the client thinks it talks to; another one refuses it, -1 skips the check",
)
response: Final = Struct(
    "error_code" / ErrorCode * "UNSUPPORTED_VERSION: the response has version 0 and lists the supported versions",
    "api_keys" / Array(
        "api_key" / ApiKey,
        "min_version" / Int16 * "oldest version the broker reads",
        "max_version" / Int16 * "newest version the broker reads",
    ) * "requests that the broker accepts, each with its range of versions",
    "throttle_time_ms" / Since(1, Ignorable(ThrottleTime)),
    "supported_features" / Since(3, Ignorable(Tag(0, Array(
        "name" / FeatureName,
        "min_version" / Int16 * "lowest level that the broker can run",
        "max_version" / Int16 * "highest level that the broker can run",
    )))) * "cluster features that this broker's software is able to run",
    "finalized_features_epoch" / Since(3, Ignorable(Tag(1, Default(Int64, -1))))
        * "counts changes of the finalized features: the higher, the newer; -1 is unknown",
    "finalized_features" / Since(3, Ignorable(Tag(2, Array(
        "name" / FeatureName,
        "max_version_level" / Int16 * "the level in force",
        "min_version_level" / Int16 * "lowest level that brokers must be able to run",
    )))) * "cluster features in force, agreed upon by the whole cluster",
    "zk_migration_ready" / Since(3, Ignorable(Tag(3, Boolean)))
        * "true when a KRaft controller has all it needs to take over from ZooKeeper",
)
unknown_version: Final = Dialect(
    "response", range(1, FOREVER), "the v0 layout, with which brokers reject versions they do not support (KIP-511)",
    response, quirk=FALLBACK,
)  # fmt: skip
librdkafka_mock: Final = Dialect(
    "response", range(3, 6), "written by librdkafka's mock broker (array count N instead of N + 1, no tagged fields)",
    Struct(
        "error_code" / ErrorCode,
        "api_keys" / Array(
            "api_key" / ApiKey,
            "min_version" / Int16 * "oldest version the mock broker reads",
            "max_version" / Int16 * "newest version the mock broker reads",
            number=Int8,
        ) * "requests that the mock broker accepts, each with its range of versions",
        "throttle_time_ms" / ThrottleTime,
    ),
)  # fmt: skip
api: Final = Api(
    18, "ApiVersions", request, response, versions=range(6), flexible=3, classic_response_header=True,
    dialects=(unknown_version, librdkafka_mock),
)  # fmt: skip
