"""What `kdbg watch` says of processes, and those that are wanted: --pid and --container."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Peers, Process, endpoint
from ...live.socket_processes import Owners, SocketProcess
from ...streams.tcp.connection import Connection
from ...views.render.values import escape

MOST = 1 << 16
"""Connections that are remembered."""
AGAIN = 3
"""How often it is looked for the processes of a connection that are not found."""


class ProcessFilter:
    """Finds the processes at the ends of connections, and tells `say` of them; `wants` is a filter of exchanges.

    A connection is looked up when it proves to be Kafka, by which time its broker has accepted it.
    """

    owners: Owners
    say: Callable[[str], None]

    def __init__(self, owners: Owners, say: Callable[[str], None]) -> None:
        self.owners, self.say = owners, say
        self._wanted: dict[int, bool] = {}
        self._found: dict[int, tuple[SocketProcess | None, SocketProcess | None]] = {}
        self._peers: dict[int, Peers] = {}
        self._waiting: list[tuple[Connection, int, int]] = []

    def met(self, connection: Connection, client: int) -> None:
        """Take notice of a connection that is Kafka; `client` is 0 if its initiator sends the requests, else 1."""
        while len(self._wanted) >= MOST:
            gone = next(iter(self._wanted))
            del self._wanted[gone]
            self._found.pop(gone, None)
            self._peers.pop(gone, None)
        self._wanted[connection.number] = False
        if len(self._waiting) < MOST:
            self._waiting.append((connection, client, AGAIN))
        self.look()

    def look(self, *, idle: bool = False) -> None:
        """Find the processes of connections that wait for it, unless it was looked a moment ago; `idle`: even then."""
        if not self._waiting or not self.owners.look(at_once=idle):
            return
        waiting, self._waiting = self._waiting, []
        for connection, client, tries in waiting:
            ends = [connection.initiator, connection.acceptor]
            if client:
                ends.reverse()
            found = self.owners.find(ends[0], ends[1]), self.owners.find(ends[1], ends[0])
            if any(found):
                self._found[connection.number] = found
                self._wanted[connection.number] = True
                said = [f"{endpoint(end)}{owner_text(owner)}" for end, owner in zip(ends, found, strict=True)]
                self.say(f"c{connection.number}: {said[0]} → {said[1]}")
            elif tries > 1:
                self._waiting.append((connection, client, tries - 1))

    def name(self, exchanges: Sequence[Exchange]) -> None:
        """Note in exchanges which processes are at the ends of their connections, as far as that is known."""
        for exchange in exchanges if self._found else ():
            number = exchange.peers.number
            peers = self._peers.get(number)
            if peers is None and number in self._found:
                ends = [None if owner is None else Process(*owner) for owner in self._found[number]]
                peers = self._peers[number] = exchange.peers._replace(processes=(ends[0], ends[1]))
            if peers is not None:
                exchange.peers = peers

    def wants(self, exchange: Exchange) -> bool:
        """Return whether an exchange is one of the processes that are wanted."""
        return not self.owners.narrowed or self._wanted.get(exchange.peers.number, False)


def owner_text(owner: SocketProcess | None) -> str:
    """Return who has an end of a connection."""
    return "" if owner is None else f" {escape(str(owner))}"
