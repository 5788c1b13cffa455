"""AlterUserScramCredentials (key 51): creates, changes and deletes SCRAM credentials of users.

KIP-554. The request holds salt and salted password, so a capture of it without TLS is a secret.
"""

from ..wire import Api, Array, Bytes, ErrorCode, Int32, Nullable, Secret, String, Struct
from .meanings import ErrorMessage, ScramMechanism, ThrottleTime

request = Struct(
    "deletions" / Array("name" / String, "mechanism" / ScramMechanism),
    "upsertions" / Array(
        "name" / String,
        "mechanism" / ScramMechanism,
        "iterations" / Int32,
        "salt" / Secret(Bytes),
        "salted_password" / Secret(Bytes),
    ),
)
response = Struct(
    "throttle_time_ms" / ThrottleTime,
    "results" / Array(
        "user" / String,
        "error_code" / ErrorCode,
        "error_message" / Nullable(ErrorMessage),
    ),
)
api = Api(51, "AlterUserScramCredentials", request, response, versions=range(1), flexible=0)
