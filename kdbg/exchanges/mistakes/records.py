"""The records of a batch, read to see where they end: with their lengths and zigzag, or without."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from ...errors import WireError
from ...protocol.grammars.records import record_format
from ...protocol.wire.nodes import VARINT, VARLONG, LengthPrefixed, Varint, build
from ...protocol.wire.records.compression import decompress
from ..messages.weigh import ROOT, Impossible, Todo, Weigher
from .search import Budget

LARGEST = 1 << 23
"""Bytes of decompressed records that are examined."""
STEPS = 2
"""Fields that a record counts as in the budget."""


class Records(NamedTuple):
    """Records that were read: where they start and end, the lengths that are wrong, and all varints."""

    starts: list[int]
    end: int
    wrong: list[tuple[int, int, int, int]]
    """(start, end, actual, expected) of each."""
    varints: list[tuple[int, int, int]]
    """(start, end, value) of each."""


class Varints(Weigher):
    """Notes the varints that it reads."""

    def base128(self, node: Varint) -> int:
        start, value = self.at, super().base128(node)
        self.noted.append((start, self.at, value))
        return value

    noted: list[tuple[int, int, int]]


def zigzagged(batch: bytes, found: Records) -> bytes:
    """Return records without zigzag as they should be."""
    parts, ends = [], [*found.starts[1:], found.end]
    for start, end in zip(found.starts, ends, strict=True):
        (_, at, _), *varints = (one for one in found.varints if start <= one[0] < end)
        record = b""
        for first, last, value in varints:
            record += batch[at:first] + build(VARLONG, value)
            at = last
        record += batch[at:end]
        parts.append(build(VARINT, len(record)) + record)
    return b"".join(parts)


def decompressed(codec: int, data: bytes) -> bytes | None:
    """Return compressed records as they are inside; None where they are of another codec, or too large."""
    try:
        return decompress(codec, data, limit=LARGEST)
    except (WireError, ValueError, IndexError, zlib.error):
        return None


class RecordReader:
    """Reads records as long as the budget lasts."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def end(self, data: bytes, at: int, count: int) -> int:
        """Return where so many records end; -1 where they do not."""
        found = self.read(data, at, count)
        return found.end if found is not None else -1

    def counted(self, data: bytes, at: int) -> int:
        """Return how many records fill the bytes to the last one; 0 where they do not."""
        count = 0
        while at < len(data):
            found = self.read(data, at, 1)
            if found is None:
                return 0
            at, count = found.end, count + 1
        return count

    def read(self, data: bytes, at: int, count: int, *, plain: bool = False, lengths: bool = True) -> Records | None:
        """Read records; `plain`: their varints have no zigzag; not `lengths`: each ends where its fields do."""
        item = record_format.records.item
        assert isinstance(item, LengthPrefixed)
        if not 0 <= count <= len(data):
            return None
        reader = Varints(data, at, float("inf"), len(data))
        reader.plain_varints, reader.noted = plain, []
        starts, wrong = [], []
        try:
            for _ in range(count):
                self._budget.take(STEPS)
                start = reader.at
                starts.append(start)
                size = reader.number(item.length.number)
                after = reader.at
                reader.todo = Todo(Weigher.read, item.item, ROOT, None)
                reader.run()
                if reader.at != after + size:
                    if lengths:
                        return None
                    wrong.append((start, after, size, reader.at - after))
        except (Impossible, RecursionError):
            return None
        return Records(starts, reader.at, wrong, reader.noted)
