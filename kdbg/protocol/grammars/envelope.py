"""Envelope (key 58): a request in a request: a broker forwards a client's request to the controller.

KIP-590. request_data holds header and body of the client's request, response_data those of its answer.
"""

from ..wire import *
from .payloads import forwarded, principal

Address: Final = Bytes.means("address")

request: Final = Struct(
    "request_data" / Holds(Secret(Bytes), forwarded.request)
        * "the client's request with its header, as it came in, without the size",
    "request_principal" / Nullable(Holds(Bytes, principal))
        * "who the client is, as the broker that forwards has found out; null when it has not",
    "client_host_address" / Address * "address of the client, 4 bytes of IPv4 or 16 of IPv6",
)
response: Final = Struct(
    "response_data" / Default(Nullable(Holds(Secret(Bytes), forwarded.response)), None)
        * "response to the client's request, with its header; null when there is none",
    "error_code" / ErrorCode * "error of the forwarding; the embedded response has its own error codes",
)
api: Final = Api(58, "Envelope", request, response, versions=range(1), flexible=0)
