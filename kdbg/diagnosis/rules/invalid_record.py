"""A broker refuses a record that its topic does not allow."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "invalid-record",
    "a record that its topic does not allow",
    "topic {topic} refuses a record of {client_id}: INVALID_RECORD, {times}",
    "Give every record a key where the topic is compacted (cleanup.policy=compact); see error_message and "
    "record_errors of the response.",
    "KIP-467",
    errors=(87,),  # INVALID_RECORD
    apis=(0,),
)
