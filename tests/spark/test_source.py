"""`spark.read.format("kdbg")`: captures as DataFrames, with the rows that the pipeline makes of them."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql.datasource import EqualTo, Filter, LessThan

import kdbg
import kdbg.spark
from kdbg.errors import SparkError
from kdbg.scale.spark.source import Captures, DefaultSource, KdbgSource, PushedDown, SourceOptions
from kdbg.views.tables.columns import TABLES, TIMES
from kdbg.views.tables.message_columns import WantedRows
from tests.cli.calls import CAPTURES, ENVIRONMENT, MAIN, SHARED, SHIPPED, call, spawn

from ..cases import by_day
from .archives import START, concatenated, records, rolled, write
from .conftest import Run
from .decoded import decoded

ERRORS = CAPTURES / "errors.pcap"


def rows(frame: Any) -> list[str]:
    return sorted(map(repr, (tuple(row) for row in frame.collect())))


def test_every_exchange_of_every_capture_is_there(spark: Any) -> None:
    paths = by_day([*SHIPPED, *SHARED], 4)
    frame = kdbg.spark.exchanges(spark, [str(path) for path in paths])
    found = [
        (row.capture, row.client, row.broker, row.api, row.correlation_id, row.latency_us, tuple(row.notes),
         row.request_packet, row.response_packet)
        for row in frame.collect()
    ]  # fmt: skip
    wanted = [(*row[:4], *row[6:7], *row[8:10], row[10] and row[10][2], row[11] and row[11][2])
              for row in decoded(paths)]  # fmt: skip
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


@pytest.mark.parametrize("table", TABLES)
def test_a_rolled_capture_has_the_rows_of_the_pipeline(spark: Any, run: Run, tmp_path: Path, table: str) -> None:
    folder = rolled(tmp_path / "roll", concatenated(6), 5, Random(5))
    out, _ = run([folder], wanted=WantedRows(records=True))
    source = getattr(kdbg.spark, table)(spark, str(folder))
    made = spark.read.parquet(str(out / table)).drop("date")
    assert source.columns == made.columns
    other = {"topic", "topics", "run", "number", "connection", *TIMES}  # what only the pipeline has, or learns later
    steady = [name for name in source.columns if name not in other]
    assert rows(source.select(*steady)) == rows(made.select(*steady))
    assert table == "groups" or rows(source)


def test_filters_are_those_of_decode(spark: Any) -> None:
    chosen = {"api": ["produce", "fetch"], "errors": True, "port": 9092, "since": "1970-01-02"}
    frame = kdbg.spark.exchanges(spark, str(ERRORS), **chosen)
    options = ("--api", "produce", "--api", "fetch", "--errors", "--port", 9092, "--since", "1970-01-02")
    wanted = [line["correlation_id"] for line in call("decode", ERRORS, "--format", "json", *options).lines]
    assert sorted(row.correlation_id for row in frame.collect()) == sorted(wanted) != []


def test_a_query_gets_the_rows_that_it_asks_for_whatever_is_pushed_down(spark: Any) -> None:
    frame = kdbg.spark.exchanges(spark, [str(ERRORS), str(CAPTURES / "first-contact.pcap")])
    every = [row.asDict() for row in frame.collect()]
    broker = every[0]["broker"]
    found = frame.where((frame.broker == broker) & (frame.capture == ERRORS.name) & (frame.request_time < "2100-01-01"))
    wanted = [row for row in every if row["broker"] == broker and row["capture"] == ERRORS.name]
    assert sorted(map(repr, wanted)) == sorted(repr(row.asDict()) for row in found.collect()) != []


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        (EqualTo(("capture",), ERRORS.name), {ERRORS.name}),
        (LessThan(("request_time",), datetime(1999, 1, 1, tzinfo=UTC)), set()),
        (EqualTo(("api",), "Fetch"), {path.name for path in SHIPPED}),
    ],
)
def test_captures_that_cannot_have_what_is_asked_for_are_not_read(condition: Filter, left: set[str]) -> None:
    reader = PushedDown(SourceOptions.of({"path": f"{CAPTURES}/*.pcap*"}))
    assert reader.pushFilters([condition]) == [condition], "Spark applies every condition itself"
    plans = [part.value for part in reader.partitions() if part.value is not None]
    assert {plan.captures[plan.splits[0].capture] for plan in plans} == left


def test_pieces_of_a_capture_that_begin_too_late_are_not_read(tmp_path: Path) -> None:
    hours = [
        write(tmp_path / f"a.pcap{hour}", [struct.pack("<I", START + 3600 * hour) + packet[4:]])
        for hour, packet in enumerate(records(ERRORS)[:4])
    ]
    until = datetime.fromtimestamp(START + 3700, UTC).isoformat()
    (part,) = Captures(SourceOptions.of({"path": str(tmp_path), "until": until})).partitions()
    assert part.value is not None
    assert [part.value.files[split.file].name for split in part.value.splits] == [str(path) for path in hours[:2]]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "no captures given"),
        ({"path": "x", "table": "exchange"}, "unknown table 'exchange'; use one of exchanges, partitions"),
        ({"path": "x", "tabel": "exchanges"}, "unknown option 'tabel'"),
        ({"path": "x", "errors": "maybe"}, "option errors: invalid value 'maybe'; use true or false"),
        ({"path": "x", "since": "noon"}, "option since: invalid value 'noon'; use a time such as"),
        ({"path": "x", "port": "kafka"}, "option port: invalid value 'kafka'; use a number"),
        ({"path": "x", "api": "metadat"}, "unknown API 'metadat'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(kdbg.KdbgError, match=problem):
        SourceOptions.of(options)


def test_a_folder_without_captures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SparkError, match="no captures in"):
        Captures(SourceOptions.of({"path": str(tmp_path)})).partitions()


def test_what_spark_finds_by_itself_pushes_nothing_down() -> None:
    """A session that was not told to allow it fails where a reader could."""
    found = DefaultSource({"path": str(ERRORS)})
    assert found.name() == KdbgSource.name() == "kdbg"
    assert not isinstance(found.reader(found.schema()), PushedDown)


@pytest.mark.nightly  # a session of its own; what it finds is tested by day, and what the wheel has in tests/guide
@pytest.mark.usefixtures("spark")
def test_spark_finds_it_where_it_is_installed(tmp_path: Path) -> None:
    shutil.copy(MAIN / "kdbg/scale/spark/discovered.py", tmp_path / "pyspark_kdbg.py")
    program = f"""
from kdbg.scale.spark import session
spark = session.start("local[1]", {{"spark.sql.python.filterPushdown.enabled": "false"}})
print(spark.read.format("kdbg").load({str(ERRORS)!r}).where("api = 'Metadata'").count())
session.stop(spark)"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300,
        env=ENVIRONMENT | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(MAIN)])},
    )  # fmt: skip
    assert int(done.stdout) == len(spawn("decode", ERRORS, "--format", "json", "--api", "metadata").lines), done.stderr
