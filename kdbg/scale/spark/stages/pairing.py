"""The reduce side: the runs of a partition, sorted, go through the very engine that `kdbg decode` runs.

One connection after the other, each through an `Engine` of its own; so memory holds one connection's loose ends.

A task that pairs makes the rows of its exchanges at once: to hand them on costs more than that. It hands on, packed in
files, what names topics by ids that its connections have not told the names of, for others may have; and what is beyond
its share of all captures, so that a connection that holds most exchanges does not hold up the run.
"""

from __future__ import annotations

import pickle
from collections import Counter, UserDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pyarrow as pa

from ....analysis.ledgers.latency import Timed
from ....capture import Packet
from ....capture.keylog import KeyLog
from ....exchanges.engine.engine import Engine
from ....exchanges.filters.filter_set import Filters
from ....exchanges.messages.capture_points import Timing
from ....exchanges.messages.exchange import MANY, Exchange
from ....exchanges.messages.serialization import Packed, unpack
from ....protocol.wire.readings.outline import MOST
from ....views.tables.decoding import Connections
from ....views.tables.message_columns import WantedRows
from ....views.tables.rows import Rows
from ....views.tables.straight import names_by_id
from ..archive.plan import File, Split
from ..archive.store import resolve
from ..parquet import Tables
from .reading import PacketRun, SplitReading

SCHEMA = pa.schema({
    "exchanges": pa.binary(), "common": pa.binary(), "data": pa.large_binary(), "timings": pa.binary(),
})  # fmt: skip
"""Many exchanges in one row: what `Packed` makes of them, and their latency breakdowns."""


PACKED, PACKED_BYTES = 1024, 4 << 20
"""Exchanges, and bytes of them, that are packed together."""
PIECE = 32 << 20
"""Bytes of exchanges in one file."""


