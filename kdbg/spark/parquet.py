"""Rows into Parquet: one writer per task, one file per table and day, closed before it grows past what readers like.

Files go into the run's own folder under names that no other task or attempt has; `report` names those that are whole.
Only what a finished task reported becomes part of the tables (see commit.py).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq

from ..tables.arrow import TABLES, batch
from .archive.store import resolve
from .commit import HIDDEN

TableRow = tuple[Any, ...]
ROWS = 16_384
"""Rows of a table and day that are held before they are written, as one row group."""
HELD = 64 << 20
"""Bytes of values that are held in all of them together."""
MOST_OPEN = 64
"""Files that are open at once; a capture can claim any number of days."""
UNDATED = "1970-01-01"
DAY = 86_400_000_000


class Tables:
    """Takes rows by the name of their table; `time`, in microseconds since the epoch, says the day."""

    system: Any
    folder: str

    def __init__(self, folder: str) -> None:
        self.system, self.folder, _ = resolve(folder)
        self.run: str = folder.rpartition(HIDDEN)[2]
        self.counts: dict[str, int] = dict.fromkeys(TABLES, 0)
        self.files: list[str] = []
        self._rows: dict[tuple[str, str], list[TableRow]] = {}
        self._open: dict[tuple[str, str], pq.ParquetWriter] = {}
        self._held = 0
        self._days: dict[int, str] = {}

    def add(self, table: str, time: int | None, row: TableRow, size: int = 0) -> None:
        """Add one row; `size` is the bytes of its large values."""
        day = self._day(time)
        rows = self._rows.setdefault((table, day), [])
        rows.append(row)
        self.counts[table] += 1
        self._held += size
        if len(rows) >= ROWS:
            self._write(table, day)
        elif self._held > HELD:
            self._write_all()

    def empty(self, table: str) -> None:
        """Write a file without rows, so that the table exists."""
        self._writer(table, UNDATED)

    def close(self) -> dict[str, Any]:
        """Write what is held; return the files and the number of rows of each table."""
        self._write_all()
        for writer in self._open.values():
            writer.close()
        self._open.clear()
        return {"files": self.files, "rows": self.counts}

    def _day(self, time: int | None) -> str:
        if time is None:
            return UNDATED
        number = time // DAY
        day = self._days.get(number)
        if day is None:
            day = self._days[number] = f"{datetime.fromtimestamp(number * 86_400, UTC):%Y-%m-%d}"
        return day

    def _write_all(self) -> None:
        for table, day in list(self._rows):
            self._write(table, day)
        self._held = 0

    def _write(self, table: str, day: str) -> None:
        rows = self._rows.pop((table, day))
        self._writer(table, day).write_batch(batch(rows, TABLES[table]))

    def _writer(self, table: str, day: str) -> pq.ParquetWriter:
        found = self._open.get((table, day))
        if found is not None:
            return found
        if len(self._open) >= MOST_OPEN:
            self._open.pop(next(iter(self._open))).close()
        name = f"{table}/date={day}/{self.run}-{uuid4().hex}.parquet"
        path = f"{self.folder}/{name}"
        self.system.create_dir(path.rpartition("/")[0])
        self.files.append(name)
        writer = self._open[table, day] = pq.ParquetWriter(
            path, TABLES[table], compression="zstd", filesystem=self.system
        )
        return writer
