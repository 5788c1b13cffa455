"""What stands in a feed, and how it is looked at: exchanges with their messages. Rows of tables: table_rows.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from ...exchanges.messages.exchange import Exchange
from ...protocol.wire.readings.topic_names import NamesThen, names_by_then
from ...views.render.style import Look
from ...views.render.summary import Summary
from .feed import ExchangeFeed
from .fields import OpenedExchange, opened
from .pieces import StyledText


class Looked(NamedTuple):
    """What somebody looks at: its position, its fields, and the exchange, None where there are no messages of it.

    `topics` are the names of topic ids, `file` is where its messages can be had by its number, "" for nowhere.
    """

    position: int
    exchange: Exchange | None
    opened: OpenedExchange
    topics: Mapping[UUID, str]
    file: str = ""


class Contents(Protocol):
    """What a feed holds."""

    unjudged: str
    """Why no causes can be named; "" where they can."""

    def about(self, position: int) -> list[StyledText]:
        """Return what an exchange was about: what went wrong first."""

    def look_at(self, position: int) -> Looked:
        """Read what there is to see of an exchange, in no time worth naming."""

    def more(self, looked: Looked) -> tuple[Any, ...] | None:
        """Return what the job `more` is asked for the rest of it; None where there is none."""

    def fuller(self, looked: Looked, told: Any) -> Looked:
        """Return it with what that job has told."""


class ExchangeContents:
    """Exchanges with their messages, of files by their names; a live stream has none."""

    unjudged: str = ""

    def __init__(self, feed: ExchangeFeed, look: Look, files: Sequence[str]) -> None:
        self._feed, self._look, self._files = feed, look, files
        self._summaries: list[tuple[NamesThen, Summary]] = []

    def about(self, position: int) -> list[StyledText]:
        exchange, file = self._feed.exchange(position), self._feed.index.who_of(position).file
        while len(self._summaries) <= file:
            names = NamesThen(self._feed.index.topics[len(self._summaries)])
            self._summaries.append((names, Summary(self._look, names)))
        names, summary = self._summaries[file]
        names.at(exchange.names)
        told = summary.told(exchange)
        pieces = [StyledText(one.text, one.style) for one in told.wrong]
        return [*pieces, StyledText(told.others)] if told.others else pieces

    def look_at(self, position: int) -> Looked:
        exchange, file = self._feed.exchange(position), self._feed.index.who_of(position).file
        topics = self._feed.index.topics[file]
        found = opened(exchange, names_by_then(topics, exchange.names), self._look)
        return Looked(position, exchange, found, topics, "" if self._feed.most is not None else self._files[file])

    def more(self, looked: Looked) -> tuple[Any, ...] | None:
        return None

    def fuller(self, looked: Looked, told: Any) -> Looked:
        return looked
