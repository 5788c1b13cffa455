"""Writes the index of a capture while it is read from its beginning to its end.

Packets and exchanges go in as they come. The bytes of a message are looked for in the packets that it came in: the
index has their places, and no bytes of messages.
"""

from __future__ import annotations

import json
import os
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import sub
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...atomic import AtomicFile
from ...capture import Capture
from ...capture.source import CHUNK
from ...errors import KdbgError
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.mistakes import Searches
from ...protocol.findings import Finding, pack
from . import checkpoint
from .cache import clean_up, environment, folder, identity, is_longer, path_of
from .layout import COLUMNS, HALF, MAGIC, NO_HALF, SAME, SIDES, TRAILER, Bounds, Counts, Summary, Unfit, planes
from .places import ABSENT, Places

if TYPE_CHECKING:
    from ...capture.pcap import RawPacket
    from ...exchanges.engine.engine import Engine
    from ...exchanges.messages.exchange import CapturedMessage

AT_ONCE = 2048
"""Exchanges of a block, at least, unless they are the last."""
LARGE = 4 << 20
"""Bytes of messages of a block, at least, unless they are few exchanges."""
MOST_ROWS = 64
"""Partitions that one exchange may name; of more, the index does not say what it is about."""
MOST_SEARCHED = 500
"""Exchanges that may have been searched for mistakes: each question searches them again, as later results depend on
how many were searched before."""
LEVEL = 1
Before = tuple[int, Summary, checkpoint.State]
"""The index of a capture when that was shorter, open; its summary, and the state of the reading then."""


