"""A producer's timestamps are too far from the broker's clock."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "invalid-timestamp",
    "broker rejects record timestamps",
    ("broker {broker} rejects record timestamps of client {client_id} for topic {topic}: INVALID_TIMESTAMP, {times}"),
    (
        "Check the clock of client {client_id} and the unit of its timestamps (milliseconds), or raise "
        "message.timestamp.before.max.ms and message.timestamp.after.max.ms on the topic."
    ),
    "KIP-937",
    errors=(32,),  # INVALID_TIMESTAMP
    apis=(0,),
)
