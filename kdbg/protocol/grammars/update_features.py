"""UpdateFeatures (key 57): raises or lowers the finalized features of a cluster.

KIP-584. v1 kinds of upgrade and a dry run (KIP-778), v2 has no results per feature any more.
"""

from .meanings import *

request: Final = Struct(
    "timeout_ms" / Default(Timeout, 60000),
    "feature_updates" / Array(
        "feature" / FeatureName,
        "max_version_level" / Int16 * "level the whole cluster is to use; below 1 disables the feature",
        "upgrade_type" / Since(1, Default(FeatureUpgradeType, 1)),
        "allow_downgrade" / Until(0, Boolean) * "true if the level may go down",
    ) * "features whose level to change",
    "validate_only" / Since(1, ValidateOnly),
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode * "error for the whole request; up to v1 each feature has its own",
    "error_message" / Nullable(ErrorMessage),
    "results" / Until(1, Ignorable(Array(
        "feature" / FeatureName,
        "error_code" / ErrorCode,
        "error_message" / Nullable(ErrorMessage),
    ))) * "results, one per feature",
)
api: Final = Api(57, "UpdateFeatures", request, response, versions=range(3), flexible=0)
