"""DescribeUserScramCredentials (key 50): for which users SCRAM credentials exist, with mechanism and iterations.

KIP-554. Salts and passwords are never sent back.
"""

from ..wire import Api, Array, Duration, ErrorCode, Int32, Nullable, String, Struct
from .meanings import ScramMechanism

request = Struct("users" / Nullable(Array("name" / String)))
response = Struct(
    "throttle_time_ms" / Duration,
    "error_code" / ErrorCode,
    "error_message" / Nullable(String),
    "results" / Array(
        "user" / String,
        "error_code" / ErrorCode,
        "error_message" / Nullable(String),
        "credential_infos" / Array("mechanism" / ScramMechanism, "iterations" / Int32),
    ),
)
api = Api(50, "DescribeUserScramCredentials", request, response, versions=range(1), flexible=0)
