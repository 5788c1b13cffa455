"""DescribeUserScramCredentials (key 50): for which users SCRAM credentials exist, with mechanism and iterations.

KIP-554. Salts and passwords are never sent back.
"""

from ..wire import Api, Array, ErrorCode, Int32, Nullable, String, Struct
from .meanings import ErrorMessage, ScramMechanism, ThrottleTime

request = Struct(
    "users" / Nullable(Array(
        "name" / String * "name of the user",
    )) * "users asked about; null or empty asks for all",
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode * "refuses the whole request; errors of single users stand with them",
    "error_message" / Nullable(ErrorMessage),
    "results" / Array(
        "user" / String * "name of the user",
        "error_code" / ErrorCode
            * "RESOURCE_NOT_FOUND when the user has no credentials, DUPLICATE_RESOURCE when asked for twice",
        "error_message" / Nullable(ErrorMessage),
        "credential_infos" / Array(
            "mechanism" / ScramMechanism,
            "iterations" / Int32 * "rounds of the hash that a login has to run",
        ) * "the user's credentials, without their secrets",
    ) * "what is known of each user",
)
api = Api(50, "DescribeUserScramCredentials", request, response, versions=range(1), flexible=0)