class Pieces:
    """Takes exchanges and writes them into files of about `PIECE` bytes."""

    def __init__(self, folder: str) -> None:
        self._system, self._folder, _ = resolve(folder)
        self.names: list[tuple[str, int, list[int]]] = []
        self._packed, self._timings = Packed(), list[Timing | None]()
        self._captures: set[int] = set()
        self._held = self._written = 0
        self._name = ""
        self._writer: pa.RecordBatchFileWriter | None = None

    def add(self, capture: int, exchange: Exchange, size: int) -> None:
        """Take an exchange of so many bytes."""
        self._packed.add(exchange, capture)
        self._timings.append(exchange.timing)
        self._captures.add(capture)
        self._held += size
        if len(self._packed) >= PACKED or self._held > PACKED_BYTES:
            self._flush()

    def close(self) -> list[tuple[str, int, list[int]]]:
        """Return the files, the bytes of exchanges in each, and the numbers of their captures."""
        self._flush()
        self._end()
        return self.names

    def _flush(self) -> None:
        if not len(self._packed):
            return
        if self._writer is None:
            self._name = f"{uuid4().hex}.arrow"
            self._sink = self._system.open_output_stream(f"{self._folder}/{self._name}")
            self._writer = pa.ipc.new_file(self._sink, SCHEMA)
        exchanges, common, data = self._packed.take()
        timings, self._timings = pickle.dumps(self._timings), []
        columns = {"exchanges": [exchanges], "common": [common], "data": [b"".join(data)], "timings": [timings]}
        self._writer.write_batch(pa.RecordBatch.from_pydict(columns, schema=SCHEMA))
        self._written += self._held
        self._held = 0
        if self._written > PIECE:
            self._end()

    def _end(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._sink.close()
            self.names.append((self._name, self._written, sorted(self._captures)))
            self._writer, self._written = None, 0
            self._captures.clear()


def exchanges(folder: str, name: str, topics: dict[UUID, str]) -> Iterator[tuple[int, Exchange]]:
    """Yield (capture, exchange) for all in one file; `topics` are the names of topic ids."""
    system, path, _ = resolve(folder)
    with system.open_input_file(f"{path}/{name}") as file:
        reader = pa.ipc.open_file(file)
        for i in range(reader.num_record_batches):
            for row in reader.get_batch(i).to_pylist():
                timings = pickle.loads(row.pop("timings"))  # what `Pieces` wrote
                for (capture, exchange), timing in zip(unpack(**row, topics=topics), timings, strict=True):
                    exchange.timing = timing
                    yield capture, exchange


AT_ONCE, AT_ONCE_BYTES = 64, 4 << 20
"""Exchanges, and bytes of them, that are held until rows are made of all: in turn, pairing and rows take a third more
time, for a processor's cache holds either."""


@dataclass(frozen=True)
class Making:
    """How rows are made: where the tables lie, which exchanges and which rows are wanted, by which run.

    `share` is how many bytes of exchanges a task makes rows of that pairs them too.
    """

    folder: str
    filters: Filters
    wanted: WantedRows
    share: int
    run: str = ""


class Here:
    """Takes the exchanges that a task has paired: makes rows of them, or packs them for another task."""

    def __init__(self, making: Making, tables: Tables, captures: Mapping[int, str]) -> None:
        self.pieces: Pieces = Pieces(making.folder)
        self._names, self._left = UserDict[UUID, str](), making.share
        self._captures, self._fits = captures, making.filters.check(self._names)
        self._rows = Rows(tables.add, making.wanted, self._names)
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
        take, make, fits = self._held.popleft, self._rows.exchange, self._fits
        while self._held:
            capture, exchange = take()
            api, request, response = exchange.api, exchange.request, exchange.response
            if api is not None and names_by_id(api, exchange.version):
                found = (topic for rows, _, _ in exchange.outlines() for topic, *_ in rows)
                if any(isinstance(topic, UUID) and topic not in self._names.data for topic in found):
                    self.pieces.add(capture, exchange, exchange.size)
                    continue
            if request is not None:
                request.names = MANY
            if response is not None:
                response.names = MANY
            if fits is None or fits(exchange):
                make(self._captures[capture], exchange)
        self._size = 0

    def close(self) -> dict[str, Any]:
        """Return the files of what was handed on, with their sizes, and the findings by kind of what was not."""
        self.flush()
        return {"pieces": self.pieces.close(), "problems": self._rows.problems}


class Pairer:
    """Takes all runs of a partition in the order of connections and packets; then `close` reports, in plain values."""

    def __init__(self, making: Making) -> None:
        self.captures: dict[int, str] = {}
        """The captures by their numbers; a name is there before the packets."""
        self.tables = Tables(making.folder, making.run)
        self._here = Here(making, self.tables, self.captures)
        self.counts: Counter[str] = Counter()
        self.topics: dict[UUID, str] = {}
        self._now: tuple[int, bytes] | None = None
        self._capture = -1
        self._key_logs = making.filters.tls_keys or ()
        self.keys = KeyLog()
        self._session = Engine()
        self._spoken = Connections(numbered=False)
        self._problems: Counter[str] = Counter()
        """Findings that belong to no exchange, by kind."""

    def take(self, capture: int, split: int, run: PacketRun) -> None:
        """Take the next packets of a connection, or the first of the next one; they are of a split of this number."""
        if (capture, run.key) != self._now:
            self._begin(capture)
            self._now = capture, run.key
            self._session = Engine(watch=self._spoken.watch, keys=self.keys)
        self._keep(self._session.receive_all(list(run.unpack())))
        self.counts["packets"] += run.size

    def whole(self, capture: int, parts: list[tuple[int, File, Split]]) -> list[dict[str, Any]]:
        """Take a whole capture, as `kdbg query` does: so all numbers and latencies are known.

        `parts` are its splits with their numbers; return what was read of each.
        """
        self._end()
        keys, read = KeyLog().use(self._key_logs), list[dict[str, Any]]()
        self._capture, self._spoken = capture, Connections()
        self._session = Engine(watch=self._spoken.watch, keys=keys)

        def blocks() -> Iterator[list[Packet]]:
            for number, file, split in parts:
                reading = SplitReading(file, split, keys=keys)
                for packets in reading.blocks():
                    self.counts["packets"] += len(packets)
                    yield packets
                read.append(reading.report | {"file": split.file, "split": number})

        for chunk in Timed(self._session, tcp=False).chunks(blocks()):
            self._keep(chunk, whole=True)
        self._end()
        self._session, self._spoken, self._capture = Engine(), Connections(numbered=False), -1
        return read

    def hear(self, capture: int, log: bytes) -> None:
        """Take a key log in a capture, before the packets of the capture."""
        self._begin(capture)
        self.keys.take(log)

    def _begin(self, capture: int) -> None:
        """End the connection; if it is not of this capture, begin this one."""
        self._end()
        if self._capture != capture:
            self.keys, self._capture = KeyLog().use(self._key_logs), capture

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

    def _keep(self, done: list[Exchange], *, whole: bool = False) -> None:
        """Take exchanges, and add the rows of connections that are over; of a `whole` capture none is yet."""
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
        if len(self._spoken) > 1 and not whole:
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
        """Add the rows of connections and their problems, `but` for the latest: ports of the others are used anew."""
        found = self._session.findings_by_connection()
        for number in list(self._spoken)[: len(self._spoken) - but]:
            spoken, findings = self._spoken.pop(number), found.get(number, [])
            spoken.tell(self.captures[self._capture], findings, self.tables.add)
            self._problems.update(finding.kind.value for finding in findings)
            self.counts["connections" if spoken.client is not None else "other_connections"] += 1
            self.counts["connection_packets"] += spoken.connection.packets
