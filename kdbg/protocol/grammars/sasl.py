"""Raw SASL tokens: after SaslHandshake v0, and before anything else from clients of 0.9, frames hold nothing but one.

A length, then the token as the mechanism defines it (RFC 4616, RFC 5802, RFC 7628, RFC 4121): no Kafka header.
"""

from ..wire import *
from ..wire.nodes.leaves import RemainingBytes
from .payloads import client_token, server_token

request: Final = Struct(
    "token" / RemainingBytes("secret", client_token) * "token of the client, in the format of the mechanism",
)
response: Final = Struct(
    "token" / RemainingBytes("secret", server_token) * "token of the broker, in the format of the mechanism",
)
api: Final = Api(-1, "SaslToken", request, response, versions=range(1), headerless=True)
