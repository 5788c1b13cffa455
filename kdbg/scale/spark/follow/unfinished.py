"""Connections that are not over when a batch is: their packets wait for the next one, and are gone through again there.

What waits is packets, not the state of an engine: any version of kdbg can go on from them. The engine makes of the same
packets the same exchanges, so what comes out while old packets go through has been told already, and is not told again.
Where a connection was at rest (every frame complete, every request answered) only the packets after that wait; it is
taken up there as if it had shaken hands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa

from ....capture.packet import ACK, SYN, endpoint, reverse
from ....exchanges.engine.driver import quiescent_at
from ....exchanges.engine.engine import Engine
from ....exchanges.messages.exchange import Exchange
from ....exchanges.messages.peers import Peers
from ....protocol.findings import Finding, Kind, pack, unpack
from ....protocol.findings.facts import CaptureTrouble
from ....streams.tcp.connection import LATE_SYN, Connection
from ....streams.tcp.stream import MASK
from ....views.tables.decoding import Connections, ConnectionStatistics
from ..archive.store import resolve
from ..stages.pairing import Making, Pairer
from ..stages.reading import PacketRun, partition, runs
from ..stages.tasks import Batches, parts, run_batch
from .progress import ALL

OLD = -1
"""The `split` of what waited: it sorts before all that is new."""
MOST = 64 << 20
"""Bytes of packets that wait for one connection; one that never comes to rest is given up beyond that."""
GIVEN_UP = "kdbg restarted the decoding of the connection here: it was busy for more than {:,} bytes"
BATCH = 4 << 20
WAITING = pa.schema({
    "point": pa.string(), "key": pa.binary(), "order": pa.int32(), "packets": pa.binary(), "payload": pa.binary(),
})  # fmt: skip
"""A run that waits. The first of its connection, of order 0, holds what is known of that in place of packets."""


class ResumePoint(NamedTuple):
    """Where a connection can be taken up: after packet `after`, with these sequence numbers of client and broker.

    `over`: nothing that comes can matter any more. The other values are the connection's at that time.
    """

    seq: tuple[int, int]
    over: bool
    after: int
    last_time: int
    first_packet: int
    start: int
    packets: int
    size: int
    handshake: bool

    @classmethod
    def of(cls, connection: Connection, client: int | None) -> ResumePoint | None:
        """Return where the connection stands, if it can be taken up there; else None."""
        seq = (0, 0) if connection.ended else quiescent_at(connection)
        if seq is None or connection.packets <= LATE_SYN:  # so early, a SYN may still be on its way
            return None
        seq = (seq[1], seq[0]) if client else seq
        return cls(
            seq, connection.ended, connection.last_packet, connection.last_time, connection.first_packet,
            connection.start, connection.packets, connection.bytes, connection.handshake,
        )  # fmt: skip


@dataclass(frozen=True)
class ConnectionState:
    """What was told of a connection that waits; `back`: its client is the second end of its key."""

    back: bool
    kafka: bool
    last_time: int
    exchanges: int
    client_id: str | None
    software: tuple[str | None, str | None] | None
    mechanism: str | None
    findings: list[Finding]
    rest: ResumePoint | None

    def dump(self) -> bytes:
        return json.dumps(vars(self) | {"findings": [*map(pack, self.findings)]}).encode()

    @classmethod
    def load(cls, data: bytes) -> ConnectionState:
        said = json.loads(data)
        findings = [*map(unpack, said.pop("findings"))]
        rest = said.pop("rest")
        return cls(**said, findings=findings, rest=None if rest is None else ResumePoint(*rest))


class Follower(Pairer):
    """Lets connections wait that sent something since `horizons`, nanoseconds for each capture of these `points`."""

    def __init__(self, making: Making, waiting: str, points: list[str], horizons: list[int]) -> None:
        super().__init__(making)
        self._points, self._horizons, self._waiting = points, horizons, Waiting(waiting)
        self._clear()

    def _clear(self) -> None:
        self._runs: list[PacketRun] = []
        self._rest: ResumePoint | None = None
        self._told: ConnectionState | None = None

    def take(self, capture: int, split: int, run: PacketRun) -> None:
        """Take the next run: of what waited, the first of a connection holds its state, and the others are old."""
        if split == OLD and not run.order:
            self._resume(capture, run.key, ConnectionState.load(run.packets))
            return
        if split == OLD:  # what comes of these packets was told already
            self._runs.append(run)
            for packet in run.unpack():
                self._session.receive(packet)
            return
        if (capture, run.key) != self._now:
            self._end()
        self._remember()
        super().take(capture, split, run)
        if self._horizons[capture] == ALL:
            return
        self._runs.append(run)
        if self._rest is not None:
            self._runs = [each for each in self._runs if each.last > self._rest.after]
        if sum(len(each.payload) for each in self._runs) > MOST:  # end it here: what follows begins anew
            trouble = Finding(Kind.DAMAGED_CAPTURE, facts=CaptureTrouble(GIVEN_UP.format(MOST)))
            self._session.findings.append((self._peers(self._latest()), trouble))
            super()._end()
            self._clear()

    def _resume(self, capture: int, key: bytes, told: ConnectionState) -> None:
        """Take up a connection that waits; its packets follow."""
        super().take(capture, OLD, PacketRun(key, 0, b"", b""))
        self._rest, self._told = told.rest, told
        if told.rest is not None:
            flow = reverse(key) if told.back else key
            client, broker = ((seq - 1) & MASK for seq in told.rest.seq)
            number, time = told.rest.first_packet, told.rest.start
            self._session.receive((number, time, flow, client, 0, SYN, b"", 0))  # which says where both sides are
            self._session.receive((number, time, reverse(flow), broker, told.rest.seq[0], SYN | ACK, b"", 0))
            rest, connection = told.rest, self._latest().connection
            connection.last_packet, connection.last_time = rest.after, rest.last_time
            connection.packets, connection.bytes, connection.handshake = rest.packets, rest.size, rest.handshake
            if rest.over:
                connection.ignore()

    def close(self) -> dict[str, Any]:
        return super().close() | {"waiting": self._waiting.close()}

    def _latest(self) -> ConnectionStatistics:
        return next(reversed(self._spoken.values()))

    def _peers(self, spoken: ConnectionStatistics) -> Peers:
        """Return its ends, with the number that the engine gave it."""
        return spoken.peers._replace(number=spoken.connection.number)

    def _remember(self) -> None:
        """Give the connection what was told of it before this batch, once all its old packets have gone through.

        Exchanges that the old packets complete were told already, and are dropped.
        """
        told, self._told = self._told, None
        if told is None:
            return
        self._session.idle()
        if not self._spoken:
            return
        spoken = self._latest()
        spoken.client = (spoken.client or 0) if told.kafka else None
        spoken.exchanges, spoken.client_id = told.exchanges, told.client_id
        spoken.software, spoken.mechanism = told.software, told.mechanism
        if told.rest is not None and told.rest.over:
            self._session.findings += [(self._peers(spoken), each) for each in told.findings]

    def _keep(self, done: list[Exchange], *, whole: bool = False) -> None:
        super()._keep(done, whole=whole)
        if done and self._spoken and self._horizons[self._capture] != ALL:
            spoken = self._latest()
            self._rest = ResumePoint.of(spoken.connection, spoken.client) or self._rest

    def _end(self) -> None:
        """End the connection, or let it wait for the next batch if it sent something since the horizon."""
        if self._now is not None and self._spoken:
            self._remember()
            if self._latest().connection.last_time >= self._horizons[self._capture]:
                self._wait(self._latest())
        super()._end()
        self._clear()

    def _wait(self, spoken: ConnectionStatistics) -> None:
        """Put the connection by, tell what is complete, and tell of those that had its ports before."""
        self._keep(self._session.idle())
        self._learn()
        assert self._now is not None
        connection, key = spoken.connection, self._now[1]
        rest = ResumePoint.of(connection, spoken.client) or self._rest
        if rest is not None and rest.first_packet != connection.first_packet:  # of one that had its ports before
            rest = None
        after = connection.first_packet - 1 if rest is None else rest.after
        told = ConnectionState(
            endpoint(key)[0] != spoken.peers.client, spoken.client is not None, connection.last_time, spoken.exchanges,
            spoken.client_id, spoken.software, spoken.mechanism,
            [finding for peers, finding in self._session.findings if peers.number == connection.number], rest,
        )  # fmt: skip
        packets = (packet for run in self._runs for packet in run.unpack() if packet[0] > after)
        self._waiting.add(self._points[self._capture], key, told, runs(packets))
        self._session, self._spoken = Engine(), Connections(numbered=False)


class Waiting:
    """Writes what waits into a file of its own, in a folder."""

    def __init__(self, folder: str) -> None:
        self._system, self._folder, _ = resolve(folder)
        self._file = f"{uuid4().hex}.arrow"
        self._name = f"{folder}/{self._file}"
        self._held: list[tuple[int, int]] = []
        self._points: set[str] = set()
        self._rows: list[tuple[Any, ...]] = []
        self._size = 0
        self._writer: pa.RecordBatchFileWriter | None = None

    def add(self, point: str, key: bytes, told: ConnectionState, left: Iterable[PacketRun]) -> None:
        """Add one connection of a capture point."""
        self._points.add(point)
        self._row((point, key, 0, told.dump(), b""))
        size = 0
        for run in left:
            self._row((point, key, run.order + 1, run.packets, run.payload))
            size += len(run.packets) + len(run.payload)
        self._held.append((told.last_time, size))

    def close(self) -> dict[str, Any]:
        """Return the files with their points, and (last time, bytes) of each connection."""
        self._flush()
        if self._writer is None:
            return {"files": {}, "held": []}
        self._writer.close()
        self._sink.close()
        return {"files": {self._name: sorted(self._points)}, "held": self._held}

    def _row(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        self._size += len(row[3]) + len(row[4])
        if self._size > BATCH:
            self._flush()

    def _flush(self) -> None:
        if not self._rows:
            return
        if self._writer is None:
            self._system.create_dir(self._folder)
            self._sink = self._system.open_output_stream(f"{self._folder}/{self._file}")
            self._writer = pa.ipc.new_file(self._sink, WAITING)
        columns = zip(*self._rows, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, WAITING, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=WAITING))
        self._rows, self._size = [], 0


def waited(points: Sequence[str], captures: Sequence[str], partitions: int, batches: Batches) -> Batches:
    """Read what waits, a file a task, as runs to be shuffled to so many partitions: those of these points.

    `captures` are the names of their captures.
    """
    numbers = {point: number for number, point in enumerate(points)}
    for name in parts(batches):
        system, path, _ = resolve(name)
        with system.open_input_file(path) as file:
            reader = pa.ipc.open_file(file)
            for i in range(reader.num_record_batches):
                rows = zip(*(column.to_pylist() for column in reader.get_batch(i).columns), strict=True)
                found = [(numbers[point], key, *rest) for point, key, *rest in rows if point in numbers]
                if found:
                    yield run_batch([
                        (partition(number, key, partitions, partitions), number, captures[number], key, OLD, *rest)
                        for number, key, *rest in found
                    ])  # fmt: skip
