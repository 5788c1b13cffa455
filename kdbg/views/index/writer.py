"""Writes the index of a capture while it is read from its beginning to its end.

Packets and exchanges go in as they come. The bytes of a message are looked for in the packets that it came in: where
they are there, the index has their place; otherwise, as of IP fragments and of segments that came twice, the bytes.
"""

from __future__ import annotations

import json
import zlib
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from marshal import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from ...atomic import AtomicFile
from ...capture import Capture
from ...errors import KdbgError
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.mistakes import Searches
from ...exchanges.messages.serialization import NUMBERS, Packed
from ...protocol.findings import Finding, pack
from .cache import clean_up, environment, identity, make_folder, path_of
from .layout import (
    COUNT,
    KEPT,
    MAGIC,
    NO_HALF,
    PIECE,
    PIECES,
    TRAILER,
    Bounds,
    Columns,
    Summary,
    column,
    columns,
    planes,
)

if TYPE_CHECKING:
    from ...capture.source import Batch
    from ...exchanges.engine.driver import Pairing
    from ...exchanges.messages.peers import Peers

AT_ONCE = 2048
"""Exchanges of a block, at least, unless they are the last."""
LARGE = 4 << 20
"""Bytes of messages of a block, at least, unless they are few exchanges."""
BATCHES = 16
"""Batches of packets that are kept; a message of earlier packets is stored itself."""
HEADERS = 256
"""Bytes of a packet in which a message goes on."""
SURE = 16
"""Bytes that a message has in a packet, at least, unless they are its last."""
MOST_ROWS = 64
"""Partitions that one exchange may name; of more, the index does not say what it is about."""
MOST_SEARCHED = 500
"""Exchanges that may have been searched for mistakes: each question searches them again, as later results depend on
how many were searched before."""
SHARE, FREE = 8, 1 << 20
"""Stored bytes of messages may be one part in so many of the capture, beyond the first ones."""
LEVEL = 1


class Unfit(Exception):
    """The capture gets no index: the text says why."""


