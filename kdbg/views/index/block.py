"""A block of an index: some exchanges, described by columns, and read from the capture where they are wanted."""

from __future__ import annotations

import json
import os
import struct
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from ...errors import CaptureError
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.mistakes import Searches
from ...exchanges.messages.peers import Peers
from ...exchanges.messages.serialization import NUMBERS, in_common, peers_of, unpack
from ...protocol.findings import Finding
from ...protocol.findings import unpack as unpack_finding
from ...protocol.wire.readings.outline import Outline
from .layout import COUNT, HALVES, KEPT, NO_HALF, PIECE, PIECES, Bounds, Columns, columns

PLACE = struct.Struct("<I")
"""What a row begins with: the place of what its exchange has in common with others."""
AT_ONCE, LARGE = 64, 4 << 20
"""Exchanges that are read at once, at most, and bytes of their messages."""


class Described(Exchange):
    """An exchange without its messages: who spoke, what it is about, what was found in it."""

    about: Sequence[Outline]
    found: list[Finding]

    def outlines(self) -> list[Outline]:
        """Return what the halves are about."""
        return list(self.about)

    def all_findings(self, *, shallow: bool = False) -> list[Finding]:
        """Return the findings of the exchange and of its messages."""
        return self.found


class Block:
    """Some exchanges of an index."""

    def __init__(self, file: int, bounds: Bounds, capture: int, topics: dict[UUID, str], searches: Searches) -> None:
        self.bounds, self._capture, self._topics, self._searches = bounds, capture, topics, searches
        start = bounds.start
        self.searched: list[int]
        self._parts: list[bytes] = []
        for size in bounds.sizes:
            self._parts.append(os.pread(file, size, start))
            start += size
        self.chunks: list[int]
        self.chunks, found, self._abouts, common, self._own, self.searched = json.loads(zlib.decompress(self._parts[0]))
        self._commons: list[Any] = json.loads(common)
        self.found: list[tuple[int, Peers, Finding]] = [
            (chunk, peers_of(peers), unpack_finding(packed)) for chunk, peers, packed in found
        ]
        keys = array("I")
        keys.frombytes(zlib.decompress(self._parts[1]))
        self.shared, self.abouts = keys[: bounds.exchanges], keys[bounds.exchanges :]
        self._stored = self._kept = b""

    @property
    def stored(self) -> bytes:
        """The rows, as `planes` has them."""
        if not self._stored:
            self._stored = zlib.decompress(self._parts[2])
            self._kept = zlib.decompress(self._parts[3])
        return self._stored

    def columns(self) -> Columns:
        """Return the numbers of all exchanges."""
        return columns(self.stored, self.bounds.exchanges)

    def kinds(self, rows: Iterable[int]) -> Counter[str]:
        """Return how many findings of each kind exchanges have."""
        found: Counter[str] = Counter()
        odd = {at: about[1] for at, about in enumerate(self._abouts) if about[1]}
        if odd:
            for row in rows:
                found.update(packed[0] for packed in odd.get(self.abouts[row], ()))
        return found

    def described(self, shared: int, about: int) -> Described | None:
        """Return exchanges that have this in common as one; None where the index does not say what they are about."""
        outlines, findings, _ = self._abouts[about]
        if outlines is None:
            return None
        _, peers, api, version, client_id, _ = in_common(self._commons[shared], self._topics, self._searches)
        one = Described(peers, api, version, 0, client_id)
        one.about = [
            (
                [(UUID(topic[0]) if isinstance(topic, list) else topic, *rest, None) for topic, *rest in rows],
                groups,
                codes,
            )
            for rows, groups, codes in outlines
        ]
        one.found = [*map(unpack_finding, findings)]
        return one

    def names(self, about: int) -> int:
        """Return how many names of topic ids were known, where topics are given by their ids."""
        found: int = self._abouts[about][2]
        return found

    def exchanges(self, rows: Sequence[int]) -> Iterator[Exchange]:
        """Yield exchanges as they were read from the capture."""
        count, stored, size = self.bounds.exchanges, self.stored, NUMBERS.size
        numbers, data, used, held = list[bytes](), list[bytes](), dict[int, int](), 0
        for at, row in enumerate(rows, 1):
            one = stored[row::count]
            numbers.append(PLACE.pack(used.setdefault(self.shared[row], len(used))) + one[PLACE.size : size])
            for place, length in zip(HALVES.unpack_from(one, size), (one[25:33], one[73:81]), strict=True):
                if place != NO_HALF:
                    data.append(self._bytes(place, int.from_bytes(length, "little")))
                    held += len(data[-1])
            if (own := self._own.get(str(row))) is not None:
                data.append(own.encode())
            if len(numbers) >= AT_ONCE or held >= LARGE or at == len(rows):
                common = json.dumps([self._commons[shared] for shared in used]).encode()
                found = unpack(b"".join(numbers), common, b"".join(data), self._topics, 0, self._searches)
                yield from (exchange for _, exchange in found)
                numbers, data, used, held = [], [], {}, 0

    def _bytes(self, place: int, size: int) -> bytes:
        """Return the bytes of a message."""
        if place >= 0:
            return self._read(place, size)
        if place % 2 == KEPT % 2:
            at = (KEPT - place) // 2
            return self._kept[at : at + size]
        at = (PIECES - place) // 2
        (many,) = COUNT.unpack_from(self._kept, at)
        pieces = (PIECE.unpack_from(self._kept, at + COUNT.size + one * PIECE.size) for one in range(many))
        return b"".join([self._read(*piece) for piece in pieces])

    def _read(self, place: int, size: int) -> bytes:
        data = os.pread(self._capture, size, place)
        if len(data) != size:
            raise CaptureError("the capture", "became shorter while it was read", "read it again")
        return data


def _topic(packed: Any) -> Any:
    """Return the topic that JSON has: by its name, or by its id in a list."""
    return UUID(packed[0]) if isinstance(packed, list) else packed
