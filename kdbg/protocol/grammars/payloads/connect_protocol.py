"""The protocol of Kafka Connect's workers: which worker runs which connectors and tasks, assigned through a group.

The group's protocol type is "connect", its protocols are "default" (v0, stop-the-world), "compatible" (v1, incremental
cooperative rebalancing, KIP-415) and "sessioned" (v2, the same with signed requests between workers, KIP-507). A task
of number -1 is the connector itself.
"""

from ...wire import *
from ...wire.language.payload import Payload
from . import connect_allocation

ConnectError: Final = Enum(Int16, {0: "NO_ERROR", 1: "CONFIG_MISMATCH"})
connectors: Final = Array(
    "connector" / String * "name of the connector",
    "tasks" / Array(Enum(Int32, {-1: "CONNECTOR"})) * "numbers of its tasks to run; -1 means the connector itself",
)

worker_state: Final = Payload("ConnectWorkerState", Struct(
    "url" / String * "address of the worker's REST interface",
    "config_offset" / Int64 * "how far the worker has read the topic of configurations",
    "allocation" / Since(1, Nullable(Holds(Bytes, connect_allocation)))
        * "what the worker runs now, in the form of an assignment; null means nothing",
), versions=range(3))
assignment: Final = Payload("ConnectAssignment", Struct(
    "error" / ConnectError
        * "CONFIG_MISMATCH: the leader lacks configurations that a member has, so nothing is assigned",
    "leader" / String * "member id of the group's leader",
    "leader_url" / String * "address of the leader's REST interface, which requests are forwarded to",
    "config_offset" / Int64 * "offset in the topic of configurations that the assignment is based on",
    "assignment" / NullableSince(1, connectors)
        * "what the worker is to run; since v1 what is new to it; null means nothing",
    "revoked" / Since(1, Nullable(connectors))
        * "what the worker is to stop, before the group rebalances once more; null means nothing",
    "delay" / Since(1, Duration) * "how long the tasks of a lost worker still wait for its return, in ms",
), versions=range(3))
