"""Raw SASL tokens: after SaslHandshake v0, and before anything else from clients of 0.9, frames hold nothing but one.

A length, then the token as the mechanism defines it (RFC 4616, RFC 5802, RFC 7628, RFC 4121): no Kafka header.
"""

from ..wire import Api, SecretRemainder, Struct

request = Struct("token" / SecretRemainder)
response = Struct("token" / SecretRemainder)
api = Api(-1, "SaslToken", request, response, versions=range(1), headerless=True)
