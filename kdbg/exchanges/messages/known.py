"""What earlier messages contained: the names of topic ids, and facts about their connection."""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

from ...protocol.wire.readings.outline import ALWAYS
from .mistakes import Searches


class Known(NamedTuple):
    """What earlier messages contained that is needed to read later ones.

    `topics`: the names of topic ids, in the whole capture; `facts`: by their names, facts about a
    connection, such as the `mechanism` of its SASL tokens and the client's `software`, its name and version. `searches`
    has those for mistakes, within bounds.
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
