"""The protocol of Kafka Connect's workers: who runs which connectors and tasks, told through group membership.

The group's protocol type is "connect", its protocols are "default" (v0, stop-the-world), "compatible" (v1, incremental
cooperative rebalancing, KIP-415) and "sessioned" (v2, the same with signed requests between workers, KIP-507). A task
of number -1 is the connector itself.
"""

from ...wire import (
    Array,
    Bytes,
    Duration,
    Enum,
    Holds,
    Int16,
    Int32,
    Int64,
    Nullable,
    NullableSince,
    Since,
    String,
    Struct,
)
from ...wire.language.payload import Payload
from .holdings import connect_allocation

ConnectError = Enum(Int16, {0: "NO_ERROR", 1: "CONFIG_MISMATCH"})
connectors = Array("connector" / String, "tasks" / Array(Enum(Int32, {-1: "CONNECTOR"})))

worker_state = Payload("ConnectWorkerState", Struct(
    "url" / String,
    "config_offset" / Int64,
    "allocation" / Since(1, Nullable(Holds(Bytes, connect_allocation))),
), versions=range(3))
assignment = Payload("ConnectAssignment", Struct(
    "error" / ConnectError,
    "leader" / String,
    "leader_url" / String,
    "config_offset" / Int64,
    "assignment" / NullableSince(1, connectors),
    "revoked" / Since(1, Nullable(connectors)),
    "delay" / Since(1, Duration),
), versions=range(3))
