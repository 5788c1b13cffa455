"""Envelope (key 58): a request in a request: a broker forwards a client's request to the controller.

KIP-590. request_data holds header and body of the client's request, response_data those of its answer.
"""

from ..wire import Api, Bytes, Default, ErrorCode, Nullable, Secret, Struct

request = Struct(
    "request_data" / Secret(Bytes),
    "request_principal" / Nullable(Bytes),
    "client_host_address" / Bytes,
)
response = Struct(
    "response_data" / Default(Nullable(Secret(Bytes)), None),
    "error_code" / ErrorCode,
)
api = Api(58, "Envelope", request, response, versions=range(1), flexible=0)
