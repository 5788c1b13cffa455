"""What earlier messages contained: the names of topic ids, and facts about their connection."""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from uuid import UUID

from ...protocol.wire.readings.outline import ALWAYS
from .mistakes import Searches


class Known(NamedTuple):
    """What earlier messages contained that is needed to read later ones.

    `topics`: the names of topic ids, in the whole capture; `facts`: by their names, facts about a
    connection, such as the `mechanism` of its SASL tokens and the client's `software`. `searches` has those for
    mistakes, within bounds.
    """

    topics: dict[UUID, str]
    facts: dict[str, Any]
    searches: Searches

    @classmethod
    def nothing(cls, topics: dict[UUID, str] | None = None) -> Known:
        """Return what is known before the first message: `topics`, or those that are known always."""
        return cls(ALWAYS.copy() if topics is None else topics, {}, Searches())

    def and_more(self, name: str, fact: object) -> Known:
        """Return the same with a fact that the connection has told."""
        return self._replace(facts={**self.facts, name: fact})


MOST: Final = 10_000
"""Correlation ids that are remembered."""


class Repeats:
    """Counts the messages of one direction that begin at the same time, with the same correlation id."""

    __slots__ = ("_counts", "_last")

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None
        self._counts: dict[int, int] | None = None  # of most connections none, as no two messages begin at once

    def count(self, time: int, correlation_id: int) -> int:
        """Take the next message; return how many like it came just before."""
        last, self._last = self._last, (time, correlation_id)
        if last is None or time != last[0]:
            self._counts = None
            return 0
        if self._counts is None or len(self._counts) > MOST:
            self._counts = {last[1]: 1}
        found = self._counts.get(correlation_id, 0)
        self._counts[correlation_id] = found + 1
        return found
