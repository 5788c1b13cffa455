"""ControllerRegistration (key 70): a KRaft controller registers its endpoints and features with the active one.

KIP-919.
"""

from .meanings import *

request: Final = Struct(
    "controller_id" / ControllerId * "the controller that registers",
    "incarnation_id" / IncarnationId * "random id of this run of the process; a restart has another one",
    "zk_migration_ready" / Boolean
        * "whether the controller can take over from ZooKeeper; the migration waits until all can",
    "listeners" / SecuredEndpoints * "where brokers and other controllers reach this one",
    "features" / SupportedFeatures * "cluster features that the controller's software is able to run",
)
response: Final = ErrorResponse
api: Final = Api(70, "ControllerRegistration", request, response, versions=range(1), flexible=0)
