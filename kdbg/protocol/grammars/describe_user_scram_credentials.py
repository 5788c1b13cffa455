"""DescribeUserScramCredentials (key 50): for which users SCRAM credentials exist, with mechanism and iterations.

KIP-554. Salts and passwords are never sent back.
"""

from .meanings import *

request: Final = Struct(
    "users" / Nullable(Array(
        "name" / UserName,
    )) * "users to describe; null or empty means all",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / RequestError,
    "error_message" / Nullable(ErrorMessage),
    "results" / Array(
        "user" / UserName,
        "error_code" / ErrorCode
            * "RESOURCE_NOT_FOUND when the user has no credentials, DUPLICATE_RESOURCE when requested twice",
        "error_message" / Nullable(ErrorMessage),
        "credential_infos" / Array(
            "mechanism" / ScramMechanism,
            "iterations" / Int32 * "rounds of the hash that a login has to run",
        ) * "the user's credentials, without their secrets",
    ) * "what is known of each user",
)
api: Final = Api(50, "DescribeUserScramCredentials", request, response, versions=range(1), flexible=0)