class IndexWriter:
    """Writes one index; `commit` makes it complete, `drop` leaves none."""

    def __init__(self, capture: Capture, searches: Searches, path: Path | None = None) -> None:
        found = identity(capture.source)
        if found is None:
            raise Unfit("it is compressed, or not a regular file")
        self._capture, self._identity, self._searches = capture, found, searches
        make_folder()
        self.path: Path = path or path_of(found)
        self._end = self._crc = 0
        with ExitStack() as undo:
            self._file = undo.enter_context(AtomicFile(self.path, private=True))
            self._write(MAGIC)
            self._undo = undo.pop_all()
        self._batches: deque[tuple[int, Batch]] = deque(maxlen=BATCHES)
        self._stored = self._all_searched = 0
        self.exchanges = 0
        self._blocks: list[Bounds] = []
        self._begin()
        capture.batch = self._batch

    def _begin(self) -> None:
        self._packed = Packed()
        self._about: dict[Any, int] = {}
        self._abouts: list[list[Any]] = []
        self._keys = array("I")
        self._quick: dict[bytes, int] = {}
        self._asked, self._answered = array("q"), array("q")
        self._findings: dict[int, str] = {}
        self._searched: list[int] = []
        self._size = 0
        self._kinds: Counter[str] = Counter()
        self._chunks: list[int] = []
        self._found: list[list[Any]] = []
        self._kept: list[bytes] = []
        self._kept_size = 0

    def _batch(self, before: int, batch: Batch) -> None:
        self._batches.append((before, batch))

    def chunk(self, exchanges: Sequence[Exchange], found: Sequence[tuple[Peers, Finding]]) -> None:
        """Take exchanges that came together, and findings of connections that came with them."""
        self._found += [[len(self._chunks), peers, pack(finding)] for peers, finding in found]
        add, keys, quick, searches = self._packed.add, self._keys, self._quick, self._searches
        before, (batch, raw, place) = self._batches[-1]
        size = 0
        for exchange in exchanges:  # one loop with few calls, as it runs for every exchange of a capture
            add(exchange)
            count, facts, key = searches.count, exchange.facts(), b""
            if facts is not None and not exchange.findings:
                with suppress(ValueError):  # topics by their ids
                    key = dumps(cast(Any, facts), 2)
            number = quick.get(key, -1) if key else -1
            if number < 0:
                number = self._about_of(exchange, count)
                if key:
                    quick[key] = number
            keys.append(number)
            for half, places in ((exchange.request, self._asked), (exchange.response, self._answered)):
                if half is None:
                    places.append(NO_HALF)
                    continue
                size += len(half.data)
                first = half.first_packet
                if before < first == half.last_packet and half.known is not None and half.__class__ is CapturedMessage:
                    _, _, start, end = raw[first - before - 1]
                    at = batch.find(half.data, start, end)
                    if at >= 0:
                        places.append(place + at)
                        continue
                places.append(self._place(half))
        self._size += size
        self._chunks.append(len(exchanges))
        self.exchanges += len(exchanges)
        if len(self._keys) >= AT_ONCE or self._size > LARGE:
            self._flush()

    def _about_of(self, exchange: Exchange, searched: int) -> int:
        """Return the number of what an exchange is about in its block, before which so many messages were searched."""
        facts, findings = exchange.facts(), list[Finding]()
        outlines = list(facts) if facts is not None else exchange.outlines()
        if exchange.peers.tls is not None:
            raise Unfit("it has decrypted connections")
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
            self._kinds[finding.kind] += 1
        return number

    def _place(self, half: CapturedMessage) -> int:
        """Return where the bytes of a message are, as `HALVES` has it."""
        if half.__class__ is not CapturedMessage or (half.api is not None and half.known is None):
            raise Unfit("messages were given up to save memory")
        data, number = half.data, half.first_packet
        for before, (found, raw, place) in reversed(self._batches):
            if before < number <= before + len(raw):
                if half.last_packet == number:
                    _, _, start, end = raw[number - before - 1]
                    at = found.find(data, start, end)
                    if at >= 0:
                        return place + at
                break
        return self._place_pieces(half)

    def _place_pieces(self, half: CapturedMessage) -> int:
        pieces = self._pieces(half) if half.last_packet > half.first_packet else None
        if pieces is None:
            self._stored += len(half.data)
            if self._stored > FREE + self._identity.size // SHARE:
                raise Unfit("too many messages are not in it as they were sent")
            return KEPT - 2 * self._keep(half.data)
        return PIECES - 2 * self._keep(COUNT.pack(len(pieces)) + b"".join([PIECE.pack(*piece) for piece in pieces]))

    def _keep(self, data: bytes) -> int:
        place = self._kept_size
        self._kept.append(data)
        self._kept_size += len(data)
        return place

    def _pieces(self, half: CapturedMessage) -> list[tuple[int, int]] | None:
        """Return the places and lengths that make up the bytes of a message; None where they are not all there."""
        data, found, at = half.data, list[tuple[int, int]](), 0
        left = 64 + len(data) // 64
        for batch, start, end, place in self._packets(half.first_packet, half.last_packet):
            left -= 1
            if left < 0:
                break
            sure = data[at : at + SURE]
            where = batch.find(sure, start, end if not at else min(end, start + HEADERS))
            if where < 0:
                continue
            size = min(end - where, len(data) - at)
            if batch[where : where + size] != data[at : at + size] or (at + size < len(data) and size < SURE):
                continue
            found.append((place + where, size))
            at += size
            if at == len(data):
                return found
        return None

    def _packets(self, first: int, last: int) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield the bytes, begin, end, and place of packets that are kept."""
        for before, (data, raw, place) in [*self._batches]:
            for number in range(max(first, before + 1), min(last, before + len(raw)) + 1):
                _, _, start, end = raw[number - before - 1]
                yield data, start, end, place

    def _flush(self) -> None:
        """Write a block of what has come."""
        count = len(self._keys)
        if not count and not self._found:
            return
        numbers, common, _ = self._packed.take()
        found = planes(numbers, NUMBERS.size) + planes(self._asked.tobytes(), 8) + planes(self._answered.tobytes(), 8)
        about = [self._chunks, self._found, self._abouts, common.decode(), self._findings, self._searched]
        parts = [
            zlib.compress(part, LEVEL)
            for part in (
                json.dumps(about).encode(),
                column(found, count, 0, "I").tobytes() + self._keys.tobytes(),
                found,
                b"".join(self._kept),
            )
        ]
        bounds = _bounds(columns(found, count), count)
        end, sizes, is_read = self._end, [*map(len, parts)], bool(self._found or self._searched)
        self._blocks.append(Bounds(end, sizes, count, *bounds, dict(self._kinds), is_read))
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
        capture, lost = self._capture, self._capture.lost
        if identity(capture.source) != self._identity:
            raise Unfit("the capture changed while it was read")
        summary = Summary(
            environment(), list(self._identity), capture.name, capture.packets, capture.bytes, capture.other,
            capture.first_time, capture.last_time, None if lost is None else list(lost),
            [*map(pack, capture.problems)], self.exchanges, engine.connections, engine.other_connections,
            [[peers, pack(finding)] for peers, finding in found],
            [[str(topic), name] for topic, name in engine.topic_names.items()], self._blocks,
        )  # fmt: skip
        start, data = self._end, json.dumps(summary).encode()
        self._write(data)
        self._file.write(TRAILER.pack(start, len(data), self._crc))
        self._capture.batch = None
        self._undo.close()
        clean_up()

    def drop(self) -> None:
        """Leave no index."""
        self._capture.batch = None
        with suppress(_Dropped), self._undo:
            raise _Dropped


class _Dropped(Exception):
    """Makes the file that is not complete go away."""


def _named(outlines: Sequence[Any]) -> list[Any]:
    """Return outlines as JSON has them: a topic's id in a list, to tell it from a name."""
    return [
        [[[[str(topic)] if isinstance(topic, UUID) else topic, *rest] for topic, *rest in rows], groups, codes]
        for rows, groups, codes in outlines
    ]


