"""What a copy of the first process does with parts of a capture: it reads them, and later works on their exchanges."""

from __future__ import annotations

import gc
import pickle
import struct
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...capture.packet import Packet, Piece, PieceCounts
from ..engine.names import Learner
from ..messages.exchange import Exchange
from ..messages.known import Known
from ..messages.serialization import Packed, Parcels
from .skipping import Skipped
from .speculation import Report, Speculated, Speculation

if TYPE_CHECKING:
    from ..jobs import ExchangePool, Show


class PieceSource(Protocol):
    """A capture that is read in pieces: see `Capture`, which is one."""

    packets: int

    def pieces(self, size: Callable[[], int]) -> Generator[Piece, None, None]: ...
    def read(self, piece: Piece) -> Iterator[list[Packet]]: ...
    def read_alone(self, piece: Piece, take: Callable[[list[Packet]], object]) -> PieceCounts: ...
    def add(self, counts: PieceCounts) -> None: ...
    def blocks(self) -> Iterator[list[Packet]]: ...


SIZE = struct.Struct("=Q")
COLLECT = 16
"""Parts after which garbage is collected."""


class Order(NamedTuple):
    """How the exchanges of a part are numbered: from `base` on, where no edge's exchange has the number.

    `part` is how many packets are before it. `names` are how many names of topic ids were known, each from an exchange
    of this number on.
    """

    part: int
    base: int
    skipped: dict[int, Skipped]
    names: list[tuple[int, int]]


def packed(piece: Piece, own: Sequence[bytes], oldest: int) -> list[bytes | memoryview]:
    """Return a part for a copy, as bytes in parts.

    `own` are the ids that are known of Kafka's own topics, `oldest` is the first part that a copy may have to work on.
    """
    head = pickle.dumps((piece._replace(data=b""), own, oldest))
    return [SIZE.pack(len(head)), head, piece.data]


class PartWork:
    """The `Splitter` of a pool, in its copies."""

    def __init__(self, capture: PieceSource, pool: ExchangePool, parcels: Parcels) -> None:
        self._capture, self._pool, self._parcels = capture, pool, parcels
        self._read: dict[int, Speculated] = {}
        self._made = 0

    def read(self, packed: bytes) -> Report:
        """Read a part; keep the exchanges in its spans."""
        gc.disable()  # it would look at all exchanges of a part again and again
        end = SIZE.size + SIZE.unpack_from(packed)[0]
        piece, own, oldest = pickle.loads(packed[SIZE.size : end])  # what `packed` made
        self._read = {part: found for part, found in self._read.items() if part >= oldest}
        speculation = Speculation()
        counts = self._capture.read_alone(piece._replace(data=memoryview(packed)[end:]), speculation.take)
        found = speculation.close()
        learner = Learner({})
        learner.own = own
        naming = [place for place, exchange in enumerate(found.exchanges) if learner.directions(exchange)]
        kept = Packed()
        for place in naming:
            kept.add(found.exchanges[place])
        numbers, common, data = kept.take()
        if found.spans:
            self._read[piece.before] = found._replace(edges=[])
        return Report(counts, found._replace(exchanges=[]), naming, (numbers, common, b"".join(data)))

    def make(self, packed: bytes, show: Show) -> Any:
        """Work on the exchanges of a part, those of its edges among them."""
        order, about, parcel = pickle.loads(packed)  # what `ExchangePool.make_part` made
        edges = self._parcels.unpack(parcel)
        exchanges = list(self._numbered(self._read.pop(order.part), edges, order))
        try:
            return self._pool.do_elsewhere(exchanges, about, show)
        finally:
            exchanges.clear()
            self._made += 1
            if not self._made % COLLECT:
                gc.collect()

    def _numbered(self, found: Speculated, edges: list[Exchange], order: Order) -> Iterator[Exchange]:
        """Yield the exchanges of a part in their order."""
        topics, searches = self._parcels.topics, self._parcels.searches
        known = {place: Known(topics, skipped.facts, searches) for place, skipped in order.skipped.items()}
        others, number = iter(edges), order.base
        other = next(others, None)
        changes = chain(order.names, ((1 << 62, 0),))
        (_, names), (next_change, next_names) = next(changes), next(changes)
        for exchange, place in zip(found.exchanges, found.spans_of, strict=True):
            skipped = order.skipped.get(place)
            if skipped is None:
                continue
            while other is not None and other.number == number:
                yield other
                other = next(others, None)
                number += 1
            while number >= next_change:
                names, (next_change, next_names) = next_names, next(changes)
            exchange.number, exchange.peers = number, skipped.peers
            for half in (exchange.request, exchange.response):
                assert half is not None
                half.known, half.names = known[place], names
            yield exchange
            number += 1
        while other is not None:
            yield other
            other = next(others, None)
