"""SaslHandshake (key 17): the client chooses the SASL mechanism of a connection.

KIP-43. After v0 the SASL tokens follow as bare length-prefixed packets without any Kafka header; after v1
they travel in SaslAuthenticate, key 36 (KIP-152). It never became flexible (KAFKA-9577).
"""

from ..wire import *

request: Final = Struct(
    "mechanism" / String * "SASL mechanism that the client uses, such as PLAIN, SCRAM-SHA-256 or GSSAPI",
)
response: Final = Struct(
    "error_code" / ErrorCode,
    "mechanisms" / Array(String)
        * "SASL mechanisms enabled on the listener, to choose from after UNSUPPORTED_SASL_MECHANISM",
)
api: Final = Api(17, "SaslHandshake", request, response, versions=range(2))