def _bounds(found: Columns, count: int) -> tuple[int, int, int, int, int, int]:
    """Return what the exchanges of a block lie between, as `Bounds` has it from `first_number` to `last_packet`."""
    if not count:
        return 0, 0, 0, -1, 1 << 62, 0
    asked = [row for row, size in enumerate(found.asked) if size >= 0]
    answered = [row for row, size in enumerate(found.answered) if size >= 0]
    times = [found.first_time[row] for row in asked]
    if len(asked) < count:
        times += [found.answered_at[row] for row in answered if found.asked[row] < 0]
    both = answered if len(asked) == count else [row for row in answered if found.asked[row] >= 0]
    slowest = max([found.answered_at[row] - found.asked_until[row] for row in both], default=-1)
    firsts = [found.asked_packet[row] for row in asked] + [found.answered_packet[row] for row in answered]
    lasts = max(found.asked_last), max(found.answered_last)
    return found.number[0], min(times, default=0), max(times, default=0), slowest, min(firsts), max(lasts)


class Recorded:
    """Makes the exchanges that an engine makes, and writes the index of the capture that they are from.

    Where the capture gets no index, or that cannot be written, `problem` says why, and the exchanges come all the same.
    """

    problem: str = ""
    path: Path | None = None

    def __init__(self, engine: Any, capture: Capture, path: Path | None = None) -> None:
        self._engine: Pairing = engine
        self._writer: IndexWriter | None = None
        try:
            self._writer = IndexWriter(capture, engine.known.searches, path)
        except (Unfit, KdbgError, OSError) as error:
            self.problem = str(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def chunks(self, blocks: Iterable[Any]) -> Iterator[list[Exchange]]:
        """Yield the exchanges that blocks complete."""
        findings = self._engine.findings
        told = 0
        try:
            for chunk in self._engine.chunks(blocks):
                self._try(partial(IndexWriter.chunk, exchanges=chunk, found=findings[told:]))
                yield chunk
                told = len(findings)  # who takes them empties the list
            self._try(partial(IndexWriter.commit, engine=self._engine, found=findings[told:]))
            if self._writer is not None:
                self.path, self._writer = self._writer.path, None
        finally:
            self._drop()

    def _try(self, write: Callable[[IndexWriter], None]) -> None:
        """Have something written; give up the index where that fails."""
        if self._writer is not None:
            try:
                write(self._writer)
            except (Unfit, KdbgError, OSError) as error:
                self.problem = str(error)
                self._drop()

    def _drop(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.drop()
