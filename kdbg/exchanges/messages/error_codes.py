"""The error codes that a message carries, each with its name and what it is about."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple
from uuid import UUID

from ...protocol.grammars.errors import error_name
from ...protocol.wire.readings.outline import Outline


class ErrorFound(NamedTuple):
    """An error code in a message; `topic` and `partition` where it is theirs, a topic by its id if that is all."""

    code: int
    name: str
    topic: str | UUID | None = None
    partition: int | None = None


def errors_in(found: Outline) -> list[ErrorFound]:
    """Return the error codes of a message that are not 0: those of topics and partitions, then all others."""
    rows, _, codes = found
    named = [ErrorFound(code, error_name(code), topic, partition) for topic, partition, code, _ in rows if code]
    others = Counter(codes) - Counter(error.code for error in named)
    return [*named, *(ErrorFound(code, error_name(code)) for code in others.elements())]
