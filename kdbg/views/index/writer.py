"""Writes the index of a capture while it is read from its beginning to its end.

Packets and exchanges go in as they come. The bytes of a message are looked for in the packets that it came in: the
index has their places, and no bytes of messages.
"""

from __future__ import annotations

import json
import zlib
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...atomic import AtomicFile
from ...capture import Capture
from ...errors import KdbgError
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.mistakes import Searches
from ...protocol.findings import Finding, pack
from .cache import clean_up, environment, folder, identity, path_of
from .layout import COLUMNS, HALF, MAGIC, NO_HALF, PIECES, SAME, SIDES, TRAILER, Bounds, Counts, Summary, planes

if TYPE_CHECKING:
    from ...capture.pcap import RawPacket
    from ...exchanges.engine.driver import Pairing
    from ...exchanges.messages.peers import Peers

AT_ONCE = 2048
"""Exchanges of a block, at least, unless they are the last."""
LARGE = 4 << 20
"""Bytes of messages of a block, at least, unless they are few exchanges."""
BATCHES = 32
"""Batches of packets that are kept: a message of earlier packets has no place."""
HEADERS = 256
"""Bytes of a packet in which a message goes on."""
SURE = 16
"""Bytes that a message has in a packet, at least, unless they are its last."""
MOST_ROWS = 64
"""Partitions that one exchange may name; of more, the index does not say what it is about."""
MOST_SEARCHED = 500
"""Exchanges that may have been searched for mistakes: each question searches them again, as later results depend on
how many were searched before."""
LEVEL = 1
ABSENT = CapturedMessage(b"", (0, 0), (0, 0), "request")
"""Stands for the half that an exchange does not have."""
WHOLE = {CapturedMessage}


class Unfit(Exception):
    """The capture gets no index: the text says why."""


