"""A file that is being read: exchanges or entries one after another, and what is odd beside them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar
from uuid import UUID

from ...analysis.logs.log import ApplicationLog
from ...capture import Capture
from ...errors import CaptureError, InputError
from ...exchanges.engine.driver import PAUSE, Drive, Pairing
from ...exchanges.filters.filter_set import Filters, FilterTally, Unmatched
from ...exchanges.messages.peers import Peers
from ...extras import require
from ...protocol.findings import Finding
from . import BrokerFile, chosen, engine_of, merged, open_any
from .exchange import Exchange
from .log import LogEntry, entries

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from ..tables.cells import Cells


Read = TypeVar("Read", covariant=True)
TABLES = ("exchanges", "partitions", "records", "groups", "problems")
"""The tables that exchanges fill; the others are about files and connections."""


class Reading(Iterator[Read], Generic[Read]):
    """What a file holds, one after another, in bounded memory; closed at its end, by `close`, or by a `with`.

    `problems` are findings about the file itself (damage, a cut end), `findings` those about connections that belong to
    no exchange, with the connection; both grow while it is read. `topic_names` are the names of topic ids as told so
    far.
    """

    def __init__(
        self, opened: Capture | ApplicationLog | BrokerFile, filters: Filters, where: Callable[[Any], bool] | None
    ) -> None:
        self._opened, self._where = opened, where
        plain = filters.but(limit=None)
        reads_all = where is None and not plain.asks
        self._engine = engine_of(opened, plain, "shallow" if reads_all else None)
        self._seen = FilterTally()
        self._left = filters.limit
        self._items: Iterator[Any] = (
            _entries(opened, plain)
            if isinstance(opened, BrokerFile)
            else _exchanges(opened, self._engine, plain, self._seen)
        )

    @property
    def name(self) -> str:
        """The name of the file, as it was given."""
        return self._opened.source.name

    @property
    def is_capture(self) -> bool:
        """Whether it is a capture; else it is a log, or a file of a broker's disk."""
        return isinstance(self._opened, Capture)

    @property
    def problems(self) -> tuple[Finding, ...]:
        """What is wrong with the file, as far as it was read."""
        return () if isinstance(self._opened, BrokerFile) else tuple(self._opened.problems)

    @property
    def findings(self) -> tuple[tuple[Peers, Finding], ...]:
        """What is odd about connections and belongs to no exchange, as far as the file was read."""
        return tuple(self._engine.findings)

    @property
    def unmatched(self) -> tuple[Unmatched, ...]:
        """The values of filters that nothing has fitted so far, each with what there was in its place."""
        return tuple(self._seen.unmatched())

    @property
    def topic_names(self) -> Mapping[UUID, str]:
        """The names of topic ids, as far as messages have told them."""
        return MappingProxyType(self._engine.topic_names)

    def __iter__(self) -> Reading[Read]:
        return self

    def __next__(self) -> Read:
        while self._left != 0:
            item = next(self._items)
            if self._where is None or self._where(item):
                self._left = None if self._left is None else self._left - 1
                return item  # type: ignore[no-any-return]
        self.close()
        raise StopIteration

    def close(self) -> None:
        """Close the file; nothing more comes out."""
        self._left = 0
        (self._opened.source if isinstance(self._opened, BrokerFile) else self._opened).close()

    def __del__(self) -> None:
        """Close a file that nobody reads on, as in `next(kdbg.read(path))`."""
        if hasattr(self, "_opened"):
            self.close()

    def __enter__(self) -> Reading[Read]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        opened = self._opened
        what = opened.file.kind.title if isinstance(opened, BrokerFile) else "capture" if self.is_capture else "log"
        return f"<Reading of {self.name!r}, a {what}, {'closed' if self._left == 0 else 'open'}>"

    def to_arrow(self, table: str = "exchanges") -> pa.Table:
        """Read the rest, and return it as one of the tables of `kdbg pipeline` (tables/columns.py), in memory.

        Raise `InputError` for no such table, or without pyarrow.
        """
        if not isinstance(self._opened, Capture):
            raise CaptureError(self.name, "not a capture, so it has no tables", "iterate over it instead")
        if table not in TABLES:
            raise InputError(f"unknown table {table!r}; use one of {', '.join(TABLES)}")
        require("to_arrow", "spark", "pyarrow")
        import pyarrow as pa

        from ..tables.arrow import batch
        from ..tables.message_columns import WantedRows
        from ..tables.rows import Rows

        found: list[Any] = []

        def add(kind: str, time: int | None, cells: Cells, size: int) -> None:
            if kind == table:
                found.extend(cells)

        make = Rows(add, WantedRows.of({table}), self._engine.topic_names)
        for exchange in self:
            make.exchange(self.name, exchange)  # type: ignore[arg-type]
        return pa.Table.from_batches([batch(found, table)])

    def to_pandas(self, table: str = "exchanges") -> pd.DataFrame:
        """Read the rest, and return it as a data frame of pandas; the columns are those of `to_arrow`."""
        return self.to_arrow(table).to_pandas()


def _exchanges(
    capture: Capture | ApplicationLog, engine: Pairing, filters: Filters, seen: FilterTally
) -> Iterator[Exchange]:
    """Yield the exchanges of a capture or a log that pass the filters, and close it at the end."""
    drive = Drive(
        engine,
        capture.blocks(pause=PAUSE),
        lambda: filters.dated(capture.first_time).check(engine.names_then, seen),
        last=filters.last,
    )
    with capture:
        for exchange in drive:
            yield Exchange.of(exchange, engine.topic_names)


def _entries(opened: BrokerFile, filters: Filters) -> Iterator[LogEntry]:
    """Yield the entries of a broker's file that pass the filters, and close it at the end."""
    try:
        yield from entries(opened.source, opened.file, filters)
    finally:
        opened.source.close()


def open_reading(
    source: str | os.PathLike[str] | BinaryIO | Sequence[str | os.PathLike[str]],
    filters: Filters,
    where: Callable[[Any], bool] | None,
) -> Reading[Any]:
    """Open a capture, a log or a broker's file; raise `CaptureError` where that fails, or filters cannot be asked."""
    if isinstance(source, Sequence) and not isinstance(source, str):
        together = merged([os.fspath(each) for each in source])
        filters.dated(0).checks()
        return Reading(together, filters, where)
    source, filters = chosen(source, filters)
    filters.dated(0).checks()  # an unknown API is refused before anything is read
    return Reading(open_any(source), filters, where)


__all__ = ["Exchange", "LogEntry", "Reading", "open_reading"]
