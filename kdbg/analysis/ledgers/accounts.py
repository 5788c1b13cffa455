"""The accounts that are kept: sessions, errors, clusters, groups, producers, and what is read and written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ...exchanges.messages.exchange import CapturedMessage
from ...exchanges.messages.peers import End, Peers
from ...protocol.findings import Finding
from ...protocol.wire.readings.outline import NamesThen
from ...streams.tcp.paths import Path, Paths
from .clusters import Clusters
from .evidence import Bounded, Mark, Occurrences
from .flows import Fetched, PartitionWrites, Polls, Producers
from .groups import Group
from .sessions import KafkaConnection, Mistakes

MOST_SESSIONS = 65_536
MOST_ERRORS = 8192
MOST_FLOWS = 16_384
MOST_SILENCES = 1024
SILENT = 1_000_000_000
"""Nanoseconds without any answer that are worth remembering."""


@dataclass(slots=True, eq=False)
class Failure:
    """An error code, as one connection got it from one API for one topic, group or other subject."""

    code: int
    api_key: int
    subject: str
    session: KafkaConnection
    seen: Occurrences = field(default_factory=Occurrences)
    partitions: set[int] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class Pulse:
    """When a broker answers, on all its connections together: its silences are times without any answer."""

    last: int = 0
    silences: list[tuple[int, int]] = field(default_factory=list)
    """From the last answer before a silence to the first after it, in nanoseconds; those of a second or more."""

    def beat(self, time: int) -> None:
        """Take an answer."""
        if self.last and time - self.last >= SILENT and len(self.silences) < MOST_SILENCES:
            self.silences.append((self.last, time))
        self.last = max(self.last, time)


def body_of(half: CapturedMessage | None, *, shallow: bool = False) -> dict[str, Any]:
    """Return what a message says as far as it can be read, with its records and payloads opened unless `shallow`."""
    message = half.message(shallow=shallow) if half is not None else None
    return message.body if message is not None and not message.misaligned and isinstance(message.body, dict) else {}


class Accounts:
    """What is known by now. `names` are the names of topic ids as an engine learns them.

    Memory is bounded: what comes beyond an account's bound is left out.
    """

    def __init__(self, names: NamesThen) -> None:
        self.names: NamesThen = names
        self.paths: Paths = Paths()
        self.sessions: Bounded[int, KafkaConnection] = Bounded(MOST_SESSIONS)
        self._by_packet: dict[int, KafkaConnection] = {}
        self._by_client: dict[str, list[KafkaConnection]] = {}
        self._writes: dict[tuple[str, str], list[PartitionWrites]] = {}
        self._counted: tuple[int, int] = -1, -1
        self.failures: Bounded[tuple[int, int, str, int], Failure] = Bounded(MOST_ERRORS)
        self.clusters: Clusters = Clusters()
        self.groups: Bounded[str, Group] = Bounded(1024)
        self.producers: Producers = Producers()
        self.fetched: Bounded[tuple[int, str, int], Fetched] = Bounded(MOST_FLOWS)
        self.polls: Bounded[int, Polls] = Bounded(MOST_SESSIONS)
        self.written: Bounded[tuple[int, str, int], PartitionWrites] = Bounded(MOST_FLOWS)
        self.pulses: defaultdict[End, Pulse] = defaultdict(Pulse)
        self.mistakes: dict[int, Mistakes] = {}
        """Those of connections that have any, by the connection's number."""
        self.left: list[tuple[Peers, Finding]] = []
        self.exchanges: int = 0
        self.first_time: int = 0
        self.last_time: int = 0

    def session(self, peers: Peers) -> KafkaConnection | None:
        """Return the entry of a connection."""
        return self.sessions.entry(peers.number, partial(self._met, peers))

    def _met(self, peers: Peers) -> KafkaConnection:
        found = self._by_packet[peers.first_packet] = KafkaConnection(peers, self.paths.path_of(peers.first_packet))
        return found

    def sessions_of(self, client_id: str) -> list[KafkaConnection]:
        """Return the connections of a client, by its id."""
        self._index()
        return self._by_client.get(client_id, [])

    def writes_by_client(self) -> Mapping[tuple[str, str], Sequence[PartitionWrites]]:
        """Return what clients write to topics, by the client's id and the topic, on all their connections."""
        self._index()
        return self._writes

    def _index(self) -> None:
        """Index connections and writes by client, once for the exchanges that were taken."""
        counted = self.exchanges, len(self.sessions)
        if self._counted == counted:
            return
        self._counted, self._by_client, self._writes = counted, {}, {}
        for session in self.sessions.values():
            self._by_client.setdefault(session.client_id, []).append(session)
        for (number, topic, _), written in self.written.items():
            self._writes.setdefault((self.sessions[number].client_id, topic), []).append(written)

    def topic(self, name: Any, topic_id: Any = None) -> str:
        """Return a topic's name, by its id where only that is told; the id itself where nobody told its name."""
        if name:
            return str(name)
        return str(self.names.get(topic_id, topic_id))

    def failed(
        self, code: int, api_key: int, subject: str, session: KafkaConnection, mark: Mark, number: int = -1
    ) -> None:
        """Count an error code."""
        key = code, api_key, subject, session.peers.number
        failure = self.failures.entry(key, lambda: Failure(code, api_key, subject, session))
        if failure is not None:
            failure.seen.add(mark)
            if number >= 0 and len(failure.partitions) < 64:
                failure.partitions.add(number)

    def group(self, name: str) -> Group | None:
        """Return the entry of a group."""
        return self.groups.entry(name, lambda: Group(name))

    def session_on(self, path: Path) -> KafkaConnection | None:
        """Return what Kafka was spoken on a path."""
        return self._by_packet.get(path.first_packet)
