"""Where messages wait until the user looks at them: a file without a name, parcel by parcel as `messages/packed` has
them.

One process writes; others read any exchange in it in the same time, however late it came, or go through all in their
order. Each parcel says where it ends, so nobody needs the index to go through them.
"""

from __future__ import annotations

import os
import pickle
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from ctypes import CDLL, c_int, c_int64
from functools import lru_cache
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.serialization import NUMBERS, Packed, places, unpack
from ...protocol.wire.readings.outline import NamesThen
from .index import Parcel, Start

SIZES = struct.Struct("<QQQQ")
"""In front of a parcel: bytes of its `ParcelHeader`, of its numbers, of what the exchanges share, of their messages."""
FOLDER = "/var/tmp"
"""Where large files go, which /tmp may hold in memory."""
KEPT = 32
"""Parcels of which numbers and common parts are kept."""
NO_START = Start()
PUNCH = 0x01 | 0x02
"""What fallocate(2) calls giving the room of bytes back while the file keeps its size."""
AGAIN = 0.05
"""Seconds after which who goes through all looks for more."""


class ParcelHeader(NamedTuple):
    """What stands in front of a parcel: its file, when that begins, and names of topic ids learnt since the last."""

    file: int
    first_time: int | None
    topics: list[tuple[UUID, str]]
    over: bool = False
    """Nothing follows."""


def new_file() -> int:
    """Return a descriptor of a file that ends with the last process that has it open."""
    folder = None if "TMPDIR" in os.environ or not os.access(FOLDER, os.W_OK) else FOLDER
    with tempfile.TemporaryFile(dir=folder) as file:
        return os.dup(file.fileno())


def give_back(file: int, until: int) -> None:
    """Give the room of a file's first bytes back to the system, where that is possible (Linux)."""
    with suppress(OSError, AttributeError):
        call = CDLL(None, use_errno=True).fallocate
        call.argtypes = (c_int, c_int, c_int64, c_int64)
        call(file, PUNCH, 0, until)


class SpoolWriter:
    """Writes parcels."""

    def __init__(self, file: int) -> None:
        self._file, self._end = file, 0
        self._packed = Packed()
        self._told = 0

    def begin(self) -> None:
        """Begin a capture: names of topic ids are told anew."""
        self._told = 0

    def add(
        self, exchanges: Sequence[Exchange], file: int, first_time: int | None, topics: dict[UUID, str]
    ) -> tuple[Parcel, list[tuple[UUID, str]]]:
        """Write exchanges; return their parcel, and the names of topic ids that were learnt since the last."""
        for exchange in exchanges:
            self._packed.add(exchange)
        numbers, common, data = self._packed.take()
        new = list(islice(topics.items(), self._told, None))
        self._told += len(new)
        at = self._end
        start = self._write(ParcelHeader(file, first_time, new), [numbers, common, *data])
        sizes = len(numbers), len(common), sum(map(len, data))
        return Parcel(at, start, *sizes, file), new

    def put(self, data: bytes) -> Parcel:
        """Write what is no exchange as a parcel."""
        at = self._end
        return Parcel(at, self._write(ParcelHeader(0, None, []), [b"", b"", data]), 0, 0, len(data), 0)

    def close(self) -> None:
        """Say that nothing follows."""
        self._write(ParcelHeader(0, None, [], over=True), [b"", b""])

    def _write(self, about: ParcelHeader, parts: list[bytes]) -> int:
        """Write a parcel; return where its numbers begin."""
        head = pickle.dumps(about)
        sizes = SIZES.pack(len(head), len(parts[0]), len(parts[1]), sum(map(len, parts[2:])))
        start = self._end + len(sizes) + len(head)
        left = memoryview(b"".join([head, *parts]))
        at, self._end = self._end + len(sizes), start + sum(map(len, parts))
        while left:
            written = os.pwrite(self._file, left, at)
            left, at = left[written:], at + written
        os.pwrite(self._file, sizes, start - len(head) - len(sizes))  # last: who reads on sees whole parcels alone
        return start


class SpoolReader:
    """Reads single exchanges; `topics` are the names of topic ids by the number of their file."""

    def __init__(self, file: int, topics: list[dict[UUID, str]]) -> None:
        self._file, self._topics = file, topics
        self._head: Callable[[Parcel], tuple[bytes, bytes, list[int]]] = lru_cache(KEPT)(self._read_head)

    def read(self, parcel: Parcel, place: int) -> Exchange:
        """Return one exchange of a parcel."""
        numbers, common, places = self._head(parcel)
        start = parcel.start + parcel.numbers + parcel.common
        data = os.pread(self._file, places[place + 1] - places[place], start + places[place])
        size = NUMBERS.size
        one = numbers[place * size : (place + 1) * size]
        _, exchange = next(unpack(one, common, data, self._topics[parcel.file]))
        return exchange

    def _read_head(self, parcel: Parcel) -> tuple[bytes, bytes, list[int]]:
        """Return the numbers of a parcel, what its exchanges share, and where the bytes of each begin."""
        both = os.pread(self._file, parcel.numbers + parcel.common, parcel.start)
        numbers, common = both[: parcel.numbers], both[parcel.numbers :]
        return numbers, common, places(numbers)


class Chunk(NamedTuple):
    """Exchanges as they were written together; `names` are those of topic ids, as far as they were told by then."""

    file: int
    first_time: int | None
    names: NamesThen
    exchanges: list[Exchange]


class SpoolWalk:
    """Goes through a spool from a start, waiting for what is not written yet."""

    def __init__(self, file: int, start: Start = NO_START) -> None:
        self._file, self._at = file, start.at
        self._names = NamesThen(dict(start.topics))
        self._of = start.file

    def __iter__(self) -> Iterator[Chunk]:
        for about, numbers, rest, common in self.parcels():
            if about.file != self._of:
                self._of = about.file
                self._names = NamesThen({})
            self._names.topics.update(about.topics)
            found = [exchange for _, exchange in unpack(numbers, rest[:common], rest, self._names.topics, common)]
            yield Chunk(about.file, about.first_time, self._names, found)

    @property
    def waits(self) -> bool:
        """Whether the next parcel is not written yet."""
        return self._sizes() is None

    def _sizes(self) -> tuple[int, ...] | None:
        """Return the sizes of the parts of the next parcel; None where it is not written yet."""
        sizes = os.pread(self._file, SIZES.size, self._at)
        return SIZES.unpack(sizes) if len(sizes) == SIZES.size and any(sizes) else None

    def parcels(self) -> Iterator[tuple[ParcelHeader, bytes, bytes, int]]:
        """Yield what stands in front of each parcel, its numbers, the rest, and how much of that exchanges share."""
        while True:
            sizes = self._sizes()
            if sizes is None:
                time.sleep(AGAIN)
                continue
            head, numbers, common, data = sizes
            self._at += SIZES.size
            parts, left = list[bytes](), head + numbers + common + data
            while left:  # one call may not give all
                part = os.pread(self._file, left, self._at)
                if not part:
                    raise OSError("the temporary file of messages was truncated")
                parts.append(part)
                self._at += len(part)
                left -= len(part)
            whole = b"".join(parts)
            about: ParcelHeader = pickle.loads(whole[:head])  # what this program wrote
            if about.over:
                return
            yield about, whole[head : head + numbers], whole[head + numbers :], common
