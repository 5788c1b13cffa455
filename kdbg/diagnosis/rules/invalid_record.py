"""A broker refuses a record that its topic does not allow."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "invalid-record",
    "topic rejects a record",
    "the broker rejects records of client {client_id} for topic {topic}: INVALID_RECORD, {times}",
    (
        "If the topic is compacted (cleanup.policy=compact), give every record a key; see error_message "
        "and record_errors in the response."
    ),
    "KIP-467",
    errors=(87,),  # INVALID_RECORD
    apis=(0,),
)
