"""One capture decoded by several processes, as if one had: what reads it in the first of them.

The capture is read in parts. A copy of this process decodes what of a part needs nothing from before (speculation.py);
this process feeds an engine the rest, in order, and skips what was decoded (skipping.py). So it knows the number of
every exchange, and has the copy work on the part, with the exchanges that were paired here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from ...capture.packet import Packet, Piece
from ..engine.conversation import Run
from ..engine.engine import Engine
from ..jobs import ExchangePool
from ..messages.exchange import Exchange
from ..messages.serialization import unpack
from .parts import Order, PartWork, PieceSource, packed
from .skipping import Skipping, may_skip
from .speculation import Report

FIRST, PART, MOST_PART = 1 << 18, 1 << 20, 8 << 20
"""Bytes of the first part, which is read before there are copies, of the next ones, and of the largest."""
MANY_EDGES, MOST_EDGES = 0.05, 0.5
"""Share of edges in a part above which the next ones are larger, and have fewer; above which it is read here alone."""
FUTILE = 4
"""After so many of the largest parts in a row that are read here alone, all the rest is."""


@dataclass(eq=False)
class _Part:
    """A part of the capture that a copy was given: `own` is how many ids of Kafka's own topics were known then."""

    piece: Piece
    copy: int
    own: int
    skipping: Skipping | None = None
    is_over: bool = False
    last: int = 0
    """The number of the last exchange that was decoded by the copy, as far as they are numbered."""


class SplitReading:
    """Gives a capture to an engine from now on; `pool` takes the exchanges that are yielded."""

    def __init__(self, engine: Engine, capture: PieceSource, pool: ExchangePool) -> None:
        self._engine, self._capture, self._pool = engine, capture, pool
        pool.splitter = PartWork(capture, pool, pool.parcels)
        self._parts: deque[_Part] = deque()
        """Those of which not all exchanges are numbered, or made anything of."""
        self._size = FIRST
        self._next = 0
        """The number of the first exchange that no copy works on yet."""
        self._names: list[tuple[int, int]] = [(0, 0)]

    def chunks(self, blocks: Iterable[Sequence[Packet]]) -> Iterator[list[Exchange]]:
        """Yield the exchanges that are paired here; `blocks` are not needed, as the capture is read in parts."""
        engine, pieces = self._engine, self._capture.pieces(lambda: self._size)
        for piece in pieces:
            self._size = PART
            for packets in self._capture.read(piece):
                if packets and (chunk := engine.receive_all(packets)):
                    yield chunk
            if engine.count:
                break
        if (following := next(pieces, None)) is not None:
            yield from self._split(following, pieces)
        for packets in self._capture.blocks():
            if chunk := self._paired(engine.pair(packets)):
                yield chunk
            self._make()
        if left := self._paired(engine.end()):
            yield left
        self._make()
        self._pool.end_split()

    def _split(self, first: Piece, pieces: Generator[Piece, None, None]) -> Iterator[list[Exchange]]:
        """Yield the exchanges that are paired here, of all that can be read in parts."""
        engine, copies = self._engine, self._pool.begin_split()
        self._next, self._names = engine.count + 1, [(0, len(engine.topic_names))]
        for part in self._given(chain((first,), pieces), copies):
            for packets in self._blocks(part):
                if packets and (chunk := self._paired(engine.pair(packets))):
                    yield chunk
            if isinstance(part, _Part):
                part.is_over = True
            self._make()
        pieces.close()

    def _given(self, pieces: Iterator[Piece], copies: int) -> Iterator[_Part | Piece]:
        """Yield the parts in order, once copies read the next ones; the packets of those that no copy reads."""
        given = deque[_Part | Piece]()
        futile = number = 0
        while True:
            # one part each: its exchanges should still be in the processor's cache when they are worked on
            for piece in islice(pieces, copies - len(given) if futile < FUTILE else 0):
                if piece.taken is not None:
                    given.append(piece)
                    continue
                own = self._engine.own_topics
                oldest = self._parts[0].piece.before if self._parts else self._capture.packets
                self._pool.read_part(number % copies, packed(piece, own, oldest))
                given.append(_Part(piece, number % copies, len(own)))
                number += 1
            if not given:
                return
            part = given.popleft()
            yield part
            if isinstance(part, _Part) and 2 * len(part.piece.data) > MOST_PART:
                futile = futile + 1 if part.skipping is None else 0

    def _blocks(self, part: _Part | Piece) -> Iterable[list[Packet]]:
        """Return the packets of a part that are given to the engine, which skips the others."""
        engine, capture = self._engine, self._capture
        if isinstance(part, Piece):
            return capture.read(part)
        report: Report = self._pool.report(part.copy)
        piece, counts = part.piece, report.counts
        edges = len(report.found.edges) / counts.packets
        if edges > MANY_EDGES:
            self._size = max(self._size, min(2 * len(piece.data), MOST_PART))
        if part.own != len(engine.own_topics) or counts.fragments or not may_skip(engine) or edges > MOST_EDGES:
            return capture.read(piece)
        capture.add(counts)
        unpacked = (exchange for _, exchange in unpack(*report.naming_packed, topics=engine.topic_names))
        naming = dict(zip(report.naming, unpacked, strict=True))

        def read() -> list[Packet]:
            capture.read_alone(piece, (found := list[Packet]()).extend)
            return found

        part.skipping = Skipping(engine, report.found, naming, read)
        self._parts.append(part)
        return part.skipping.blocks()

    def _paired(self, final: Sequence[Exchange]) -> list[Exchange]:
        """Give final exchanges their numbers; return those that were paired here."""
        engine, paired = self._engine, list[Exchange]()
        start = 0
        for place, exchange in enumerate(final):
            if exchange.peers.number:
                continue
            paired += self._numbered(final[start:place])
            start = place + 1
            if isinstance(exchange, Run):
                many = exchange.count
                engine.count += many
                engine.outbox.runs -= many - 1
            else:  # it may contain names
                self._numbered([exchange])
                many = 1
            while many:
                part = next(part for part in self._parts if part.skipping is not None and part.skipping.left)
                assert part.skipping is not None
                of_part = min(many, part.skipping.left)
                part.skipping.left -= of_part
                many -= of_part
                part.last = engine.count - many
        return paired + self._numbered(final[start:])

    def _numbered(self, final: Sequence[Exchange]) -> list[Exchange]:
        """Give exchanges their numbers; note after which of them more names of topic ids are known."""
        numbered = self._engine.number([*final])
        for exchange in numbered:
            half = exchange.response or exchange.request
            if half is not None and half.names != self._names[-1][1]:
                self._names.append((exchange.number, half.names))
        return numbered

    def _make(self) -> None:
        """Have copies work on the parts all of whose exchanges are numbered."""
        while self._parts:
            part = self._parts[0]
            if (skipping := part.skipping) is None or not part.is_over or skipping.left:
                return
            self._parts.popleft()
            if not part.last:
                continue
            names = [one for one in self._names if one[0] <= part.last]
            order = Order(part.piece.before, self._next, skipping.skipped, names)
            self._pool.make_part(part.copy, part.last, order)
            self._names = self._names[len(names) - 1 :]
            self._next = part.last + 1
        self._pool.give_held()
        self._next, self._names = self._engine.count + 1, self._names[-1:]
