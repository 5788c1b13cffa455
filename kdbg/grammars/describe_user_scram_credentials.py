"""DescribeUserScramCredentials (key 50): for which users SCRAM credentials exist, with mechanism and iterations.

KIP-554. Salts and passwords are never sent back.
"""

from ..wire import Api, Array, ErrorCode, Int32, Nullable, String, Struct
from .meanings import ErrorMessage, ScramMechanism, ThrottleTime

request = Struct("users" / Nullable(Array("name" / String)))
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
    "results" / Array(
        "user" / String,
        "error_code" / ErrorCode,
        "error_message" / Nullable(ErrorMessage),
        "credential_infos" / Array("mechanism" / ScramMechanism, "iterations" / Int32),
    ),
)
api = Api(50, "DescribeUserScramCredentials", request, response, versions=range(1), flexible=0)
