"""Rows made of exchanges in a task: by the one that paired them where it can, else by any other, from files.

A task that pairs makes the rows of its exchanges at once: to hand them on costs more than that. It hands on what names
topics by ids that its connections have not told the names of, for others may have; and what is beyond its share of all
captures, so that a connection that holds most exchanges does not hold up the run.
"""

from __future__ import annotations

from collections import Counter, UserDict, deque
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ....exchanges.filters.filter_set import Filters
from ....exchanges.messages.exchange import MANY, Exchange
from ....protocol.wire.readings.outline import Topics
from ....views.tables.message_columns import WantedRows
from ....views.tables.rows import Rows
from ....views.tables.straight import names_by_id
from ..parquet import Tables
from .pieces import Pieces

AT_ONCE, AT_ONCE_BYTES = 64, 4 << 20
"""Exchanges, and bytes of them, that are held until rows are made of all: in turn, pairing and rows take a third more
time, for a processor's cache holds either."""


@dataclass(frozen=True)
class Making:
    """How rows are made: where the tables lie, which exchanges and which rows are wanted.

    `share` is how many bytes of exchanges a task makes rows of that pairs them too.
    """

    captures: list[str]
    folder: str
    filters: Filters
    wanted: WantedRows
    share: int


class Maker:
    """Makes the rows of exchanges. `topics` are the names of topic ids, as far as they are known."""

    def __init__(self, making: Making, tables: Tables, topics: Topics) -> None:
        self._captures = making.captures
        self._fits = making.filters.check(topics)
        self._rows = Rows(tables.add, making.wanted, topics)

    @property
    def problems(self) -> Counter[str]:
        """Findings by kind."""
        return self._rows.problems

    def make(self, capture: int, exchange: Exchange) -> None:
        """Make the rows of an exchange if it is wanted."""
        if self._fits is None or self._fits(exchange):
            self._rows.exchange(self._captures[capture], exchange)


class Here:
    """Takes the exchanges that a task has paired: makes rows of them, or packs them for another task."""

    def __init__(self, making: Making, tables: Tables) -> None:
        self.pieces: Pieces = Pieces(making.folder)
        self._names, self._left = UserDict[UUID, str](), making.share
        self._maker = Maker(making, tables, self._names)
        self._held: deque[tuple[int, Exchange]] = deque()
        self._size = 0

    def add(self, capture: int, exchange: Exchange, size: int, topics: dict[UUID, str]) -> None:
        """Take an exchange of so many bytes; `topics` are the names that its connection tells, more and more."""
        self._left -= size
        if self._left < 0:
            self.pieces.add(capture, exchange, size)
            return
        if topics is not self._names.data:
            self.flush()
            self._names.data = topics
        self._held.append((capture, exchange))
        self._size += size
        if len(self._held) >= AT_ONCE or self._size > AT_ONCE_BYTES:
            self.flush()

    def flush(self) -> None:
        """Make rows of what is held."""
        take, make = self._held.popleft, self._maker.make
        while self._held:
            capture, exchange = take()
            api, request, response = exchange.api, exchange.request, exchange.response
            if api is not None and names_by_id(api, exchange.version) and self._unnamed(exchange):
                self.pieces.add(capture, exchange, exchange.size)
                continue
            if request is not None:
                request.names = MANY
            if response is not None:
                response.names = MANY
            make(capture, exchange)
        self._size = 0

    def close(self) -> dict[str, Any]:
        """Return the files of what was handed on, with their sizes, and the findings by kind of what was not."""
        self.flush()
        return {"pieces": self.pieces.close(), "problems": self._maker.problems}

    def _unnamed(self, exchange: Exchange) -> bool:
        """Return whether an exchange names a topic by an id alone whose name is not known here."""
        topics = self._names.data
        found = (topic for rows, _, _ in exchange.outlines() for topic, *_ in rows)
        return any(isinstance(topic, UUID) and topic not in topics for topic in found)