class IndexWriter:
    """Writes one index; `commit` makes it complete, `drop` leaves none."""

    def __init__(self, capture: Capture, engine: Engine, path: Path | None = None) -> None:
        found = identity(capture.source)
        if found is None:
            raise Unfit("it is compressed, or not a regular file")
        self._capture, self._engine, self._identity = capture, engine, found
        self._searches: Searches = engine.known.searches
        self._places = Places(capture)
        self._end = self._crc = self._all_searched = self._first_number = self._read = self.exchanges = 0
        self.taken = 0
        """How many findings of the engine are taken already."""
        self._checkpoint: list[int] | None = None
        self._position: dict[str, Any] | None = None
        self._blocks: list[Bounds] = []
        self._clear()
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path: Path = path or path_of(found)
        self._file = AtomicFile(self.path, private=True).__enter__()

    def begin(self, before: Before | None) -> None:
        """Write what is before all blocks; or what another index has before its checkpoint."""
        if before is None:
            self._write(MAGIC)
            return
        file, summary, state = before
        end, _, blocks, self.exchanges, self._all_searched = summary.checkpoint or [0] * 5
        for place in range(0, end, CHUNK):
            self._write(os.pread(file, min(CHUNK, end - place), place))
        self._blocks += summary.blocks[:blocks]
        self._places.before.extend(state["before"])
        self._places.starts.extend(state["starts"])
        self._read, self.taken, self._position = state["read"], state["taken"], state["position"]

    def _clear(self) -> None:
        self._kinds: dict[Any, int] = {}
        self._rows: list[list[int]] = []
        self._shared: dict[Any, int] = {}
        self._in_common: list[list[Any]] = []
        self._about: dict[Any, int] = {}
        self._abouts: list[list[Any]] = []
        self._keys = array("I")
        self._columns = {name: array(code) for name, code in COLUMNS.items()}
        self._findings: dict[int, str] = {}
        self._searched: list[int] = []
        self._size = 0
        self._found_kinds: Counter[str] = Counter()
        self._chunks: list[list[Any]] = []
        self._found: list[list[Any]] = []
        self._places.pieces = []
        self._held: list[Any] = []

    def batch(self, data: bytes, raw: list[RawPacket]) -> None:
        """Take packets that the engine is about to take; keep its state if these may be the last ones."""
        read = self._capture.source.stream.tell()
        start = read - len(data)
        before, now = self._position, self._capture.position()
        self._position = now
        near = self._checkpoint is None and self._identity.size - read < CHUNK
        if near and before and now and before["state"] == now["state"]:  # which is that after these packets
            self._keep_state(start)
        self._places.add(data, raw, start)
        self._read = read

    def _keep_state(self, start: int) -> None:
        """Write the state of the reading after the packets so far; the next one begins there."""
        self._flush()
        known = self._places
        state = {
            "engine": self._engine, "taken": self.taken, "position": self._position, "read": self._read,
            "before": known.before.tolist(), "starts": [*known.starts[: len(known.before)], start],
        }  # fmt: skip
        with suppress(Unfit):
            data = checkpoint.dump(state, known.find)
            self._checkpoint = [self._end, len(data), len(self._blocks), self.exchanges, self._all_searched]
            self._write(data)

    def chunk(self, exchanges: Sequence[Exchange]) -> None:
        """Take exchanges that came together, with the findings of connections that came since the last ones."""
        found = self._engine.findings[self.taken :]
        self._found += [[len(self._chunks), peers, pack(finding)] for peers, finding in found]
        if not self._keys:
            self._first_number = exchanges[0].number
        kinds, searches, append = self._kinds, self._searches, self._keys.append
        count = searches.count
        for exchange in exchanges:  # with few calls, as it runs for every exchange of a capture
            facts, half = exchange.facts(), exchange.request or exchange.response or ABSENT
            key = (
                facts, exchange.version, exchange.client_id, id(exchange.peers), id(exchange.api), id(half.known),
                half.names, exchange.answered,
            )  # fmt: skip
            number = kinds.get(key)
            if number is None or facts is None or exchange.findings or searches.count != count:
                number = self._kind_of(exchange, half, count)
                count = searches.count
                if facts is not None and not exchange.findings:
                    kinds[key] = number
            append(number)
        for name in "correlation_id", "repeats":
            self._columns[name].fromlist([getattr(one, name) for one in exchanges])
        for side in SIDES:
            halves = [getattr(one, side) or ABSENT for one in exchanges]
            sizes = [len(half.data) for half in halves]
            self._size += sum(sizes)
            times, firsts = [half.first_time for half in halves], [half.first_packet for half in halves]
            lasts = [half.last_packet for half in halves]
            missing = [half.missing for half in halves]
            if any(missing) and not all(half.held for half in halves):
                raise Unfit("messages were given up to save memory")
            numbers = (
                self._places.of(halves, sizes, firsts, lasts), sizes, times, [half.last_time for half in halves],
                firsts, lasts, missing,
            )  # fmt: skip
            for name, some in zip(HALF, numbers, strict=True):
                self._columns[f"{side}_{name}"].fromlist(some)
        self._chunks.append([len(exchanges), self._counts()])
        self.exchanges += len(exchanges)
        if len(self._keys) >= AT_ONCE or self._size > LARGE:
            self._flush()

    def _counts(self) -> Counts:
        capture, engine, lost = self._capture, self._engine, self._capture.lost
        return Counts(
            capture.packets, engine.connections, engine.other_connections, None if lost is None else [*lost],
            [*map(pack, capture.problems)],
        )  # fmt: skip

    def _kind_of(self, exchange: Exchange, half: CapturedMessage, searched: int) -> int:
        """Return the number of what an exchange has in common with others of its block; see `_about_of`."""
        if exchange.peers.tls is not None:
            raise Unfit("it has decrypted connections")
        known, api = half.known, exchange.api
        key = id(exchange.peers), id(api), exchange.version, exchange.client_id, id(known)
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = len(self._in_common)
            number, facts = None if api is None else api.key, {} if known is None else known.facts
            self._in_common.append([0, exchange.peers, number, exchange.version, exchange.client_id, facts])
            self._held.append((exchange.peers, api, known))  # whose ids would otherwise be given to others
        self._rows.append([shared, self._about_of(exchange, searched), exchange.answered, half.names])
        return len(self._rows) - 1

    def _about_of(self, exchange: Exchange, searched: int) -> int:
        """Return the number of what an exchange is about in its block, before which so many messages were searched."""
        facts, findings = exchange.facts(), list[Finding]()
        outlines = list(facts) if facts is not None else exchange.outlines()
        if exchange.findings:
            self._findings[len(self._keys)] = json.dumps([*map(pack, exchange.findings)])
        if facts is None or exchange.findings:
            findings = exchange.all_findings(shallow=True)
        if self._searches.count > searched:
            self._searched.append(len(self._keys))
            self._all_searched += 1
            if self._all_searched > MOST_SEARCHED:
                raise Unfit("too many messages in it are invalid")
        key: list[Any] = []
        ids = False
        for rows, groups, codes in outlines:
            names = tuple([row[:3] for row in rows[: MOST_ROWS + 1]])
            key.append((names, tuple(groups), tuple(codes)))
            ids = ids or any(row[0].__class__ is UUID for row in names)
        whole = tuple(key), tuple(findings), exchange.names if ids else 0
        number = self._about.get(whole)
        if number is None:
            number = self._about[whole] = len(self._abouts)
            many = any(len(names) > MOST_ROWS for names, _, _ in key)
            self._abouts.append([None if many else _named(key), [*map(pack, findings)], whole[2]])
        for finding in findings:
            self._found_kinds[finding.kind] += 1
        return number

    def _flush(self) -> None:
        """Write a block of what has come."""
        count, columns = len(self._keys), self._columns
        if not count and not self._found:
            return
        nothing = array("q", bytes(8 * count))
        there = [
            name for name, found in columns.items()
            if name not in SAME or found != (columns[SAME[name]] if SAME[name] else nothing)
        ]  # fmt: skip
        about = [
            self._chunks, self._found, self._abouts, self._in_common, self._rows, self._findings, self._searched, there
        ]  # fmt: skip
        parts = [
            zlib.compress(json.dumps(about).encode(), LEVEL),
            _compressed(planes(self._keys)),
            _compressed(b"".join([planes(columns[name]) for name in there])),
            zlib.compress(json.dumps(self._places.pieces).encode(), LEVEL),
        ]
        end, sizes, is_read = self._end, [*map(len, parts)], bool(self._found or self._searched)
        bounds = _bounds(columns, count)
        first = self._first_number if count else 0
        self._blocks.append(Bounds(end, sizes, count, first, *bounds, dict(self._found_kinds), is_read))
        for part in parts:
            self._write(part)
        self._clear()

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._crc = zlib.crc32(data, self._crc)
        self._end += len(data)

    def commit(self) -> None:
        """Make the index complete."""
        self._flush()
        capture, engine, now = self._capture, self._engine, identity(self._capture.source)
        if now != self._identity and not (self._checkpoint and is_longer(capture.source, self._identity)):
            raise Unfit("the capture changed while it was read")
        summary = Summary(
            environment(), list(self._identity), capture.name, capture.bytes, capture.other, capture.first_time,
            capture.last_time, self.exchanges, [*self._counts()],
            [[peers, pack(finding)] for peers, finding in engine.findings[self.taken :]],
            [[str(topic), name] for topic, name in engine.topic_names.items()], self._blocks, self._checkpoint,
        )  # fmt: skip
        start, data = self._end, json.dumps(summary).encode()
        self._write(data)
        self._file.write(TRAILER.pack(start, len(data), self._crc))
        self._file.__exit__(None)
        clean_up()

    def drop(self) -> None:
        """Leave no index."""
        self._file.__exit__(Unfit)


