"""Which exchanges a person wants to see: conditions on what was said, all of which must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from .. import grammars
from ..messages.exchange import Exchange
from ..wire.readings.outline import Outline, outline

Check: TypeAlias = Callable[[Exchange], bool]
AS_NOTHING: Mapping[UUID, str] = {}


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Conditions, each None or empty where it does not matter.

    `api`, `client_id`, `topic` and `group` may name several, one of which is enough; a topic is known by its name or
    by its id. `errors` wants an error code that is not zero, or a finding. `slower_than` is in seconds, `since` and
    `until` are seconds since the epoch. `limit` ends after so many exchanges.
    """

    api: str | Iterable[str] = ()
    client_id: str | Iterable[str] = ()
    topic: str | Iterable[str] = ()
    group: str | Iterable[str] = ()
    errors: bool = False
    slower_than: float | None = None
    connection: int | Iterable[int] = ()
    since: float | None = None
    until: float | None = None
    limit: int | None = None

    def select(self, exchanges: Iterable[Exchange], topics: Mapping[UUID, str] = AS_NOTHING) -> Iterator[Exchange]:
        """Those of `exchanges` that fit; `topics` tells the names of topic ids."""
        fits, left = self.checks(topics), self.limit
        if left is not None and left <= 0:
            return
        for exchange in exchanges:
            if all(check(exchange) for check in fits):
                yield exchange
                if left is not None and (left := left - 1) == 0:
                    return

    def checks(self, topics: Mapping[UUID, str] = AS_NOTHING) -> list[Check]:
        """The conditions that were made, cheap ones first."""
        keys = {grammars.api(name).key for name in _many(self.api)}
        clients, connections = _many(self.client_id), _many(self.connection)
        since, until, slower = _moment(self.since), _moment(self.until), _nanoseconds(self.slower_than)
        found: list[Check] = []
        if keys:
            found.append(lambda e: e.api is not None and e.api.key in keys)
        if clients:
            found.append(lambda e: e.client_id in clients)
        if connections:
            found.append(lambda e: e.peers.number in connections)
        if since is not None:
            found.append(lambda e: e.time >= since)
        if until is not None:
            found.append(lambda e: e.time <= until)
        if slower is not None:
            found.append(lambda e: e.latency is not None and e.latency > slower)
        return found + self._contents(topics)

    def _contents(self, topics: Mapping[UUID, str]) -> list[Check]:
        """Those that want the messages read."""
        names, groups = _many(self.topic), _many(self.group)
        found: list[Check] = []
        if groups:
            found.append(lambda e: any(not groups.isdisjoint(part.groups) for part in outlines_of(e)))
        if names:
            found.append(
                lambda e: any(_is_named(row.topic, names, topics) for part in outlines_of(e) for row in part.rows)
            )
        if self.errors:
            found.append(lambda e: any(part.errors for part in outlines_of(e)) or bool(e.all_findings(shallow=True)))
        return found


def outlines_of(exchange: Exchange) -> list[Outline]:
    """What the halves of an exchange are about, request first."""
    return [outline(message.grammar)(message.body) for message in exchange.messages(shallow=True)]


def _many(value: Any) -> frozenset[Any]:
    return frozenset([value]) if isinstance(value, (str, int)) else frozenset(value)


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


def _moment(seconds: float | None) -> int | None:
    """Seconds since the epoch in nanoseconds, whole microseconds of them: more a float of our days does not hold."""
    return None if seconds is None else round(seconds * 1e6) * 1000


def _is_named(topic: Any, names: frozenset[str], topics: Mapping[UUID, str]) -> bool:
    """Whether a topic, given by its name or its id, is one of these."""
    if isinstance(topic, UUID):
        return str(topic) in names or topics.get(topic) in names
    return topic in names
