"""UnregisterController (key 94): takes a KRaft controller that is gone for good out of the cluster's metadata.

Since Kafka 4.4; the counterpart of UnregisterBroker.
"""

from .meanings import *

request: Final = Struct(
    "controller_id" / ControllerId * "controller whose registration to remove; it should be shut down for good",
)
response: Final = ErrorResponse
api: Final = Api(94, "UnregisterController", request, response, versions=range(1), flexible=0)
