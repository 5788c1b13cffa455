"""A producer's timestamps are too far from the broker's clock."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "invalid-timestamp",
    "broker rejects record timestamps",
    ("the broker rejects record timestamps of client {client_id} on topic {topic}: INVALID_TIMESTAMP, {times}"),
    (
        "Correct the clock or the timestamps of client {client_id} (milliseconds, not seconds or "
        "microseconds), or raise message.timestamp.before.max.ms and message.timestamp.after.max.ms "
        "on the topic."
    ),
    "KIP-937",
    errors=(32,),  # INVALID_TIMESTAMP
    apis=(0,),
)
