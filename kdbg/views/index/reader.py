"""Reads with an index: the exchanges that may pass the filters, and no others, are read from the capture.

The columns of the index choose exchanges that may pass; the filters themselves then decide, as they do without an
index. What is in the closing line is the same, too, also where the reading ends early (`--limit`, `FILE#N`): the index
has what was counted by then.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...capture import Capture, Lost, Packet, open_capture
from ...capture.keylog import ENVIRONMENT
from ...exchanges.filters.filter import Check
from ...exchanges.filters.filter_set import Filters, FilterTally, Tally
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.mistakes import Searches
from ...exchanges.messages.peers import Peers
from ...exchanges.messages.serialization import peers_of
from ...protocol.findings import Finding
from ...protocol.findings import unpack as unpack_finding
from ...protocol.wire.readings.outline import NamesThen
from .block import Block, Described
from .cache import find, identity, load
from .layout import HALF, NO_HALF, SIDES, Bounds, Counts, Summary, Unfit

if TYPE_CHECKING:
    from .writer import Recorded

OTHERS = frozenset({"port", "tls_keys", "pid"})
"""Filters with which a capture is read in another way than an index says."""
BY_VALUE = frozenset({"api", "client_id", "host", "connection", "topic", "partition", "group", "error", "errors"})
"""Filters on what an exchange is about, which the index has once for all exchanges that have it in common."""


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6) * 1000


BY_NUMBER: dict[str, Callable[[Any, Bounds], bool]] = {
    "exchange": lambda chosen, block: any(
        first < block.first_number + block.exchanges and last >= block.first_number for first, last in chosen
    ),
    "correlation_id": lambda wanted, block: True,
    "slower_than": lambda milliseconds, block: block.slowest > round(milliseconds * 1e6),
    "since": lambda seconds, block: block.last_time >= _microseconds(seconds),
    "until": lambda seconds, block: block.first_time <= _microseconds(seconds),
    "packet": lambda wanted, block: any(block.first_packet <= one <= block.last_packet for one in wanted),
}
"""Filters on numbers: whether a block may have an exchange that passes."""


class IndexedCapture(Capture):
    """A capture with its index, of which nothing is read in the order of the file."""

    def __init__(self, capture: Capture, file: int, summary: Summary) -> None:
        self._opened, self.index, self.summary = capture, file, summary
        self.name, self.source, self.keys = capture.name, capture.source, capture.keys
        self.bytes, self.other = summary.bytes, summary.other
        self.counts(Counts(*summary.counts))
        self.first_time, self.last_time = summary.first_time, summary.last_time

    def counts(self, counts: Counts) -> None:
        """Take as counts those of a moment of its reading."""
        self.packets, self._counts = counts.packets, counts

    @property
    def lost(self) -> Lost | None:
        """How many packets are missing in it; None where it does not say."""
        return Lost(*self._counts.lost) if self._counts.lost is not None else None

    @property
    def problems(self) -> list[Finding]:
        """What is wrong with the capture itself."""
        return [*map(unpack_finding, self._counts.problems)]

    def blocks(self, *, pause: float | None = None, singly: bool = False) -> Iterator[list[Packet]]:
        """Return an iterator without packets."""
        return iter(())

    def matching(self, filters: Filters, *noted: Any, singly: bool) -> Matching:
        """Return what makes the exchanges that may pass filters: one at a time, with `singly`."""
        return Matching(self, filters.dated(self.first_time), *noted, singly=singly)

    def close(self) -> None:
        """Close the capture and the index."""
        self._opened.close()
        if self.index >= 0:
            os.close(self.index)
            self.index = -1


class Matching:
    """In place of an engine: makes the exchanges that may pass filters, from an index.

    The exchanges that are left out, and their findings, are added to counts. `tally` is what the filters are to note
    in; once all are read, `seen` has what it would have if they had been asked of all exchanges.
    """

    def __init__(
        self, capture: IndexedCapture, filters: Filters, seen: FilterTally, counts: Counter[str],
        findings: Counter[str], *, singly: bool,
    ) -> None:  # fmt: skip
        summary = self._summary = capture.summary
        self._capture, self._filters, self._seen = capture, filters, seen
        self._counts, self._kinds = counts, findings
        self._singly = singly or filters.last is not None
        self._count(Counts(*summary.counts))
        self.count = summary.exchanges
        self.topic_names = {UUID(topic): name for topic, name in summary.topics}
        self.names_then = NamesThen(self.topic_names)
        self.findings: list[tuple[Peers, Finding]] = []
        self.tally = FilterTally()
        if summary.exchanges:
            filters.check(self.names_then, self.tally)  # which makes the tallies, also where no exchange may pass
        self._searches = Searches()
        given = filters.given
        self._numbers = {name: value for name, value in given.items() if name in BY_NUMBER}
        by_value = {name: value for name, value in given.items() if name in BY_VALUE}
        self._passes, self._fits = (Filters(**some).check(self.names_then) for some in (by_value, self._numbers))

    def chunks(self, blocks: Iterable[Any], /) -> Iterator[list[Exchange]]:
        """Yield the exchanges that may pass."""
        for bounds, most in self._blocks():
            may = all(BY_NUMBER[name](value, bounds) for name, value in self._numbers.items())
            last = self._filters.last
            ends = last is not None and last < bounds.first_number + bounds.exchanges
            if not (may or bounds.is_read or ends):
                self._counts["exchanges"] += most
                if bounds.kinds:
                    whole = most == bounds.exchanges
                    self._kinds.update(bounds.kinds if whole else self._block(bounds).found_kinds(range(most)))
                continue
            block = self._block(bounds)
            yield from self._chunks(block, self._candidates(block, most) if may else [], most)
            if ends:
                break
        else:
            self.findings += [(peers_of(peers), unpack_finding(packed)) for peers, packed in self._summary.findings]
            self._count(Counts(*self._summary.counts))
        self._note_all()

    def _count(self, counts: Counts) -> None:
        """Take as counts those of a moment of the reading."""
        self.connections, self.other_connections = counts.connections, counts.other_connections
        self._capture.counts(counts)

    def _blocks(self) -> Iterator[tuple[Bounds, int]]:
        """Yield the blocks, and how many of their exchanges come before the reading ends."""
        last = self._filters.last
        for bounds in self._summary.blocks:
            most = bounds.exchanges if last is None else min(bounds.exchanges, last - bounds.first_number + 1)
            if most < bounds.exchanges and most <= 0:
                return
            yield bounds, most

    def _block(self, bounds: Bounds) -> Block:
        capture = self._capture
        return Block(capture.index, bounds, capture.source.raw.fileno(), self.topic_names, self._searches)

    def _chunks(self, block: Block, rows: Sequence[int], most: int) -> Iterator[list[Exchange]]:
        """Yield exchanges of a block, those together that came together, and add the findings that came with them."""
        wanted, found, first, start = set(rows), block.found, 0, 0
        every = [row for row in sorted(wanted.union(block.searched)) if row < most]
        exchanges = zip(every, block.exchanges(every), strict=True)
        at = 0
        for chunk, (count, counts) in enumerate(block.chunks):
            self._count(counts)
            self.findings += [(peers, finding) for number, peers, finding in found if number == chunk]
            end, some = start + count, list[tuple[int, Exchange]]()
            while at < len(every) and every[at] < end:
                row, exchange = next(exchanges)
                at += 1
                if row in wanted:
                    some.append((row, exchange))
                else:
                    exchange.all_findings(shallow=True)  # how many were searched decides what is found in later ones
            for group in [[one] for one in some] if self._singly else [some] if some else []:
                last = group[-1][0]
                self._skip(block, first, last + 1, [row for row, _ in group])
                first = last + 1
                yield [exchange for _, exchange in group]
            self._skip(block, first, min(end, most), ())
            first = start = end
            if end >= most:
                return

    def _skip(self, block: Block, first: int, end: int, but: Sequence[int]) -> None:
        """Count the exchanges of a block from the first up to the end as left out, but for some."""
        self._counts["exchanges"] += max(end - first, 0) - len(but)
        if block.bounds.kinds:
            self._kinds.update(block.found_kinds(range(first, end)))
            self._kinds.subtract(block.found_kinds(but))

    def _candidates(self, block: Block, most: int) -> list[int]:
        """Return those of the first exchanges of a block that may pass."""
        rows: Sequence[int] = range(most)
        if self._passes is not None:
            keys = block.keys
            may = {kind: self._may_pass(block, kind) for kind in set(keys)}
            rows = [row for row in rows if may[keys[row]]]
        wanted = self._numbers.get("correlation_id")
        if wanted is not None:
            numbers = block.columns["correlation_id"]
            rows = [row for row in rows if numbers[row] in wanted]
        fits = self._fits
        if fits is not None:
            return [row for row, one in zip(rows, self._described(block, rows), strict=True) if fits(one)]
        return list(rows)

    def _may_pass(self, block: Block, kind: int) -> bool:
        one = block.described(kind)
        if one is None or self._passes is None:
            return True
        self.names_then.at(block.kinds[kind][3])
        return self._passes(one)

    def _note_all(self) -> None:
        """Have all exchanges noted in `seen` where that is of use: a value of a filter was not found."""
        if not any(tally.open for tally in self.tally.values()):
            for name, tally in self.tally.items():
                self._seen.setdefault(name, Tally((), tally.offers)).open = []
            return
        check = self._filters.check(self.names_then, self._seen)
        assert check is not None
        self._searches, is_read = Searches(), "where" in self._filters.given
        for bounds, most in self._blocks():
            block = self._block(bounds)
            if is_read or self._numbers or not self._note_kinds(block, most, check):
                for one in block.exchanges(range(most)) if is_read else self._described(block, range(most)):
                    if is_read:
                        self.names_then.at(one.names)
                    check(one)
            if not any(tally.open for tally in self._seen.values()):
                return

    def _note_kinds(self, block: Block, most: int, check: Check) -> bool:
        """Have the first exchanges of a block noted by their kinds; return False where that is not possible."""
        counts = Counter(block.keys[:most])
        described = {kind: block.described(kind) for kind in counts}
        for kind, one in described.items() if None not in described.values() else ():
            assert one is not None
            self._seen.times = counts[kind]
            self.names_then.at(block.kinds[kind][3])
            check(one)
        self._seen.times = 1
        return None not in described.values()

    def _described(self, block: Block, rows: Iterable[int]) -> Iterator[Exchange]:
        """Yield exchanges of a block as far as filters look at them; each is valid until the next."""
        described: dict[int, Described | None] = {}
        numbers = block.columns
        halves = [[numbers[f"{side}_{name}"] for name in HALF if name != "missing"] for side in SIDES]
        for row in rows:
            kind = block.keys[row]
            if kind not in described:
                described[kind] = block.described(kind)
            self.names_then.at(block.kinds[kind][3])
            one = described[kind]
            if one is None:
                yield next(block.exchanges([row]))
                continue
            one.number, one.correlation_id = block.bounds.first_number + row, numbers["correlation_id"][row]
            for side, columns in zip(SIDES, halves, strict=True):
                place, _, first_time, last_time, first, last = (each[row] for each in columns)
                half = CapturedMessage(b"", (first_time, last_time), (first, last), side)
                setattr(one, side, half if place != NO_HALF else None)
            yield one


def resumed(capture: Capture, path: Path | None = None) -> Recorded | None:
    """Return what reads a capture on, and extends its index, from where that was written; None where there is none."""
    known = identity(capture.source)
    found = find(capture.source, known, shorter=True) if known is not None else None
    if found is None:
        return None
    from . import checkpoint  # which questions do without where the capture is as it was
    from .writer import Recorded

    file, summary = found
    try:
        start, size, *_ = summary.checkpoint or (0, 0)
        state = checkpoint.load(os.pread(file, size, start), capture.source.raw.fileno(), capture.secrets(None))
        capture.resume(state["position"], state["starts"][-1], state["read"])
        return Recorded(state["engine"], capture, path, before=(file, summary, state))
    except Unfit:
        return None
    finally:
        os.close(file)


def extended(name: str) -> tuple[int, Summary] | None:
    """Extend the index of a capture that has grown; return it as `load` does, None where that is not possible."""
    with open_capture(name) as capture:
        recorded = resumed(capture)
        if recorded is not None:
            for _ in recorded.chunks(capture.blocks()):
                recorded.findings.clear()
            if recorded.path is not None:
                return load(recorded.path)
    return None


def indexed(capture: Capture, filters: Filters) -> tuple[Capture, bool]:
    """Return a capture, with its index where that can leave out exchanges, and whether it is to get an index."""
    if filters.timed or filters.given.keys() & OTHERS or os.environ.get(ENVIRONMENT):
        return capture, False
    found = None
    with suppress(OSError):
        known = identity(capture.source)
        if known is None:
            return capture, False
        found = find(capture.source, known) or extended(capture.source.name)
    if found is None:
        return capture, True
    if filters.but(where=None).asks:  # an expression alone is evaluated for all exchanges
        return IndexedCapture(capture, *found), False
    os.close(found[0])
    return capture, False
