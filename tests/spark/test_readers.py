"""Polars, DuckDB, pandas, Spark and kdbg read the same rows of every table, before and after a compaction."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest
from deltalake import DeltaTable

from kdbg.scale.query.database import Database
from kdbg.scale.query.sources import show
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.delta import DeltaFolder
from kdbg.scale.spark.maintenance import compact
from kdbg.scale.spark.sql import tables
from kdbg.views.tables.columns import TABLES
from kdbg.views.tables.message_columns import WantedRows
from tests.cli.calls import CAPTURES

from .conftest import Run

NUMBERS = {"short", "int", "long"}
Sums = list[int | None]


def asked(table: str) -> str:
    """The rows, those that have a value in each column, and the sum of each column of numbers, in SQL."""
    sums = [f'CAST(sum("{name}") AS BIGINT)' for name, kind in TABLES[table].items() if kind in NUMBERS]
    return ", ".join(["count(*)", *(f'count("{name}")' for name in (*TABLES[table], "date")), *sums])


def of_polars(out: Path, table: str) -> Sums:
    frame = polars.read_delta(str(out / table))
    counts = [frame[name].count() for name in (*TABLES[table], "date")]
    sums = [frame[name].cast(polars.Int64).sum() for name, kind in TABLES[table].items() if kind in NUMBERS]
    return [frame.height, *counts, *sums]


def of_pandas(out: Path, table: str) -> Sums:
    frame = DeltaTable(out / table).to_pandas()
    counts = [int(frame[name].count()) for name in (*TABLES[table], "date")]
    numbers = (frame[name] for name, kind in TABLES[table].items() if kind in NUMBERS)
    return [len(frame), *counts, *(int(column.sum()) for column in numbers)]


def of_duckdb(out: Path, table: str) -> Sums:
    with duckdb.connect() as connection:
        connection.register("stored", DeltaTable(out / table).to_pyarrow_dataset())
        [row] = connection.execute(f"SELECT {asked(table)} FROM stored").fetchall()
    return list(row)


def of_spark(spark: Any, out: Path, table: str) -> Sums:
    files = DeltaTable(out / table).file_uris()
    frame = spark.read.option("basePath", f"{out}/{table}").parquet(*files)
    [row] = frame.selectExpr(*asked(table).replace('"', "`").split(", ")).collect()
    return list(row)


def of_kdbg(out: Path, table: str) -> Sums:
    with closing(Database()) as database:
        show(database, DeltaFolder(str(out)).files([table]), {table})
        [row] = database.answer(f"SELECT {asked(table)} FROM {table}").rows
    return list(row)


def of_kdbg_on_spark(spark: Any, out: Path, table: str) -> Sums:
    [row] = tables(spark, str(out))[table].selectExpr(*asked(table).replace('"', "`").split(", ")).collect()
    return list(row)


def test_all_readers_have_the_same_rows(run: Run, spark: Any, tmp_path: Path) -> None:
    out, wanted = tmp_path / "tables", WantedRows(records=True, values=True)
    for name in ("errors", "transactions"):
        run([CAPTURES / f"{name}.pcap"], out=out, append=True, wanted=wanted)
    before: dict[str, Sums] = {}
    for merged in (False, True):
        if merged:
            assert {after for _, _, after in compact(Output(str(out)))} <= {0, 1}
        for table in TABLES:
            found = of_polars(out, table)
            assert found[0]
            assert before.setdefault(table, found) == found
            sums = [value or 0 for value in found]
            others = of_pandas(out, table), of_duckdb(out, table), of_spark(spark, out, table), of_kdbg(out, table)
            for other in (*others, of_kdbg_on_spark(spark, out, table)):
                assert [value or 0 for value in other] == sums, table


@pytest.mark.usefixtures("spark")
def test_a_reader_has_nothing_of_files_that_are_not_in_the_log(run: Run, tmp_path: Path) -> None:
    out, outcome = run([CAPTURES / "errors.pcap"])
    path = next((out / "exchanges").glob("date=*/*.parquet"))
    (path.parent / "killed-0.parquet").write_bytes(path.read_bytes())
    for read in (of_kdbg, of_duckdb, of_polars, of_pandas):
        assert read(out, "exchanges")[0] == outcome.rows["exchanges"]
