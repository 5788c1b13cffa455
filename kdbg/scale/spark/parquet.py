"""Rows into Parquet: one writer per task, one file per table and day, closed before it grows past what readers like.

Files go into the tables' folders under names that no other task or attempt has; `close` names those that are complete.
Readers see a file once it is committed, and only what a finished task reported is committed (see commit.py).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from ...views.tables.arrow import TABLES, batch
from ...views.tables.cells import WIDTHS, Cells
from ...views.tables.columns import KEYS
from ...views.tables.columns import TABLES as COLUMNS
from .archive.store import HIDDEN, resolve

ROWS = 16_384
"""Rows of a table and day that are held before they are written, as one row group."""
ROWS_AT_ONCE = 1024
"""Rows that are held before they become columns: so few that a processor's cache still has them then."""
MOST_HELD = 64 << 20
"""Bytes of values that are held in all of them together."""
MOST_OPEN = 64
"""Files that are open at once; a capture can claim any number of days."""
COUNTING = {
    table: [
        column
        for column, kind in columns.items()
        if kind == "time" or (kind in ("int", "long") and column not in ("connection_id", "partition"))
    ]
    for table, columns in COLUMNS.items()
}
"""Table by table, the columns of numbers that seldom come again, but are near the ones before: Parquet keeps the
differences. Looking them up among those that were there takes longer, and four times the room."""
WITHIN = {"texts": (".list.element",), "shorts": (".list.element",), "ints": (".list.element",),
          "headers": (".key_value.key", ".key_value.value")}  # fmt: skip
"""What Parquet calls the columns inside of lists and maps, after the column's name."""
REPEATED = {
    table: [
        column + inside
        for column, kind in columns.items()
        for inside in WITHIN.get(kind, ("",))
        if column not in COUNTING[table] and column not in ("value", "value_text") and (column,) != KEYS.get(table)
    ]
    for table, columns in COLUMNS.items()
}
"""The columns whose values come again and again."""
PREFIXED = {"exchanges": {"exchange_uid": "DELTA_BYTE_ARRAY"}}
"""Columns of texts that all differ, but begin as the one before."""
UNDATED = "1970-01-01"
DAY = 86_400_000_000


class _Held:
    """What is held of a table and a day: cells of rows, and the columns that were made of earlier ones."""

    __slots__ = ("batches", "cells", "day", "enough", "number", "table")

    def __init__(self, table: str, day: str, number: int | None) -> None:
        self.table, self.day, self.number = table, day, number
        self.enough: int = ROWS_AT_ONCE * WIDTHS[table]
        self.cells: list[Any] = []
        self.batches: list[pa.RecordBatch] = []


class Tables:
    """Takes rows, in cells, by the name of their table; `time`, in microseconds since the epoch, says the day.

    `folder` is that of the run's temporary files; `run` is the name of the run in the tables, if that is another.
    """

    def __init__(self, folder: str, run: str = "") -> None:
        out, _, self.run = folder.rpartition(f"/{HIDDEN}")
        self.out, self._named = out, run or self.run
        self.counts: dict[str, int] = dict.fromkeys(TABLES, 0)
        self.files: list[tuple[str, int, int]] = []
        self._held: dict[tuple[str, str], _Held] = {}
        self._latest: dict[str, _Held] = {}
        self._open: dict[tuple[str, str], ParquetFile] = {}
        self._size = 0
        self._days: dict[int, str] = {}

    def add(self, table: str, time: int | None, cells: Cells, size: int = 0) -> None:
        """Add the cells of one row or several; `size` is the bytes of their large values."""
        held = self._latest.get(table)
        if held is None or time is None or time // DAY != held.number:
            number = None if time is None else time // DAY
            day = UNDATED if number is None else self._days.get(number)
            if day is None:
                assert number is not None
                day = self._days[number] = f"{datetime.fromtimestamp(number * 86_400, UTC):%Y-%m-%d}"
            held = self._held.get((table, day))
            if held is None:
                held = self._held[table, day] = _Held(table, day, number)
            self._latest[table] = held
        held.cells += cells
        if len(held.cells) >= held.enough:
            self._pack(held)
            if len(held.batches) >= ROWS // ROWS_AT_ONCE:
                self._write(held)
        if size:
            self._size += size
            if self._size > MOST_HELD:
                self._write_all()

    def close(self) -> dict[str, Any]:
        """Write what is held; return (name, bytes, rows) of each file, and the number of rows of each table."""
        self._write_all()
        self.files += [writer.close() for writer in self._open.values()]
        self._open.clear()
        return {"files": self.files, "rows": self.counts}

    def _write_all(self) -> None:
        for held in list(self._held.values()):
            self._write(held)
        self._size = 0

    def _pack(self, held: _Held) -> None:
        """Make columns of the rows that are held."""
        held.batches.append(batch(held.cells, held.table, self._named))
        self.counts[held.table] += held.batches[-1].num_rows
        held.cells.clear()

    def _write(self, held: _Held) -> None:
        """Write all that is held of a table and a day, and forget it."""
        del self._held[held.table, held.day]
        self._latest.pop(held.table, None)
        self._pack(held)
        self._writer(held.table, held.day).write(pa.Table.from_batches(held.batches))

    def _writer(self, table: str, day: str) -> ParquetFile:
        found = self._open.get((table, day))
        if found is not None:
            return found
        if len(self._open) >= MOST_OPEN:
            self.files.append(self._open.pop(next(iter(self._open))).close())
        writer = self._open[table, day] = ParquetFile(
            self.out, f"{table}/date={day}", self.run, TABLES[table], use_dictionary=REPEATED[table],
            column_encoding=dict.fromkeys(COUNTING[table], "DELTA_BINARY_PACKED") | PREFIXED.get(table, {}),
        )  # fmt: skip
        return writer


class ParquetFile:
    """A file of a table in the folder `out`; its name begins with the run's."""

    def __init__(self, out: str, folder: str, run: str, schema: pa.Schema, **options: Any) -> None:
        system, root, _ = resolve(out)
        self.name: str = f"{folder}/{run}-{uuid4().hex}.parquet"
        self.rows = 0
        system.create_dir(f"{root}/{folder}")
        self._sink = system.open_output_stream(f"{root}/{self.name}")
        self._writer = pq.ParquetWriter(self._sink, schema, compression="zstd", **options)

    def write(self, rows: pa.Table) -> None:
        """Append rows."""
        self._writer.write_table(rows)
        self.rows += rows.num_rows

    def close(self) -> tuple[str, int, int]:
        """Complete the file; return its name in the folder of the tables, its bytes and its rows."""
        self._writer.close()
        size = int(self._sink.tell())
        self._sink.close()
        return self.name, size, self.rows
