"""AlterUserScramCredentials (key 51): creates, changes and deletes SCRAM credentials of users.

KIP-554. The request holds salt and salted password, so a capture of it without TLS is a secret.
"""

from .meanings import *

request: Final = Struct(
    "deletions" / Array(
        "name" / String * "user whose credential is deleted",
        "mechanism" / ScramMechanism * "which of the user's credentials",
    ) * "credentials to delete",
    "upsertions" / Array(
        "name" / String * "user the credential is for",
        "mechanism" / ScramMechanism,
        "iterations" / Int32 * "rounds of the hash that made the salted password, at least 4096",
        "salt" / Secret(Bytes) * "random bytes that were mixed into the password",
        "salted_password" / Secret(Bytes) * "the password after salt and iterations; any client that has it can log in",
    ) * "credentials to add or to replace",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "results" / Array(
        "user" / UserName,
        "error_code" / ErrorCode,
        "error_message" / Nullable(ErrorMessage),
    ) * "what became of each user's credentials",
)
api: Final = Api(51, "AlterUserScramCredentials", request, response, versions=range(1), flexible=0)
