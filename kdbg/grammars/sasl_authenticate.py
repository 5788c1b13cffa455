"""SaslAuthenticate (key 36): carries the tokens of a SASL exchange, after SaslHandshake v1.

KIP-152. The tokens are opaque to Kafka. v1 gives the time after which the client has to authenticate again
(KIP-368).
"""

from ..wire import Api, Bytes, Duration64, ErrorCode, Nullable, Secret, Since, String, Struct

request = Struct("auth_bytes" / Secret(Bytes))
response = Struct(
    "error_code" / ErrorCode,
    "error_message" / Nullable(String),
    "auth_bytes" / Secret(Bytes),
    "session_lifetime_ms" / Since(1, Duration64),
)
api = Api(36, "SaslAuthenticate", request, response, versions=range(3), flexible=2)
