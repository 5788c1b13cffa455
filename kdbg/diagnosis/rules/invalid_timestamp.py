"""A producer's timestamps are too far from the broker's clock."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "invalid-timestamp",
    "records with a timestamp that the broker refuses",
    "{client_id} writes records to topic {topic} whose timestamps the broker refuses: INVALID_TIMESTAMP, {count:,} "
    "times",
    "Correct the clock or the timestamps of {client_id} (milliseconds, not seconds or microseconds), or raise "
    "message.timestamp.before.max.ms and message.timestamp.after.max.ms of the topic.",
    "KIP-937",
    errors=(32,),  # INVALID_TIMESTAMP
    apis=(0,),
)