def _named(outlines: Sequence[Any]) -> list[Any]:
    """Return outlines as JSON has them: a topic's id in a list, to tell it from a name."""
    return [
        [[[[str(topic)] if isinstance(topic, UUID) else topic, *rest] for topic, *rest in rows], groups, codes]
        for rows, groups, codes in outlines
    ]


def _compressed(data: bytes) -> bytes:
    """Return the bytes of columns compressed: most are runs of the same byte."""
    found = zlib.compressobj(LEVEL, strategy=zlib.Z_RLE)
    return found.compress(data) + found.flush()


def _bounds(columns: dict[str, array[int]], count: int) -> tuple[int, int, int, int, int]:
    """Return what the exchanges of a block lie between, as `Bounds` has it from `first_time` to `last_packet`."""
    names = "place", "first_time", "last_time", "first_packet", "last_packet"
    sides: list[list[Sequence[int]]] = [[columns[f"{side}_{name}"] for name in names] for side in SIDES]
    asked, answered = sides
    if any(NO_HALF in side[0] for side in sides):
        both = [row for row in zip(*asked, *answered, strict=True) if row[0] != NO_HALF != row[5]]
        latencies = [row[6] - row[2] for row in both]
        sides = [[*zip(*[row for row in zip(*side, strict=True) if row[0] != NO_HALF], strict=True)] for side in sides]
    else:
        latencies = [*map(sub, answered[1], asked[2])]
    found = [side for side in sides if side and side[0]]
    if not found:
        return 0, 0, -1, 1 << 62, 0
    _, times, _, firsts, lasts = zip(*found, strict=True)
    return (
        min(map(min, times)), max(map(max, times)), max(latencies, default=-1), min(map(min, firsts)),
        max(map(max, lasts)),
    )  # fmt: skip


class Recorded:
    """Makes the exchanges that an engine makes, and writes the index of the capture that they are from.

    Where the capture gets no index, or that cannot be written, `problem` says why, and the exchanges come all the same.
    """

    problem: str = ""
    path: Path | None = None
    _writer: IndexWriter | None = None

    def __init__(
        self, engine: Any, capture: Capture, path: Path | None = None, *, before: Before | None = None
    ) -> None:
        self._engine: Engine = engine
        with self._noting():
            self._writer = IndexWriter(capture, engine, path)
            self._writer.begin(before)
            capture.batch = self._batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def _batch(self, data: bytes, raw: list[RawPacket]) -> None:
        if self._writer is not None:
            with self._noting():
                self._writer.batch(data, raw)

    def chunks(self, blocks: Iterable[Any]) -> Iterator[list[Exchange]]:
        """Yield the exchanges that blocks complete."""
        try:
            for chunk in self._engine.chunks(blocks):
                if self._writer is not None:
                    with self._noting():
                        self._writer.chunk(chunk)
                yield chunk
                if self._writer is not None:
                    self._writer.taken = len(self._engine.findings)  # who takes them empties the list
            if self._writer is not None:
                with self._noting():
                    self._writer.commit()
                    self.path, self._writer = self._writer.path, None
        finally:
            self._drop()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Give up the index where it cannot be written."""
        try:
            yield
        except (Unfit, KdbgError, OSError, OverflowError) as error:
            self.problem = str(error)
            self._drop()

    def _drop(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.drop()
