"""The headers of every request and response (the guide's "Common Request and Response Structure").

Request header v0 has no client id, v1 has one, v2 adds tagged fields but keeps the client id in its classic form, so
that a broker can read it from any client (KIP-482, KIP-511). Which API version carries which is said by `Api`.
"""

from ..wire import *
from ..wire.language.types import At

request: Final = Struct(
    "api_key" / ApiKey,
    "api_version" / Int16 * "which layout of that request follows",
    "correlation_id" / Int32 * "number chosen by the client; its response has the same number",
    "client_id" / Since(1, Nullable(Classic(String)))
        * "name the client gives itself, for logs, quotas and metrics; null when it gives none",
)
response: Final = Struct(
    "correlation_id" / Int32 * "correlation id of the request",
)
frame: Final = Struct(
    "size" / Int32 * "bytes of the message after it, without these four",
    "message" / Remainder * "a request or a response: its header, then its body",
)
body = "body" / Remainder * "fields of the API in this version"
REQUEST = tuple(request.structure(At(version, version >= 2)) for version in range(3))
RESPONSE = tuple(response.structure(At(version, version >= 1)) for version in range(2))
