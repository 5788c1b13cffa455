"""The tables of a database: captures, decoded as far as a question names them, and a pipeline's Parquet files."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence, Set
from typing import Any

import pyarrow as pa

from ...capture import Capture
from ...exchanges.engine.engine import Engine
from ...exchanges.filters.filter_set import Filters
from ...exchanges.jobs import ExchangePool, Show
from ...exchanges.messages.exchange import Exchange
from ...payloads.values.chosen import ReadBytes
from ...views.tables.arrow import DUCKDB_TABLES, batch
from ...views.tables.cells import LAYOUTS, WIDTHS, Cells
from ...views.tables.decoding import Decoding
from ...views.tables.message_columns import WantedRows
from ..spark.archive.store import resolve
from ..spark.delta import StoredTables
from .database import Database

ROWS = 1 << 14
"""Rows that are added to a table at once."""
SIZE = 16 << 20
"""Bytes of large values that wait at most."""
SEVERITY = LAYOUTS["problems"].index("severity")


class Decoded(Decoding):
    """Takes captures one by one, and puts the rows of `tables` into a database.

    `timed`: exchanges say where their time went. `read` deserializes keys and values of records. `severities` are those
    of the problems that were met. `jobs` processes make rows.
    """

    def __init__(
        self, database: Database, tables: Set[str], filters: Filters, *, timed: bool = False,
        read: ReadBytes | None = None, jobs: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(filters, WantedRows.of(tables, timed=timed, read=read))
        self.jobs: int = jobs
        self.keep: Callable[[str, Cells, int], None] = self.store
        self.database, self.tables, self.severities = database, tables, set[str]()
        self._waiting: dict[str, list[Any]] = {table: [] for table in tables}
        self._size = 0

    def capture(self, capture: Capture, filters: Filters | None = None, name: str = "") -> None:
        """Decode a capture to its end; `filters` and `name` are as `Decoding` takes them."""
        super().capture(capture, filters, name)
        for table in self.tables:
            self._write(table)

    def add(self, table: str, time: int | None, cells: Cells, size: int, /) -> None:
        """Take rows, as `tables.rows.Rows` gives them."""
        self.keep(table, cells, size)

    def pool(self, engine: Engine, make: Callable[[Sequence[Exchange]], None]) -> ExchangePool | None:
        return None if self.jobs == 1 else _RowPool(self, engine, make)

    def store(self, table: str, cells: Cells, size: int) -> None:
        """Keep rows of a table if it is wanted, with so many bytes of large values; note the severities of problems."""
        if table == "problems":
            self.severities.update(cells[SEVERITY :: WIDTHS[table]])
        if table not in self.tables:
            return
        waiting = self._waiting[table]
        waiting += cells
        self._size += size
        if len(waiting) >= ROWS * WIDTHS[table] or self._size >= SIZE:
            self._write(table)

    def _write(self, table: str) -> None:
        if waiting := self._waiting[table]:
            self.database.insert(table, pa.Table.from_batches([batch(waiting, table)]))
            waiting.clear()
        if table == "records":
            self._size = 0


class _RowPool(ExchangePool):
    """Makes the rows of exchanges in this process, which pairs messages and stores rows, and in copies of it."""

    def __init__(self, to: Decoded, engine: Engine, make: Callable[[Sequence[Exchange]], None]) -> None:
        super().__init__(to.jobs - 1, engine.topic_names, lambda text: None)
        self.to, self.make = to, make

    def about(self, exchanges: Sequence[Exchange]) -> list[Any]:
        """Return the latency breakdowns of exchanges, which need packets."""
        return [exchange.timing for exchange in exchanges]

    def do_elsewhere(self, exchanges: list[Exchange], about: list[Any], show: Show) -> Any:
        """Return the rows of exchanges in a copy."""
        for exchange, timing in zip(exchanges, about, strict=True):
            exchange.timing = timing
        return self.do(exchanges, show)

    def do(self, exchanges: list[Exchange], show: Show) -> Any:
        """Return the cells of exchanges by their tables, and the bytes of large values among them."""
        made, sizes = defaultdict[str, list[Any]](list), Counter[str]()

        def keep(table: str, cells: Cells, size: int) -> None:
            made[table] += cells
            sizes[table] += size

        before, self.to.keep = self.to.keep, keep
        self.make(exchanges)
        self.to.keep = before
        return made, sizes

    def take(self, made: Any) -> None:
        """Store rows."""
        for table, cells in made[0].items():
            self.to.keep(table, cells, made[1][table])


def show(database: Database, stored: StoredTables, tables: Set[str]) -> None:
    """Put some of the tables in a folder into a database."""
    from pyarrow import dataset

    system, root, _ = resolve(stored.out)
    days = dataset.partitioning(pa.schema([("date", pa.date32())]), flavor="hive")
    for table in tables:
        if files := stored.files[table]:
            schema = DUCKDB_TABLES[table].append(pa.field("date", pa.date32()))
            database.show(table, dataset.dataset(
                [f"{root}/{file.name}" for file in files], schema, "parquet", system, days,
                partition_base_dir=f"{root}/{table}",
            ))  # fmt: skip
