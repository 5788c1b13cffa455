"""What is special about a record, in words: a control record, the outcome of its transaction, the broker's refusal."""

from __future__ import annotations

from ....payloads.records.record import CapturedRecord
from ....protocol.grammars.errors import error_name

OPEN = "in transaction"


def marks(record: CapturedRecord) -> list[str]:
    """Return the marks of a record; what is wrong first; none for most."""
    found = [f"✗ {error_name(record.error)}"] if record.error else []
    found += [] if record.sound else ["✗ checksum wrong"]
    found += [f"control {record.control}"] if record.control else []
    if record.outcome:
        found.append(record.outcome)
    elif is_open(record):
        found.append(OPEN)
    return found


def is_open(record: CapturedRecord) -> bool:
    """Return whether a record is part of a transaction whose outcome was not seen by then."""
    transactional = record.producer is not None and record.producer.transactional
    return transactional and record.outcome is None and record.control is None
