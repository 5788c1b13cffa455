"""The reduce side: the runs of a partition, sorted, go through the very engine that `kdbg decode` runs.

One connection after the other, each through an `Engine` of its own; so memory holds one connection's loose ends. What
becomes of the exchanges, making.py says.
"""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

from ....capture.keylog import KeyLog
from ....exchanges.engine.engine import Engine
from ....exchanges.messages.exchange import Exchange
from ....protocol.wire.readings.outline import MOST
from ....views.tables.connections import Connections, ConnectionStatistics
from ..parquet import Tables
from .making import Here, Making
from .reading import Overheard
from .runs import PacketRun


class Pairer:
    """Takes all runs of a partition in the order of connections and packets; then `close` reports, in plain values."""

    tables: Tables

    def __init__(self, making: Making) -> None:
        self.captures: list[str] = making.captures
        self.tables = Tables(making.folder)
        self._here = Here(making, self.tables)
        self.counts: Counter[str] = Counter()
        self.topics: dict[UUID, str] = {}
        self._now: tuple[int, bytes] | None = None
        self._capture = -1
        self._key_logs = making.filters.tls_keys or ()
        self._overheard = Overheard(making.folder)
        self.keys = KeyLog()
        self._session = Engine()
        self._spoken = Connections(numbered=False)
        self._problems: Counter[str] = Counter()
        """Findings that belong to no exchange, by kind."""

    def take(self, capture: int, split: int, run: PacketRun) -> None:
        """Take the next run, of a split of this number."""
        self.run(capture, run)

    def run(self, capture: int, run: PacketRun) -> None:
        """Take the next packets of a connection, or the first of the next one."""
        if (capture, run.key) != self._now:
            self._end()
            if self._capture != capture:
                self.keys = self._keys_of(capture)
            self._now, self._capture = (capture, run.key), capture
            self._session = Engine(watch=self._spoken.watch, keys=self.keys)
        self._keep(self._session.receive_all(list(run.unpack())))
        self.counts["packets"] += run.size

    def _keys_of(self, capture: int) -> KeyLog:
        """Return the secrets that are known for a capture."""
        keys = KeyLog().use(self._key_logs)
        for log in self._overheard.of(capture):
            keys.take(log)
        return keys

    def close(self) -> dict[str, Any]:
        """Return what was written, and what was counted."""
        self._end()
        here = self._here.close()
        return {
            **here,
            **self.tables.close(),
            "problems": self._problems + Counter(here.get("problems", {})),
            "counts": self.counts,
            "topics": {str(topic): name for topic, name in self.topics.items()},
        }

    def _keep(self, done: list[Exchange]) -> None:
        """Take exchanges, and add the rows of connections that are over."""
        topics, frames, size = self._session.topic_names, 0, 0
        capture, heard, add = self._capture, self._spoken.heard, self._here.add
        for exchange in done:
            exchange.peers = heard(exchange).peers
            taken = 0
            for half in (exchange.request, exchange.response):
                if half is not None:
                    frames += 1
                    taken += half.size
            size += taken
            add(capture, exchange, taken, topics)
        counts = self.counts
        counts["exchanges"] += len(done)
        counts["frames"] += frames
        counts["frame_bytes"] += size
        if len(self._spoken) > 1:
            self._tell_all(but=1)

    def _end(self) -> None:
        """End the connection, and all that used its ports before."""
        self._keep(self._session.close())
        self._tell_all(but=0)
        self._now = None
        self._learn()

    def _learn(self) -> None:
        """Keep the names of topic ids that the connection told."""
        for topic, name in self._session.topic_names.items():
            if len(self.topics) < MOST:
                self.topics[topic] = name

    def _tell_all(self, *, but: int) -> None:
        """Tell of the connections, `but` for the latest: those before it are over, for their ports are used anew."""
        for number in list(self._spoken)[: len(self._spoken) - but]:
            self._tell(self._spoken.pop(number))

    def _tell(self, spoken: ConnectionStatistics) -> None:
        """Add the row of a connection, and its problems that belong to no exchange."""
        connection, capture = spoken.connection, self.captures[self._capture]
        findings = [finding for peers, finding in self._session.findings if peers.number == connection.number]
        spoken.tell(capture, findings, self.tables.add)
        self._problems.update(finding.kind.value for finding in findings)
        self.counts["connections" if spoken.client is not None else "other_connections"] += 1
        self.counts["connection_packets"] += connection.packets
