"""Which broker a request must go to: any, a partition's leader, a coordinator, or the controller.

From the guide's "Partitioning and bootstrapping" and, for later APIs, from what brokers refuse.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..wire import Api
from ..wire.outline import outline

LEADER = frozenset({0, 1, 2, 21, 23, 78, 79, 61})
"""Produce, Fetch, ListOffsets, DeleteRecords, OffsetForLeaderEpoch, ShareFetch, ShareAcknowledge, DescribeProducers."""
GROUP = frozenset({8, 9, 11, 12, 13, 14, 15, 28, 42, 47, 68, 69, 76, 77, 88, 89, 90, 91, 92})
"""What the group coordinator answers: commits, memberships of all group protocols, descriptions, deletions."""
TRANSACTION = frozenset({22, 24, 25, 26, 65})
"""InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, DescribeTransactions."""
CONTROLLER = frozenset({19, 20, 37, 43, 45, 46, 57})
"""CreateTopics, DeleteTopics, CreatePartitions, ElectLeaders, partition reassignments, UpdateFeatures."""
KEY_TYPES = {"group": 0, "transaction": 1}
"""FindCoordinator's key_type."""
RETRY = frozenset({3, 5, 6, 14, 15, 16, 41, 72, 74, 75, 76, 100, 103})
"""Errors that newer metadata, or a little patience, may cure: unknown topic (it may be new), no leader, another leader,
coordinator loading, missing or moved, another controller, stale epochs, unknown topic id."""


class Route(NamedTuple):
    """`kind` is "any", "leader", "group", "transaction" or "controller"; `subject` is (topic, partition) or an id."""

    kind: str
    subject: Any = None


def route(api: Api, body: dict[str, Any]) -> Route:
    """Where a request with this body goes, whatever its version. One that names no subject can go anywhere."""
    if api.key in CONTROLLER:
        return Route("controller")
    names = ("transactional_id", "v3_and_below_transactional_id")
    if api.key in TRANSACTION and any(body.get(name) for name in names):
        return Route("transaction", next(body[name] for name in names if body.get(name)))
    if api.key not in LEADER and api.key not in GROUP:
        return Route("any")
    for version in reversed(api.versions):
        found = outline(api.at("request", version))(body)
        if api.key in LEADER and found.rows and found.rows[0].topic:
            return Route("leader", (found.rows[0].topic, found.rows[0].partition or 0))
        if api.key in GROUP and found.groups:
            return Route("group", found.groups[0])
    return Route("any")