class IndexWriter:
    """Writes one index; `commit` makes it complete, `drop` leaves none."""

    def __init__(self, capture: Capture, searches: Searches, path: Path | None = None) -> None:
        found = identity(capture.source)
        if found is None:
            raise Unfit("it is compressed, or not a regular file")
        self._capture, self._identity, self._searches = capture, found, searches
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path: Path = path or path_of(found)
        self._file = AtomicFile(self.path, private=True).__enter__()
        self._file.write(MAGIC)
        self._end, self._crc = len(MAGIC), zlib.crc32(MAGIC)
        self._batches: deque[tuple[int, bytes, list[RawPacket], int]] = deque(maxlen=BATCHES)
        self._all_searched = self._first_number = 0
        self.exchanges = 0
        self._blocks: list[Bounds] = []
        self._begin()
        capture.batch = self._batch

    def _begin(self) -> None:
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
        self._pieces: list[list[tuple[int, int]]] = []
        self._held: list[Any] = []

    def _batch(self, data: bytes, raw: list[RawPacket]) -> None:
        capture = self._capture
        self._batches.append((capture.packets, data, raw, capture.source.stream.tell() - len(data)))

    def chunk(self, engine: Pairing, exchanges: Sequence[Exchange], found: Sequence[tuple[Peers, Finding]]) -> None:
        """Take exchanges that came together, and findings of connections that came with them."""
        self._found += [[len(self._chunks), peers, pack(finding)] for peers, finding in found]
        if not self._keys:
            self._first_number = exchanges[0].number
        kinds, searches, append = self._kinds, self._searches, self._keys.append
        for exchange in exchanges:  # with few calls, as it runs for every exchange of a capture
            count, facts, half = searches.count, exchange.facts(), exchange.request or exchange.response or ABSENT
            key = (
                facts, exchange.version, exchange.client_id, id(exchange.peers), id(exchange.api), id(half.known),
                half.names, exchange.answered,
            )  # fmt: skip
            number = kinds.get(key)
            if number is None or facts is None or exchange.findings or searches.count != count:
                number = self._kind_of(exchange, half, count)
                if facts is not None and not exchange.findings:
                    kinds[key] = number
            append(number)
        for name in "correlation_id", "repeats":
            self._columns[name].fromlist([getattr(one, name) for one in exchanges])
        for side in SIDES:
            halves = [getattr(one, side) or ABSENT for one in exchanges]
            data = [half.data for half in halves]
            sizes = [*map(len, data)]
            self._size += sum(sizes)
            times, firsts = [half.first_time for half in halves], [half.first_packet for half in halves]
            lasts = [half.last_packet for half in halves]
            numbers = (
                self._places(halves, data, firsts, lasts), sizes, times, [half.last_time for half in halves],
                firsts, lasts, [half.missing for half in halves],
            )  # fmt: skip
            for name, some in zip(HALF, numbers, strict=True):
                self._columns[f"{side}_{name}"].fromlist(some)
        self._chunks.append([len(exchanges), self._counts(engine)])
        self.exchanges += len(exchanges)
        if len(self._keys) >= AT_ONCE or self._size > LARGE:
            self._flush()

    def _counts(self, engine: Pairing) -> Counts:
        capture, lost = self._capture, self._capture.lost
        return Counts(
            capture.packets, engine.connections, engine.other_connections, None if lost is None else [*lost],
            [*map(pack, capture.problems)],
        )  # fmt: skip

    def _places(
        self, halves: Sequence[CapturedMessage], found: Sequence[bytes], firsts: list[int], lasts: list[int]
    ) -> list[int]:
        """Return where the bytes of messages are, given their bytes, first and last packets."""
        before, batch, raw, place = self._batches[-1]
        base, find = before + 1, batch.find
        if not {*map(type, halves)} <= WHOLE:
            raise Unfit("messages were given up to save memory")
        places = [
            place + find(data, raw[first - base][2]) if before < first == last else NO_HALF
            for data, first, last in zip(found, firsts, lasts, strict=True)
        ]
        if NO_HALF in places or place - 1 in places:
            for row, half in enumerate(halves):
                if places[row] in (NO_HALF, place - 1) and half is not ABSENT:
                    places[row] = self._place(half)
        return places

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

    def _place(self, half: CapturedMessage) -> int:
        """Return where the bytes of a message are, in one piece or in several."""
        data, first = half.data, half.first_packet
        if first == half.last_packet:
            for before, batch, raw, place in reversed(self._batches):
                if before < first <= before + len(raw):
                    _, _, start, end = raw[first - before - 1]
                    at = batch.find(data, start, end)
                    if at >= 0:
                        return place + at
                    break
        return self._place_pieces(half)

    def _place_pieces(self, half: CapturedMessage) -> int:
        data, found, at = half.data, list[tuple[int, int]](), -1
        packets = self._packets(half.first_packet, half.last_packet)
        while at < len(data) and at != (at := sum(size for _, size in found)):
            for batch, start, end, place in packets:
                sure = data[at : at + SURE]
                where = batch.find(sure, start, min(end, start + HEADERS) if found else end)
                size = min(end - where, len(data) - at)
                if where < 0 or (at + size < len(data) and size < SURE):
                    continue
                if batch[where : where + size] == data[at : at + size]:
                    found.append((place + where, size))
                    at += size
                    if at == len(data):
                        break
        if at != len(data) or not found:
            raise Unfit("a message is not in it as it was sent")
        if len(found) == 1:
            return found[0][0]
        self._pieces.append(found)
        return PIECES + 1 - len(self._pieces)

    def _packets(self, first: int, last: int) -> list[tuple[bytes, int, int, int]]:
        """Return the bytes, begin, end, and place of packets that are kept."""
        found: list[tuple[bytes, int, int, int]] = []
        for before, data, raw, place in reversed(self._batches):
            if before < last:
                some = raw[max(first - before - 1, 0) : last - before]
                found = [(data, start, end, place) for _, _, start, end in some] + found
            if before < first:
                break
        return found

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
            zlib.compress(json.dumps(self._pieces).encode(), LEVEL),
        ]
        end, sizes, is_read = self._end, [*map(len, parts)], bool(self._found or self._searched)
        bounds = _bounds(columns, count)
        first = self._first_number if count else 0
        self._blocks.append(Bounds(end, sizes, count, first, *bounds, dict(self._found_kinds), is_read))
        for part in parts:
            self._write(part)
        self._begin()

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._crc = zlib.crc32(data, self._crc)
        self._end += len(data)

    def commit(self, engine: Pairing, found: Sequence[tuple[Peers, Finding]]) -> None:
        """Make the index complete; `found` are the findings of connections after the last exchange."""
        self._flush()
        capture = self._capture
        if identity(capture.source) != self._identity:
            raise Unfit("the capture changed while it was read")
        summary = Summary(
            environment(), list(self._identity), capture.name, capture.bytes, capture.other, capture.first_time,
            capture.last_time, self.exchanges, [*self._counts(engine)],
            [[peers, pack(finding)] for peers, finding in found],
            [[str(topic), name] for topic, name in engine.topic_names.items()], self._blocks,
        )  # fmt: skip
        start, data = self._end, json.dumps(summary).encode()
        self._write(data)
        self._file.write(TRAILER.pack(start, len(data), self._crc))
        self._capture.batch = None
        self._file.__exit__(None)
        clean_up()

    def drop(self) -> None:
        """Leave no index."""
        self._capture.batch = None
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
    names = ("place", "first_time", "last_time", "first_packet", "last_packet")
    sides: list[list[Sequence[int]]] = [[columns[f"{side}_{name}"] for name in names] for side in SIDES]
    asked, answered = sides
    both = [row for row in range(count) if asked[0][row] != NO_HALF != answered[0][row]]
    slowest = max([answered[1][row] - asked[2][row] for row in both], default=-1)
    found = [row for side in sides for row in zip(*side, strict=True) if row[0] != NO_HALF]
    if not found:
        return 0, 0, -1, 1 << 62, 0
    _, times, _, firsts, lasts = zip(*found, strict=True)
    return min(times), max(times), slowest, min(firsts), max(lasts)


class Recorded:
    """Makes the exchanges that an engine makes, and writes the index of the capture that they are from.

    Where the capture gets no index, or that cannot be written, `problem` says why, and the exchanges come all the same.
    """

    problem: str = ""
    path: Path | None = None
    _writer: IndexWriter | None = None

    def __init__(self, engine: Any, capture: Capture, path: Path | None = None) -> None:
        self._engine: Pairing = engine
        with self._noting():
            self._writer = IndexWriter(capture, engine.known.searches, path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def chunks(self, blocks: Iterable[Any]) -> Iterator[list[Exchange]]:
        """Yield the exchanges that blocks complete."""
        findings, taken = self._engine.findings, 0
        try:
            for chunk in self._engine.chunks(blocks):
                with self._noting():
                    if self._writer is not None:
                        self._writer.chunk(self._engine, chunk, findings[taken:])
                yield chunk
                taken = len(findings)  # who takes them empties the list
            with self._noting():
                if self._writer is not None:
                    self._writer.commit(self._engine, findings[taken:])
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
