"""Reads with an index: the exchanges that may pass the filters, and no others, are read from the capture.

The columns of the index choose exchanges that may pass; the filters themselves then decide, as they do without an
index. What is in the closing line is the same, unless the reading ends early (`--limit`, `FILE#N`): then packets,
connections and their findings are those of the whole capture.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from ...capture import Capture, Lost, Packet
from ...exchanges.filters.filter_set import Filters, FilterTally, Tally
from ...exchanges.messages.exchange import MANY, CapturedMessage, Exchange
from ...exchanges.messages.mistakes import Searches
from ...exchanges.messages.peers import Peers
from ...exchanges.messages.serialization import peers_of
from ...protocol.findings import Finding
from ...protocol.findings import unpack as unpack_finding
from ...protocol.wire.readings.outline import NamesThen
from .block import Block, Described
from .cache import find, identity
from .layout import Bounds, Columns, Summary, column

BY_VALUE = frozenset({"api", "client_id", "host", "connection", "topic", "partition", "group", "error", "errors"})
"""Filters on what an exchange is about, which the index has once for all exchanges that have it in common."""


def _slower(milliseconds: float, rows: Columns) -> list[bool]:
    least = round(milliseconds * 1e6)
    found = zip(rows.answered_at, rows.asked_until, rows.asked, rows.answered, strict=True)
    return [then - until > least and asked >= 0 and answered >= 0 for then, until, asked, answered in found]


def _times(rows: Columns) -> Iterator[int]:
    """Yield when each exchange began."""
    found = zip(rows.asked, rows.first_time, rows.answered_at, strict=True)
    return (at if asked >= 0 else then for asked, at, then in found)


def _in_packets(wanted: Collection[int], rows: Columns) -> list[bool]:
    halves = (
        (rows.asked, rows.asked_packet, rows.asked_last),
        (rows.answered, rows.answered_packet, rows.answered_last),
    )
    found = [
        [size >= 0 and any(first <= one <= last for one in wanted) for size, first, last in zip(*half, strict=True)]
        for half in halves
    ]
    return [either or other for either, other in zip(*found, strict=True)]


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6) * 1000


BY_NUMBER: dict[str, tuple[Callable[[Any, Bounds], bool], Callable[[Any, Columns], list[bool]]]] = {
    "exchange": (
        lambda chosen, block: any(
            first < block.first_number + block.exchanges and last >= block.first_number for first, last in chosen
        ),
        lambda chosen, rows: [any(first <= one <= last for first, last in chosen) for one in rows.number],
    ),
    "correlation_id": (
        lambda wanted, block: True,
        lambda wanted, rows: [one in wanted for one in rows.correlation_id],
    ),
    "slower_than": (lambda milliseconds, block: block.slowest > round(milliseconds * 1e6), _slower),
    "since": (
        lambda seconds, block: block.last_time >= _microseconds(seconds),
        lambda seconds, rows: [one >= _microseconds(seconds) for one in _times(rows)],
    ),
    "until": (
        lambda seconds, block: block.first_time <= _microseconds(seconds),
        lambda seconds, rows: [one <= _microseconds(seconds) for one in _times(rows)],
    ),
    "packet": (
        lambda wanted, block: any(block.first_packet <= one <= block.last_packet for one in wanted),
        _in_packets,
    ),
}
"""Filters on numbers: whether a block may have an exchange that passes, and which of its exchanges do."""


class IndexedCapture(Capture):
    """A capture with its index, of which nothing is read in the order of the file."""

    def __init__(self, capture: Capture, file: int, summary: Summary) -> None:
        self._opened, self._file, self.summary = capture, file, summary
        self.name, self.source, self.keys = capture.name, capture.source, capture.keys
        self.packets, self.bytes, self.other = summary.packets, summary.bytes, summary.other
        self.first_time, self.last_time = summary.first_time, summary.last_time

    @property
    def lost(self) -> Lost | None:
        """How many packets are missing in it; None where it does not say."""
        return Lost(*self.summary.lost) if self.summary.lost is not None else None

    @property
    def problems(self) -> list[Finding]:
        """What is wrong with the capture itself."""
        return [*map(unpack_finding, self.summary.problems)]

    def blocks(self, *, pause: float | None = None, singly: bool = False) -> Iterator[list[Packet]]:
        """Return an iterator without packets."""
        return iter(())

    def matching(self, filters: Filters, seen: FilterTally, left: int | None) -> Matching:
        """Return what makes the exchanges that may pass filters; `seen` is as for these, `left` as for `Drive`."""
        filters = filters.dated(self.first_time)
        return Matching(self._file, self.summary, self.source.raw.fileno(), filters, seen, singly=left is not None)

    def close(self) -> None:
        """Close the capture and the index."""
        self._opened.close()
        self.forget()

    def forget(self) -> None:
        """Close the index."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Matching:
    """In place of an engine: makes the exchanges that may pass filters, from an index.

    `skipped` counts the exchanges that were left out so far, `skipped_kinds` their findings. `tally` is what the
    filters are to note in; once all are read, `seen` has what it would have if they had been asked of all exchanges.
    """

    def __init__(
        self, file: int, summary: Summary, capture: int, filters: Filters, seen: FilterTally, *, singly: bool
    ) -> None:
        self._file, self._summary, self._capture = file, summary, capture
        self._filters, self._seen = filters, seen
        self._singly = singly or filters.last is not None
        self.connections, self.other_connections = summary.connections, summary.other_connections
        self.count = summary.exchanges
        self.topic_names = {UUID(topic): name for topic, name in summary.topics}
        self.names_then = NamesThen(self.topic_names)
        self.findings: list[tuple[Peers, Finding]] = []
        self.tally = FilterTally()
        self.skipped, self.skipped_kinds = 0, Counter[str]()
        filters.check(self.names_then, self.tally)  # which makes the tallies, also where no exchange may pass
        self._searches = Searches()
        given = filters.given
        by_value = {name: value for name, value in given.items() if name in BY_VALUE}
        self._passes = Filters(**by_value).check(self.names_then) if by_value else None
        self._numbers = {name: value for name, value in given.items() if name in BY_NUMBER}

    def chunks(self, blocks: Iterable[Any], /) -> Iterator[list[Exchange]]:
        """Yield the exchanges that may pass."""
        for bounds, most in self._blocks():
            may = all(BY_NUMBER[name][0](value, bounds) for name, value in self._numbers.items())
            if not (may or bounds.is_read):
                self.skipped += most
                self._skip_kinds(bounds, most)
                continue
            block = self._block(bounds)
            yield from self._chunks(block, self._candidates(block, most) if may else [], most)
        self.findings += [(peers_of(peers), unpack_finding(packed)) for peers, packed in self._summary.findings]
        self._note_all()

    def _blocks(self) -> Iterator[tuple[Bounds, int]]:
        """Yield the blocks, and how many of their exchanges come before the reading ends."""
        last = self._filters.last
        for bounds in self._summary.blocks:
            most = bounds.exchanges if last is None else min(bounds.exchanges, last - bounds.first_number + 1)
            if most < bounds.exchanges and most <= 0:
                return
            yield bounds, most

    def _block(self, bounds: Bounds) -> Block:
        return Block(self._file, bounds, self._capture, self.topic_names, self._searches)

    def _skip_kinds(self, bounds: Bounds, most: int) -> None:
        if bounds.kinds:
            found = bounds.kinds if most == bounds.exchanges else self._block(bounds).kinds(range(most))
            self.skipped_kinds.update(found)

    def _chunks(self, block: Block, rows: Sequence[int], most: int) -> Iterator[list[Exchange]]:
        """Yield exchanges of a block, those together that came together, and add the findings that came with them."""
        wanted, found, first, start = set(rows), block.found, 0, 0
        every = [row for row in sorted(wanted.union(block.searched)) if row < most]
        exchanges = zip(every, block.exchanges(every), strict=True)
        at = 0
        for chunk, count in enumerate(block.chunks):
            self.findings += [(peers, finding) for number, peers, finding in found if number == chunk]
            end, some = start + count, list[tuple[int, Exchange]]()
            while at < len(every) and every[at] < end:
                row, exchange = next(exchanges)
                at += 1
                if row not in wanted:
                    exchange.all_findings(shallow=True)  # how many were searched decides what is found in later ones
                    continue
                some.append((row, exchange))
                if self._singly:
                    yield self._given(block, first, some)
                    first, some = row + 1, []
            if some:
                yield self._given(block, first, some)
                first = some[-1][0] + 1
            self._skip(block, first, min(end, most), ())
            first = start = end
            if end >= most:
                return

    def _given(self, block: Block, first: int, some: Sequence[tuple[int, Exchange]]) -> list[Exchange]:
        """Return exchanges of a block; count those before the last of them, from the first on, as left out."""
        rows = [row for row, _ in some]
        self._skip(block, first, rows[-1] + 1, rows)
        return [exchange for _, exchange in some]

    def _skip(self, block: Block, first: int, end: int, but: Sequence[int]) -> None:
        """Count the exchanges of a block from the first up to the end as left out, but for some."""
        self.skipped += max(end - first, 0) - len(but)
        if block.bounds.kinds:
            self.skipped_kinds.update(block.kinds(range(first, end)))
            self.skipped_kinds.subtract(block.kinds(but))

    def _candidates(self, block: Block, most: int) -> list[int]:
        """Return those of the first exchanges of a block that may pass."""
        rows: Sequence[int] = range(most)
        if self._passes is not None:
            keys = [*zip(block.shared, block.abouts, strict=True)]
            may = {key: self._may_pass(block, *key) for key in set(keys)}
            rows = [row for row in rows if may[keys[row]]]
        if self._numbers and rows:
            numbers = block.columns()
            for name, value in self._numbers.items():
                fits = BY_NUMBER[name][1](value, numbers)
                rows = [row for row in rows if fits[row]]
        return list(rows)

    def _may_pass(self, block: Block, shared: int, about: int) -> bool:
        one = block.described(shared, about)
        if one is None or self._passes is None:
            return True
        self.names_then.at(block.names(about) or MANY)
        return self._passes(one)

    def _note_all(self) -> None:
        """Have all exchanges noted in `seen` where that is of use: a value of a filter was not found."""
        if not any(tally.open for tally in self.tally.values()):
            for name, tally in self.tally.items():
                self._seen.setdefault(name, Tally((), tally.offers)).open = []
            return
        check = self._filters.check(self.names_then, self._seen)
        assert check is not None
        self._searches = Searches()
        for bounds, most in self._blocks():
            block = self._block(bounds)
            for one in self._all(block, most):
                check(one)
            if not any(tally.open for tally in self._seen.values()):
                return

    def _all(self, block: Block, most: int) -> Iterator[Exchange]:
        """Yield the exchanges of a block as far as filters look at them."""
        if "where" in self._filters.given:
            for exchange in block.exchanges(range(most)):
                self.names_then.at(exchange.names)
                yield exchange
            return
        numbers, names = block.columns(), column(block.stored, block.bounds.exchanges, 12, "q")
        described: dict[tuple[int, int], Described | None] = {}
        for row, key in enumerate([*zip(block.shared, block.abouts, strict=True)][:most]):
            if key not in described:
                described[key] = block.described(*key)
            self.names_then.at(names[row])
            one = described[key]
            if one is None:
                yield next(block.exchanges([row]))
                continue
            number, one.correlation_id, asked, at, until, first, last, answered, then, reply, end = (
                each[row] for each in numbers
            )
            one.number = number
            one.request = CapturedMessage(b"", (at, until), (first, last), "request") if asked >= 0 else None
            one.response = CapturedMessage(b"", (then, then), (reply, end), "response") if answered >= 0 else None
            yield one


def indexed(capture: Capture) -> IndexedCapture | None:
    """Return a capture with its index; None where there is none that can be used."""
    try:
        known = identity(capture.source)
        found = find(capture.source.name, known) if known is not None else None
    except OSError:
        return None
    return IndexedCapture(capture, *found) if found is not None else None
