"""A block of an index: some exchanges, described by columns, and read from the capture where they are wanted."""

from __future__ import annotations

import json
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any
from uuid import UUID

from ...errors import CaptureError
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.mistakes import Searches
from ...exchanges.messages.peers import Peers
from ...exchanges.messages.serialization import NO_HALF as NOTHING
from ...exchanges.messages.serialization import NUMBERS, in_common, peers_of, unpack
from ...protocol.findings import Finding
from ...protocol.findings import unpack as unpack_finding
from ...protocol.wire.readings.outline import Outline
from .layout import HALF, NO_HALF, PIECES, SIDES, Bounds, Columns, Counts, column

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
        self._parts: list[bytes] = []
        for size in bounds.sizes:
            self._parts.append(os.pread(file, size, start))
            start += size
        self.kinds: list[list[int]]
        """The numbers of each kind: of what is shared, of what it is about, whether it is answered, names known."""
        self.searched: list[int]
        chunks, found, self._abouts, self._commons, self.kinds, self._own, self.searched, self._there = json.loads(
            zlib.decompress(self._parts[0])
        )
        self.chunks: list[tuple[int, Counts]] = [(size, Counts(*counts)) for size, counts in chunks]
        self.found: list[tuple[int, Peers, Finding]] = [
            (chunk, peers_of(peers), unpack_finding(packed)) for chunk, peers, packed in found
        ]
        self.keys = column(zlib.decompress(self._parts[1]), bounds.exchanges, 0, "I")
        """The kind of each exchange."""

    @cached_property
    def columns(self) -> Columns:
        """The numbers of all exchanges."""
        return Columns(zlib.decompress(self._parts[2]), self.bounds.exchanges, self._there)

    @cached_property
    def _pieces(self) -> list[list[tuple[int, int]]]:
        found: list[list[tuple[int, int]]] = json.loads(zlib.decompress(self._parts[3]))
        return found

    def found_kinds(self, rows: Iterable[int]) -> Counter[str]:
        """Return how many findings of each kind exchanges have."""
        found: Counter[str] = Counter()
        odd = {at: kinds for at, one in enumerate(self.kinds) if (kinds := self._abouts[one[1]][1])}
        if odd:
            for row in rows:
                found.update(packed[0] for packed in odd.get(self.keys[row], ()))
        return found

    def described(self, kind: int) -> Described | None:
        """Return exchanges of a kind as one; None where the index does not say what they are about."""
        shared, about, _, _ = self.kinds[kind]
        outlines, findings, _ = self._abouts[about]
        if outlines is None:
            return None
        _, peers, api, version, client_id, _ = in_common(self._commons[shared], self._topics, self._searches)
        one = Described(peers, api, version, 0, client_id)
        one.about = [
            ([(_topic(topic), *rest, None) for topic, *rest in rows], groups, codes) for rows, groups, codes in outlines
        ]
        one.found = [*map(unpack_finding, findings)]
        return one

    def exchanges(self, rows: Sequence[int]) -> Iterator[Exchange]:
        """Yield exchanges as they were read from the capture."""
        numbers, data, used, held = list[bytes](), list[bytes](), dict[int, int](), 0
        columns = self.columns
        for done, row in enumerate(rows, 1):
            shared, _, answered, names = self.kinds[self.keys[row]]
            halves = list[int]()
            for side in SIDES:
                place, *half = [columns[f"{side}_{name}"][row] for name in HALF]
                if place == NO_HALF:
                    halves += NOTHING
                    continue
                halves += half
                data.append(self._bytes(place, half[0]))
                held += len(data[-1])
            own = self._own.get(str(row), "").encode()
            data.append(own)
            numbers.append(
                NUMBERS.pack(
                    used.setdefault(shared, len(used)), self.bounds.first_number + row, names,
                    columns["correlation_id"][row], answered, columns["repeats"][row], *halves, len(own),
                )
            )  # fmt: skip
            if len(numbers) >= AT_ONCE or held >= LARGE or done == len(rows):
                common = json.dumps([self._commons[shared] for shared in used]).encode()
                found = unpack(b"".join(numbers), common, b"".join(data), self._topics, 0, self._searches)
                yield from (exchange for _, exchange in found)
                numbers, data, used, held = [], [], {}, 0

    def _bytes(self, place: int, size: int) -> bytes:
        """Return the bytes of a message."""
        if place >= 0:
            return self._read(place, size)
        return b"".join([self._read(*piece) for piece in self._pieces[PIECES - place]])

    def _read(self, place: int, size: int) -> bytes:
        data = os.pread(self._capture, size, place)
        if len(data) != size:
            raise CaptureError("the capture", "became shorter while it was read", "read it again")
        return data


def _topic(packed: Any) -> Any:
    """Return the topic that JSON has: by its name, or by its id in a list."""
    return UUID(packed[0]) if isinstance(packed, list) else packed
