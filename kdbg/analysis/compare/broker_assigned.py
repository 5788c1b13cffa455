"""What brokers hand out, and what else differs from one run to the next: `HANDED`, `VOLATILE` and `TRANSIENT`.

Whoever plays a conversation again, or compares two of the same, asks these tables and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple
from uuid import UUID

from ...protocol.wire.nodes import Node


class Unknown(Enum):
    """What becomes of a value of which no counterpart is known."""

    KEPT = "kept"


KEPT: Final = Unknown.KEPT


class AssignedKind(NamedTuple):
    """A kind of value that a broker hands out, and that clients name from then on.

    `within` are the meanings around a value that it is told apart by: one generation of two groups is two. Values of
    `fixed` mean the same everywhere. `unknown` is said in place of one that has no counterpart.
    """

    what: str
    within: tuple[str, ...] = ()
    fixed: frozenset[Any] = frozenset()
    unknown: Any = KEPT

    @property
    def counts(self) -> bool:
        """Whether these values count something, so that what has no counterpart lies as far from one that has."""
        return self.what == "offset"


NUMBERS = frozenset({-1})
MEMBER: Final = AssignedKind("member id", fixed=frozenset({"", None}))
GENERATION: Final = AssignedKind("generation", ("group",), frozenset({0, -1, -2}))
PRODUCER: Final = AssignedKind("producer id", fixed=NUMBERS)
PRODUCER_EPOCH: Final = AssignedKind("producer epoch", ("producer",), NUMBERS)
SEQUENCE: Final = AssignedKind("sequence", ("producer", "topic", "partition"), NUMBERS)
SESSION: Final = AssignedKind("fetch session", fixed=frozenset({0}))
SESSION_EPOCH: Final = AssignedKind("fetch session epoch", ("session",), frozenset({0, -1}))
SHARE_EPOCH: Final = AssignedKind("share session epoch", ("member",), frozenset({0, -1}))
TOPIC_ID: Final = AssignedKind("topic id", fixed=frozenset({UUID(int=0), UUID(int=1)}))
LEADER_EPOCH: Final = AssignedKind("leader epoch", ("topic", "partition"), NUMBERS)
CHECKED_EPOCH: Final = LEADER_EPOCH._replace(unknown=-1)
"""One that the broker checks, where -1 leaves that out."""
OFFSET: Final = AssignedKind("offset", ("topic", "partition"))
NODE: Final = AssignedKind("node id", fixed=NUMBERS)
CLUSTER: Final = AssignedKind("cluster id", fixed=frozenset({"", None}))
TOKEN: Final = AssignedKind("delegation token", fixed=frozenset({b"", ""}))
INSTANCE: Final = AssignedKind("client instance id", fixed=frozenset({UUID(int=0)}))
SUBSCRIPTION: Final = AssignedKind("telemetry subscription", fixed=frozenset({0}))

HANDED: Final[Mapping[str, AssignedKind]] = {
    "member_id": MEMBER,
    "generation_id": GENERATION,
    "generation_id_or_member_epoch": GENERATION,
    "member_epoch": GENERATION,
    "assignment_epoch": GENERATION,
    "group_epoch": GENERATION,
    "producer_id": PRODUCER,
    "v3_and_below_producer_id": PRODUCER,
    "ongoing_txn_producer_id": PRODUCER,
    "producer_epoch": PRODUCER_EPOCH,
    "v3_and_below_producer_epoch": PRODUCER_EPOCH,
    "ongoing_txn_producer_epoch": PRODUCER_EPOCH,
    "base_sequence": SEQUENCE,
    "last_sequence": SEQUENCE,
    "session_id": SESSION,
    "session_epoch": SESSION_EPOCH,
    "share_session_epoch": SHARE_EPOCH,
    "current_leader_epoch": CHECKED_EPOCH,
    "last_fetched_epoch": CHECKED_EPOCH,
    "committed_leader_epoch": CHECKED_EPOCH,
    "leader_epoch": LEADER_EPOCH,
    "base_offset": OFFSET,
    "fetch_offset": OFFSET,
    "committed_offset": OFFSET,
    "offset": OFFSET,
    "end_offset": OFFSET,
    "low_watermark": OFFSET,
    "start_offset": OFFSET,
    "first_offset": OFFSET,
    "last_offset": OFFSET,
    "old_style_offsets": OFFSET,
    "node_id": NODE,
    "broker_id": NODE,
    "broker_ids": NODE,
    "leader_id": NODE,
    "controller_id": NODE,
    "preferred_read_replica": NODE,
    "replicas": NODE,
    "cluster_id": CLUSTER,
    "hmac": TOKEN,
    "token_id": TOKEN,
    "client_instance_id": INSTANCE,
    "subscription_id": SUBSCRIPTION,
}
"""By the name of a field, in messages, payloads and batches of records."""
KINDS: Final[Mapping[str, AssignedKind]] = {"topic_id": TOPIC_ID}
"""By the meaning that a grammar gives to a field."""
OF_ONE_RUN: Final = frozenset({
    MEMBER, GENERATION, PRODUCER, PRODUCER_EPOCH, SEQUENCE, SESSION, SESSION_EPOCH, SHARE_EPOCH,
})  # fmt: skip
"""Those that differ between any two runs, even of the same client with the same cluster."""
NAMES_A_MEMBER: Final = "leader"
"""In JoinGroup the id of a member, elsewhere that of a node."""
CHOSEN: Final = frozenset({"base_offset", "first_offset", "last_offset"})
"""Offsets that a broker gives away in the order in which requests come: another order is no other meaning."""

VOLATILE: Final[Mapping[str, str]] = {
    "throttle_time_ms": "throttle times depend on the broker's load",
    "brokers": "node ids differ between clusters",
    "node_endpoints": "node ids differ between clusters",
    "nodes": "node ids differ between clusters",
    "host": "addresses differ between clusters",
    "port": "addresses differ between clusters",
    "rack": "racks differ between clusters",
    "replica_nodes": "replica placement differs between clusters",
    "isr_nodes": "replica placement differs between clusters",
    "offline_replicas": "replica placement differs between clusters",
    "eligible_leader_replicas": "replica placement differs between clusters",
    "last_known_elr": "replica placement differs between clusters",
    "high_watermark": "the log end offset depends on timing",
    "last_stable_offset": "the log end offset depends on timing",
    "log_start_offset": "the log start offset depends on retention",
    "error_message": "free-text error message; the error code is compared instead",
    "batch_index_error_message": "free-text error message; the error code is compared instead",
    "log_append_time_ms": "times differ between runs",
    "finalized_features_epoch": "the epoch counts the feature changes of a cluster",
    "client_host": "client addresses differ between runs",
    "log_dir": "disks differ between machines",
    "total_bytes": "disks differ between machines",
    "usable_bytes": "disks differ between machines",
    "size": "the size on disk depends on the broker",
}
"""Fields of answers that two runs differ in without meaning anything else, by their names, with the reason."""
VOLATILE_KINDS: Final = frozenset({"timestamp", "crc", "host", "port"})
"""The same, by the meaning that a grammar gives to a field."""

UNCHANGED: Final[Mapping[str, str]] = {
    "assignment": "null means no change; which heartbeat contains a new assignment depends on timing",
}
"""Fields of answers that say null where nothing has changed since an answer before."""

TRANSIENT: Final = frozenset({3, 5, 6, 14, 15, 16, 27, 41, 51, 72, 74, 75, 100, 103})
"""Error codes by which a broker says "not yet" or "not here": that a topic is new, a coordinator loads, a group
rebalances, a transaction ends, a leader has moved. How often they come is a matter of moments."""
MEMBER_ID_REQUIRED: Final = 79
"""How a broker takes a new member on, which is no refusal."""
EVENTUAL: Final = frozenset({
    "DescribeAcls", "DeleteAcls", "DescribeConfigs", "DescribeClientQuotas", "DescribeUserScramCredentials",
})  # fmt: skip
"""APIs that show what brokers learn from the controller a moment after a change of it was answered."""
PATIENT: Final = TRANSIENT - {27}
"""Those after which the same request is worth sending again; a rebalance waits for other requests."""


def assigned_kind(name: str, node: Node | None, value: Any) -> AssignedKind | None:
    """Return what kind of handed-out value a field holds, or None."""
    kind = KINDS.get(node.kind) if node is not None else None
    if kind is not None:
        return kind
    if name == NAMES_A_MEMBER:
        return MEMBER if isinstance(value, str) else NODE
    return HANDED.get(name)


def is_volatile(name: str, node: Node | None) -> bool:
    """Return whether a field of an answer is none that two runs are compared by."""
    return name in VOLATILE or (node is not None and node.kind in VOLATILE_KINDS)
