"""UnregisterBroker (key 64): removes a broker's registration from a KRaft cluster.

KIP-631.
"""

from .meanings import *

request: Final = Struct(
    "broker_id" / BrokerId * "broker whose registration to remove; it should be shut down for good",
)
response: Final = ErrorResponse
api: Final = Api(64, "UnregisterBroker", request, response, versions=range(1), flexible=0)
