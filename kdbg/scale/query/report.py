"""The SQL of reports (kdbg/views/report/queries.py), run by DuckDB on captures or on a folder of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from ...analysis.ledgers import Ledgers
from ...capture import Capture
from ...capture.names import path_of
from ...exchanges.engine.engine import Engine
from ...exchanges.filters.filter_set import Filters
from ...views.render.values import escape
from ...views.report.causes import ReportedCauses
from ...views.report.queries import Ask
from ...views.tables.columns import TABLES
from ..spark.delta import DeltaFolder
from .database import DATED, Database
from .sources import Decoded, show

NEEDED = frozenset(TABLES) - {"records"}
"""The tables that reports query."""
LISTS = frozenset({"topics", "errors"})
"""The columns with lists that reports query."""
HOST = "regexp_replace(client, ':[0-9]+$', '') AS host"
FILES = "SELECT run, capture, MIN(file) FROM files WHERE packets > 0 GROUP BY 1, 2 HAVING COUNT(*) = 1"
ERRORS = "CREATE TEMP VIEW errors AS SELECT *, unnest(errors) AS error FROM exchanges"


def asking(database: Database, *, copied: bool = False) -> Ask:
    """Return a function that runs the SQL of reports on a database.

    With `copied` the columns are read from their files once, and not for each query. The views have the names of the
    tables: DuckDB looks a name up among temporary ones first.
    """
    for table in NEEDED:
        same = {"connection_uid": "capture, connection_id", "exchange_uid": f"capture, connection_id, {DATED[table]}"}
        uids = {uid: f"COALESCE({uid}, concat_ws(' ', {of})) AS {uid}" for uid, of in same.items()}  # of kdbg 0.1
        columns = [
            f"epoch_us({column}) AS {column}" if kind == "time" else uids.get(column, f'"{column}"')
            for column, kind in TABLES[table].items()
            if kind not in ("texts", "shorts", "ints") or column in LISTS
        ]
        columns += [HOST] * (table == "connections")
        kind = "TABLE" if copied else "VIEW"
        database.run(f"CREATE TEMP {kind} {table} AS SELECT {', '.join(columns)} FROM memory.main.{table}")
    database.run(ERRORS)
    return lambda sql: database.answer(sql).rows


def of_tables(database: Database, folder: str) -> Ask:
    """Return a function that runs the SQL of reports on the tables in a folder."""
    stored = DeltaFolder(folder)
    show(database, stored.files(NEEDED), NEEDED)
    ask, roots = asking(database, copied=True), stored.roots()
    paths = ((run, capture, escape(path_of(roots.get(run, ()), file))) for run, capture, file in ask(FILES))
    database.register("places", placed(paths))
    return ask


def placed(places: Iterable[tuple[str | None, str, str]]) -> pa.Table:
    """Return the path of each capture that is one file, given as (run, capture, path), as an Arrow table."""
    schema = pa.schema([(name, pa.string()) for name in ("run", "capture", "path")])
    return pa.Table.from_pylist([dict(zip(schema.names, one, strict=True)) for one in places], schema)


class Reported(Decoded):
    """Takes captures one by one, and then SQL in `ask`. `diagnosis` holds the causes that are found in them."""

    def __init__(self, filters: Filters, jobs: int = 1) -> None:
        super().__init__(Database(), NEEDED, filters, timed=True, jobs=jobs)
        self.diagnosis: ReportedCauses = ReportedCauses()
        self._ledgers: Ledgers | None = None
        self._ask: Ask = asking(self.database)
        self._places: list[tuple[None, str, str]] = []

    def ask(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Answer a question in SQL."""
        if self._places:
            self.database.register("places", placed(self._places))
            self._places = []
        return iter(self._ask(sql))

    def close(self) -> None:
        """Close the database, and forget all rows."""
        self.database.close()

    def capture(self, capture: Capture, filters: Filters | None = None, name: str = "") -> None:
        """Decode a capture, and judge it: all that was read of it, whatever filters let through."""
        super().capture(capture, filters, name)
        self._places.append((None, escape(name or capture.name), escape(capture.name)))
        ledgers, self._ledgers = self._ledgers, None
        if ledgers is not None:
            self.diagnosis.take(ledgers, capture.name)

    def ledgers(self, engine: Engine) -> Ledgers:
        self._ledgers = Ledgers(engine.names_then)
        return self._ledgers
