"""Protocol lines in, exchanges out: responses find their requests by connection and correlation id.

In place of an engine, where a log is read in place of a capture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Peers
from ...protocol.findings import Finding
from ...protocol.wire.readings.outline import ALWAYS, NamesThen
from .dialect import LineFacts
from .exchanges import add, logged_exchange
from .lines import ProtocolLine

MOST_WAITING = 1 << 16
"""Requests whose responses are waited for; of more, the oldest are handed out without."""
MOST_CONNECTIONS = 1 << 16
"""Connections that are remembered: one that comes again after so many others has another number."""


class Conversations:
    """What is remembered between lines. Its attributes are those of `Engine`, for whoever drives either."""

    connections: int
    other_connections: int
    count: int
    topic_names: dict[UUID, str]
    names_then: NamesThen
    findings: list[tuple[Peers, Finding]]

    def __init__(self) -> None:
        self.connections = self.other_connections = self.count = 0
        self.topic_names = ALWAYS.copy()
        self.names_then = NamesThen(self.topic_names)
        self.findings = []
        self._peers: dict[tuple[str, str, str | None], Peers] = {}
        self._waiting: dict[tuple[int, int], Exchange] = {}

    def chunks(self, blocks: Iterable[Sequence[ProtocolLine]]) -> Iterator[list[Exchange]]:
        """Yield the exchanges that lines complete, those of a block together; in the end those without a response."""
        for block in blocks:
            final = [exchange for told in block for exchange in self._take_line(told)]
            if final:
                yield self._numbered(final)
        left = list(self._waiting.values())
        self._waiting.clear()
        if left:
            yield self._numbered(left)

    def _take_line(self, told: ProtocolLine) -> Iterator[Exchange]:
        """Take the next line; yield the exchanges that are complete by it."""
        said = told.facts
        peers = self._connection(told.dialect.name, said)
        if said.correlation_id is None or said.half == "both":
            yield logged_exchange(told, peers)
            return
        key = peers.number, said.correlation_id
        asked = self._waiting.pop(key, None)
        if asked is not None and said.half == "response" and asked.api is said.api:
            add(asked, told)
            yield asked
            return
        if asked is not None:
            yield asked
        found = logged_exchange(told, peers)
        if said.half == "response":
            yield found
            return
        self._waiting[key] = found
        if len(self._waiting) > MOST_WAITING:
            yield self._waiting.pop(next(iter(self._waiting)))

    def _connection(self, dialect: str, said: LineFacts) -> Peers:
        """Return the connection that a line is of, numbered in the order of appearance."""
        key = dialect, said.connection, said.client_id
        found = self._peers.get(key)
        if found is None:
            if len(self._peers) >= MOST_CONNECTIONS:
                del self._peers[next(iter(self._peers))]
            self.connections += 1
            found = self._peers[key] = Peers(self.connections, said.client, said.broker)
        return found

    def _numbered(self, final: list[Exchange]) -> list[Exchange]:
        for exchange in final:
            self.count += 1
            exchange.number = self.count
        return final
