"""DescribeCluster (key 60): brokers, controller and id of a cluster, without its topics.

KIP-700. v1 can ask for the controllers instead of the brokers (KIP-919), v2 for fenced brokers too
(KIP-1073).
"""

from .meanings import *

request: Final = Struct(
    "include_cluster_authorized_operations" / Boolean * "true requests the operations permitted on the cluster",
    "endpoint_type" / Since(1, Default(EndpointType, 1)),
    "include_fenced_brokers" / Since(2, Boolean) * "true lists brokers too that are registered but fenced",
)
response: Final = Struct(
    "throttle_time_ms" / ThrottleTime,
    "error_code" / ErrorCode,
    "error_message" / Default(Nullable(ErrorMessage), None),
    "endpoint_type" / Since(1, Default(EndpointType, 1)),
    "cluster_id" / ClusterId,
    "controller_id" / Default(ControllerId, -1)
        * "the active controller, or under KRaft some broker that forwards to it; -1 when unknown",
    "brokers" / Array(
        "broker_id" / BrokerId,
        "host" / Host,
        "port" / Port,
        "rack" / Default(Nullable(Rack), None),
        "is_fenced" / Since(2, Boolean) * "true while the broker leads nothing and is hidden from clients",
    ) * "nodes of the cluster",
    "cluster_authorized_operations" / Default(AclOperations, -(2**31)),
)
api: Final = Api(60, "DescribeCluster", request, response, versions=range(3), flexible=0)
