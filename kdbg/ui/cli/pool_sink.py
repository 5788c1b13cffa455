"""What a command makes of exchanges in several processes (`--jobs`): in this one, and in copies of it, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...capture import Capture
from ...exchanges.engine.driver import Drive
from ...exchanges.engine.engine import Engine
from ...exchanges.filters.filter_set import FilterTally
from ...exchanges.jobs import ExchangePool, InOrder, Show
from ...exchanges.messages.exchange import Exchange
from ...exchanges.split.engine import SplitReading
from .output import OutOfOrder, Sink, Writer

UNLIMITED = 1 << 62


class PoolSink(ExchangePool):
    """Has a sink work on the wanted exchanges of a file in this process, which pairs all, and in `jobs - 1` copies.

    What sink, drive and filters count is in `counters` and `seen`.
    """

    def __init__(
        self, writer: Writer, counters: Sequence[Counter[str]], seen: FilterTally, drive: Drive, jobs: int, sink: Sink
    ) -> None:
        super().__init__(jobs - 1, drive.engine.names_then.topics, writer.write, sink.most)
        self._counters, self._seen, self._drive, self._sink = counters, seen, drive, sink

    def split(self, engine: Engine, capture: Capture) -> None:
        """Read parts of a capture in copies."""
        if self.can_split:
            self._drive.split(SplitReading(engine, capture, self).chunks)

    def about(self, exchanges: Sequence[Exchange]) -> Any:
        """Return what the sink of a copy has to know."""
        return self._sink.state()

    def do_elsewhere(self, exchanges: list[Exchange], about: Any, show: Show) -> Any:
        """Work on exchanges in a copy."""
        self._sink.know(about)
        return self.do(exchanges, show)

    def do(self, exchanges: list[Exchange], show: Show) -> Any:
        """Work on exchanges; return what was counted, and what the sink returned, or the wanted exchanges as bytes."""
        with self._separate() as selected:
            wanted = self._select(exchanges)
        if not wanted:
            return [selected], None
        try:
            with self._separate() as made:
                result = self._sink.make(wanted, show)
        except OutOfOrder:
            packed = b"".join(self.parcels.pack(wanted, copy=-1))
            return InOrder((selected, packed), len(packed))
        return [selected, made], result

    def do_next(self, exchanges: list[Exchange]) -> None:
        """Work on exchanges here, after all before them are shown."""
        if wanted := self._select(exchanges):
            self._sink.show(wanted)

    def take(self, found: Any) -> None:
        """Take what `do` returned."""
        if isinstance(found, InOrder):
            selected, packed = found.result
            self._count(selected)
            self._sink.show(self.parcels.unpack(packed))
            return
        counted, result = found
        for one in counted:
            self._count(one)
        if result is not None:
            self._sink.take(result)

    def _select(self, exchanges: list[Exchange]) -> list[Exchange]:
        """Return those of some exchanges that are wanted, where that is not known yet."""
        return self._drive.select(exchanges) if self._drive.is_split else exchanges

    @contextmanager
    def _separate(self) -> Iterator[list[Any]]:
        """Make a context that gives a list of what is counted in it, for `_count`, and in no counter."""
        found = list[Any]()
        before = self._counted(UNLIMITED)
        try:
            yield found
        finally:
            found += self._counted()
            self._count(before)

    def _counted(self, *most: int) -> list[Any]:
        """Return what was counted, and count afresh."""
        drive = self._drive
        found = [[Counter(one) for one in self._counters], self._seen.take(*most), drive.seen, drive.wanted]
        for counter in self._counters:
            counter.clear()
        drive.seen = drive.wanted = 0
        return found

    def _count(self, counted: Sequence[Any]) -> None:
        """Add what was counted of exchanges after all those before."""
        counters, seen, exchanges, wanted = counted
        for mine, counter in zip(self._counters, counters, strict=True):
            mine.update(counter)
        self._seen.add(seen)
        self._drive.seen += exchanges
        self._drive.wanted += wanted
