"""The tables of a database: captures, decoded as far as a question names them, and a pipeline's Parquet files."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import pyarrow as pa

from ...capture import Capture
from ...exchanges.filters.filter_set import Filters
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
    of the problems that were met.
    """

    def __init__(
        self, database: Database, tables: Set[str], filters: Filters, *, timed: bool = False,
        read: ReadBytes | None = None,
    ) -> None:  # fmt: skip
        super().__init__(filters, WantedRows.of(tables, timed=timed, read=read))
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
        if table == "problems":
            self.severities.add(cells[SEVERITY])
        if table in self.tables:
            self.store(table, cells, size)

    def store(self, table: str, cells: Cells, size: int = 0) -> None:
        """Keep rows of a table that is wanted, with so many bytes of large values."""
        waiting = self._waiting[table]
        waiting += cells
        self._size += size
        if len(waiting) >= ROWS * WIDTHS[table] or self._size >= SIZE:
            self._write(table)

    def _write(self, table: str) -> None:
        waiting = self._waiting[table]
        if waiting:
            self.database.insert(table, pa.Table.from_batches([batch(waiting, table)]))
            waiting.clear()
        if table == "records":
            self._size = 0


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
