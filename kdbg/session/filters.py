"""Which exchanges a person wants to see: conditions on what was said, all of which must hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from .. import grammars
from ..wire.outline import Outline, outline
from .exchange import Exchange

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
        keys = {grammars.api(name).key for name in _many(self.api)}
        checks = [check for wanted, check in (
            (keys, lambda e: e.api is not None and e.api.key in keys),
            (self.client_id, self._client),
            (self.connection, self._connection),
            (self.since is not None or self.until is not None, self._when),
            (self.slower_than is not None, self._slow),
            (self.topic or self.group or self.errors, lambda e: self._content(e, topics)),
        ) if wanted]  # fmt: skip
        left = self.limit
        for exchange in exchanges:
            if left is not None and left <= 0:
                return
            if all(check(exchange) for check in checks):
                left = None if left is None else left - 1
                yield exchange
                if left == 0:
                    return

    def _client(self, exchange: Exchange) -> bool:
        return exchange.client_id in _many(self.client_id)

    def _connection(self, exchange: Exchange) -> bool:
        return exchange.peers.number in _many(self.connection)

    def _when(self, exchange: Exchange) -> bool:
        time = exchange.time / 1e9
        return (self.since is None or time >= self.since) and (self.until is None or time <= self.until)

    def _slow(self, exchange: Exchange) -> bool:
        return exchange.latency is not None and exchange.latency > (self.slower_than or 0) * 1e9

    def _content(self, exchange: Exchange, topics: Mapping[UUID, str]) -> bool:
        outlines = outlines_of(exchange)
        if self.errors and not any(found.errors for found in outlines) and not exchange.all_findings(shallow=True):
            return False
        if self.group and not any(group in _many(self.group) for found in outlines for group in found.groups):
            return False
        wanted = _many(self.topic)
        rows = (row for found in outlines for row in found.rows)
        return not wanted or any(_names(row.topic, topics) & wanted for row in rows)


def outlines_of(exchange: Exchange) -> list[Outline]:
    """What the halves of an exchange are about, request first."""
    return [outline(message.grammar)(message.body) for message in exchange.messages(shallow=True)]


def _many(value: Any) -> frozenset[Any]:
    return frozenset([value]) if isinstance(value, (str, int)) else frozenset(value)


def _names(topic: Any, topics: Mapping[UUID, str]) -> frozenset[str]:
    """The ways in which a topic can be named."""
    if isinstance(topic, UUID):
        return frozenset(filter(None, (str(topic), topics.get(topic))))
    return frozenset([topic] if topic else [])
