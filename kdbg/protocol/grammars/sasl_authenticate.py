"""SaslAuthenticate (key 36): carries the tokens of a SASL exchange, after SaslHandshake v1.

KIP-152. What the tokens hold is the mechanism's affair. v1 gives the time after which the client has to authenticate
again (KIP-368).
"""

from .meanings import *
from .payloads import client_token, server_token

request: Final = Struct(
    "auth_bytes" / Holds(Secret(Bytes), client_token)
        * "the client's token, in the format of the mechanism chosen by SaslHandshake",
)
response: Final = Struct(
    "error_code" / ErrorCode,
    "error_message" / Nullable(ErrorMessage),
    "auth_bytes" / Holds(Secret(Bytes), server_token)
        * "the broker's token: a challenge or the final word, empty if the mechanism has none",
    "session_lifetime_ms" / Since(1, Ignorable(Duration64))
        * "time within which the client must authenticate again, in ms; 0 means no limit",
)
api: Final = Api(36, "SaslAuthenticate", request, response, versions=range(3), flexible=2)
