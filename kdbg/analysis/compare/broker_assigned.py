"""What brokers hand out, and what else differs from one run to the next: `HANDED`, `VOLATILE` and `TRANSIENT`.

Whoever plays a conversation again, or compares two of the same, asks these tables and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple
from uuid import UUID

from ...protocol.wire.nodes import Node


class Instead(Enum):
    """What stands in place of a value: of one without a known counterpart, which is kept; of a field that is absent."""

    KEPT = "kept"
    ABSENT = "absent"


KEPT: Final = Instead.KEPT
ABSENT: Final = Instead.ABSENT


class AssignedKind(NamedTuple):
    """A kind of value that a broker hands out, and that clients name from then on.

    `within` are the meanings around a value that it is distinguished by: one generation of two groups is two. Values of
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
    name: kind
    for kind, names in {
        MEMBER: "member_id",
        GENERATION: "generation_id generation_id_or_member_epoch member_epoch assignment_epoch group_epoch",
        PRODUCER: "producer_id v3_and_below_producer_id ongoing_txn_producer_id",
        PRODUCER_EPOCH: "producer_epoch v3_and_below_producer_epoch ongoing_txn_producer_epoch",
        SEQUENCE: "base_sequence last_sequence",
        SESSION: "session_id",
        SESSION_EPOCH: "session_epoch",
        SHARE_EPOCH: "share_session_epoch",
        CHECKED_EPOCH: "current_leader_epoch last_fetched_epoch committed_leader_epoch",
        LEADER_EPOCH: "leader_epoch",
        OFFSET: (
            "base_offset fetch_offset committed_offset offset end_offset low_watermark start_offset first_offset "
            "last_offset old_style_offsets"
        ),
        NODE: "node_id broker_id broker_ids leader_id controller_id preferred_read_replica replicas",
        CLUSTER: "cluster_id",
        TOKEN: "hmac token_id",
        INSTANCE: "client_instance_id",
        SUBSCRIPTION: "subscription_id",
    }.items()
    for name in names.split()
}
"""By the name of a field, in messages, payloads and batches of records."""
OF_ONE_RUN: Final = frozenset({
    MEMBER, GENERATION, PRODUCER, PRODUCER_EPOCH, SEQUENCE, SESSION, SESSION_EPOCH, SHARE_EPOCH,
})  # fmt: skip
"""Those that differ between any two runs, even of the same client with the same cluster."""
NAMES_A_MEMBER: Final = "leader"
"""In JoinGroup the id of a member, elsewhere that of a node."""
CHOSEN: Final = frozenset({"base_offset", "first_offset", "last_offset"})
"""Offsets that a broker gives away in the order in which requests come: another order is no other meaning."""

VOLATILE: Final[Mapping[str, str]] = {
    name: reason
    for reason, names in {
        "throttle times depend on the broker's load": "throttle_time_ms",
        "node ids differ between clusters": "brokers node_endpoints nodes",
        "addresses differ between clusters": "host port",
        "racks differ between clusters": "rack",
        "replica placement differs between clusters": (
            "replica_nodes isr_nodes offline_replicas eligible_leader_replicas last_known_elr"
        ),
        "the log end offset depends on timing": "high_watermark last_stable_offset",
        "the log start offset depends on retention": "log_start_offset",
        "free-text error message; the error code is compared instead": "error_message batch_index_error_message",
        "times differ between runs": "log_append_time_ms",
        "the epoch counts the feature changes of a cluster": "finalized_features_epoch",
        "client addresses differ between runs": "client_host",
        "disks differ between machines": "log_dir total_bytes usable_bytes",
        "the size on disk depends on the broker": "size",
    }.items()
    for name in names.split()
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
    if node is not None and node.kind == "topic_id":
        return TOPIC_ID
    if name == NAMES_A_MEMBER:
        return MEMBER if isinstance(value, str) else NODE
    return HANDED.get(name)


def is_volatile(name: str, node: Node | None) -> bool:
    """Return whether a field of an answer is none that two runs are compared by."""
    return name in VOLATILE or (node is not None and node.kind in VOLATILE_KINDS)
