"""Envelope (key 58): a request in a request: a broker forwards a client's request to the controller.

KIP-590. request_data holds header and body of the client's request, response_data those of its answer.
"""

from ..wire import Api, Bytes, Default, ErrorCode, Holds, Nullable, Secret, Struct
from .payloads import forwarded
from .payloads.holdings import principal

Address = Bytes.means("address")

request = Struct(
    "request_data" / Holds(Secret(Bytes), forwarded.request),
    "request_principal" / Nullable(Holds(Bytes, principal)),
    "client_host_address" / Address,
)
response = Struct(
    "response_data" / Default(Nullable(Holds(Secret(Bytes), forwarded.response)), None),
    "error_code" / ErrorCode,
)
api = Api(58, "Envelope", request, response, versions=range(1), flexible=0)
