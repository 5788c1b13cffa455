"""What error codes were in older releases of Kafka: other names, other meanings, other advice on trying again.

Names and retriable flags are those of the `Errors` of Kafka's own client, release by release; meanings before 0.9 are
those of the 0.8 guide's table, in kdbg's words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Change(NamedTuple):
    """What a code was before a release: its name, whether a retry was to help, its meaning; each only if it changed."""

    release: str
    name: str = ""
    retriable: bool | None = None
    meaning: str = ""


CHANGES: Mapping[int, tuple[Change, ...]] = {
    -1: (Change("1.0", name="UNKNOWN"),),
    1: (Change("0.9.0", retriable=True),),
    2: (Change("0.9.0", meaning="InvalidMessage, for a wrong CRC alone (0.8 guide)"),),
    4: (Change("0.10.0", meaning="InvalidMessageSize, for a message of negative size (0.8 guide)"),),
    6: (Change("2.6", name="NOT_LEADER_FOR_PARTITION"),),
    9: (
        Change("0.9.0", meaning="Unused (0.8 guide)"),
        Change("2.6", retriable=False),
    ),
    14: (
        Change("0.9.0", meaning="OffsetsLoadInProgress, in answers to offset fetches alone (0.8 guide)"),
        Change("0.11.0", name="GROUP_LOAD_IN_PROGRESS"),
    ),
    15: (
        Change("0.9.0", meaning="ConsumerCoordinatorNotAvailable, while the offsets topic is missing (0.8 guide)"),
        Change("0.11.0", name="GROUP_COORDINATOR_NOT_AVAILABLE"),
    ),
    16: (
        Change("0.9.0", meaning="NotCoordinatorForConsumer, for offset fetches and commits (0.8 guide)"),
        Change("0.11.0", name="NOT_COORDINATOR_FOR_GROUP"),
    ),
    46: (Change("1.0", retriable=True),),
    51: (Change("3.3", retriable=False),),
}
"""Code -> its changes, the oldest first."""


def changes(code: int) -> tuple[Change, ...]:
    """Return what a code was in older releases, the oldest change first; nothing where it has not changed."""
    return CHANGES.get(code, ())
