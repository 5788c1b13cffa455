"""Too few replicas of a partition are in sync for acks=all."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "not-enough-replicas",
    "too few in-sync replicas",
    (
        "topic {topic} has fewer in-sync replicas than min.insync.replicas: broker {broker} rejects "
        "writes of client {client_id} with acks=all, {times}"
    ),
    (
        "Check which brokers are down and whose replicas fall behind. A min.insync.replicas above the "
        "number of live brokers can never be met."
    ),
    "Topic configs: min.insync.replicas",
    errors=(19, 20),  # NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND
    apis=(0,),
    explains=frozenset({"partition-offline"}),
)
