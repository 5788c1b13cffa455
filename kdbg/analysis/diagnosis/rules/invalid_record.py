"""A broker refuses a record that its topic does not allow."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "invalid-record",
    "topic rejects a record",
    "broker {broker} rejects records of client {client_id} for topic {topic}: INVALID_RECORD, {times}",
    (
        "Check error_message and record_errors in the response. If topic {topic} has "
        "cleanup.policy=compact, give every record a key."
    ),
    "KIP-467",
    errors=(87,),  # INVALID_RECORD
    apis=(0,),
)
