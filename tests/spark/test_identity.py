"""Rows have the same identity however captures are read: by `kdbg query`, in one run, hour by hour, from a copy."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kdbg.capture import open_capture
from kdbg.capture.names import named_files
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.query.database import Database
from kdbg.scale.query.sources import Decoded
from kdbg.scale.spark.archive.plan import plan
from kdbg.scale.spark.commit import Output
from kdbg.views.tables.columns import KEYS, REFERENCES, TABLES
from kdbg.views.tables.message_columns import WantedRows
from tests.cli.calls import CAPTURES, SHIPPED

from .archives import concatenated, rolled, write
from .conftest import Run
from .decoded import ask

ONLY_LOCAL = set[str]()
"""Columns that Spark leaves null."""
OF_FILES = {"size", "gap_us"}
"""Columns that are about files as the pipeline reads them."""
Rows = dict[str, list[str]]


def queried(paths: Sequence[Path], *, without: frozenset[str] = frozenset()) -> Rows:
    """The rows of all tables as `kdbg query CAPTURE…` has them."""
    named = named_files((str(path), str(path)) for path in paths)
    with closing(Database()) as database:
        captures = Decoded(database, TABLES.keys(), Filters(), timed=True)
        for path, file in zip(paths, named, strict=True):
            with open_capture(str(path)) as capture:
                captures.capture(capture, name=file.name)
        return {
            table: sorted(map(repr, database.answer(f"SELECT {chosen(table, without)} FROM {table}").rows))
            for table in TABLES
        }


def stored(out: Path, *, without: frozenset[str] = frozenset()) -> Rows:
    """The same of the tables of a pipeline."""
    with closing(Database()) as database:
        from kdbg.scale.query.sources import show
        from kdbg.scale.spark.delta import DeltaFolder

        show(database, DeltaFolder(str(out)).files(TABLES), TABLES.keys())
        return {
            table: sorted(map(repr, database.answer(f"SELECT {chosen(table, without)} FROM {table}").rows))
            for table in TABLES
        }


def chosen(table: str, without: frozenset[str]) -> str:
    left = without | {"run"} | (OF_FILES if table == "files" else set())
    return ", ".join(f'"{column}"' for column in TABLES[table] if column not in left)


def test_every_row_is_that_of_the_query_of_its_capture(run: Run) -> None:
    out, _ = run(SHIPPED, wanted=WantedRows(records=True, values=True))
    without = frozenset(ONLY_LOCAL)
    found, wanted = stored(out, without=without), queried(SHIPPED, without=without)
    for table in TABLES:
        assert found[table] == wanted[table], table
        assert found[table]


def test_keys_are_unique_over_all_runs_and_references_lead_to_one_row(run: Run, tmp_path: Path) -> None:
    for half in (SHIPPED[::2], SHIPPED[1::2]):
        run(half, out=tmp_path / "tables", append=True)
    for table, key in KEYS.items():
        columns = ", ".join(key)
        twice = f"SELECT {columns}, count(*) FROM {{{table}}} GROUP BY {columns} HAVING count(*) > 1"
        assert ask(tmp_path / "tables", twice) == [], table
    for table, columns_of in TABLES.items():
        for column, of in REFERENCES.items():
            if column not in columns_of or table == of:
                continue
            joined = f"SELECT count(*), count(b.{column}) FROM {{{table}}} a LEFT JOIN {{{of}}} b USING ({column})"
            joined += f" WHERE a.{column} IS NOT NULL"
            [(rows, found)] = ask(tmp_path / "tables", joined)
            [(wanted,)] = ask(tmp_path / "tables", f"SELECT count({column}) FROM {{{table}}}")
            assert rows == found == wanted, (table, column)
    [(runs, unknown)] = ask(
        tmp_path / "tables",
        """
        SELECT count(DISTINCT run), count(*) FILTER (WHERE run NOT IN (SELECT run FROM {runs})) FROM {exchanges}""",
    )
    assert (runs, unknown) == (2, 0)


def test_hour_by_hour_is_as_all_at_once_but_for_connections_that_were_open(run: Run, tmp_path: Path) -> None:
    folder = rolled(tmp_path / "rolled", concatenated(12), 6, Random(1))
    once, _ = run([folder])
    for file in sorted(folder.iterdir(), key=lambda path: int(path.name.partition("pcap")[2] or 0)):
        run([file], out=tmp_path / "hourly", append=True)
    whole = "SELECT exchange_uid FROM {exchanges} WHERE request_bytes IS NOT NULL AND response_bytes IS NOT NULL"
    both = [{uid for (uid,) in ask(out, whole)} for out in (once, tmp_path / "hourly")]
    assert len(both[0]) > 100
    assert len(both[0] & both[1]) > 50
    times = [{uid.partition("-")[2] for uid in uids} for uids in both]
    assert times[1] <= times[0], "what follows the connection is the same even where an append begins in its midst"
    assert len(times[0] - times[1]) < 6, "but for requests and responses that a cut divides"
    assert ask(once, "SELECT DISTINCT capture FROM {exchanges}") == ask(
        tmp_path / "hourly", "SELECT DISTINCT capture FROM {exchanges}"
    )


def test_numbers_are_null_where_a_capture_was_divided(run: Run, tmp_path: Path) -> None:
    packets = concatenated(12)
    whole, folder = write(tmp_path / "whole.pcap", packets), rolled(tmp_path / "rolled", packets, 4, Random(1))
    columns = "number, connection, waiting_us, throttle_us, network_us, held_us, broker_us, reading_us, latency_us"
    question = f"SELECT exchange_uid[18:], {columns} FROM {{exchanges}}"
    at_once, pieces = (sorted(map(repr, ask(run([path])[0], question))) for path in (whole, folder))
    assert at_once == pieces != []
    for options in ({"split": 1 << 16}, {"filters": Filters(port=9092)}):
        out, _ = run([folder], **options)
        numbers = "count(number), count(connection), count(broker_us), count(DISTINCT exchange_uid) > 50"
        assert ask(out, f"SELECT {numbers} FROM {{exchanges}}") == [(0, 0, 0, True)]
    late = plan([str(folder)])
    assert all(split.whole for split in late.splits)
    assert not any(split.whole for split in late.between(None, (late.splits[2].time or 0) - 10**12).splits)


def test_a_copy_adds_nothing(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(CAPTURES / "errors.pcap", folder / "errors.pcap")
    once, _ = run([folder])
    shutil.copy(CAPTURES / "errors.pcap", folder / "later.pcap")
    (folder / "packed.pcap.gz").write_bytes(gzip.compress((CAPTURES / "errors.pcap").read_bytes()))
    (folder / "longer.pcap").write_bytes((CAPTURES / "errors.pcap").read_bytes()[:-1])
    found = plan([str(folder)])
    assert [file.named for file in found.files] == ["errors.pcap", "longer.pcap"], "which has a packet less"
    assert [(Path(name).name, problem) for name, problem in found.refused] == [
        (name, f"the same packets as {folder / 'errors.pcap'}") for name in ("later.pcap", "packed.pcap.gz")
    ]
    (folder / "longer.pcap").unlink()
    twice, _ = run([folder])
    for table in TABLES:
        if table not in ("files", "records"):
            question = f"SELECT * EXCLUDE (run) FROM {{{table}}}"
            assert sorted(map(repr, ask(once, question))) == sorted(map(repr, ask(twice, question))), table
    assert sorted(ask(twice, "SELECT file, packets IS NULL, problem FROM {files}")) == [
        ("errors.pcap", False, None),
        ("later.pcap", True, f"skipped: the same packets as {folder / 'errors.pcap'}"),
        ("packed.pcap.gz", True, f"skipped: the same packets as {folder / 'errors.pcap'}"),
    ]
    assert len(plan([str(folder)], allow_duplicates=True).files) == 3
    named_first = plan([str(folder / "packed.pcap.gz"), str(folder)])
    assert [file.named for file in named_first.files] == ["packed.pcap.gz"]


def test_what_the_tables_contain_is_recognised_under_another_name(run: Run, tmp_path: Path) -> None:
    original = CAPTURES / "errors.pcap"
    out, _ = run([original, CAPTURES / "first-contact.pcap"])
    contents = Output(str(out)).contents()
    assert len(contents) == 2
    names = [tmp_path / "copy.pcap", tmp_path / "packed.pcap.gz"]
    names[0].write_bytes(original.read_bytes())
    names[1].write_bytes(gzip.compress(original.read_bytes()))
    for name in names:
        found = plan([str(name)], contents=contents)
        assert not found.files
        assert found.refused == [(str(name), "the tables already contain its packets")]
        assert plan([str(name)], contents=contents, allow_duplicates=True).files
    assert plan([str(CAPTURES / "real-go.pcap")], contents=contents).files


def test_files_are_named_below_what_the_user_named(run: Run, tmp_path: Path) -> None:
    deep = tmp_path / "in" / "deep"
    deep.mkdir(parents=True)
    write(deep / "x-2026-11-21.pcap", concatenated(1))
    shutil.copy(CAPTURES / "nanosecond.pcapng", tmp_path / "in" / "cut.pcapng")
    (tmp_path / "in" / "cut.pcapng").write_bytes((CAPTURES / "nanosecond.pcapng").read_bytes()[:-5])
    out, _ = run([tmp_path / "in"])
    assert sorted(ask(out, "SELECT capture, file FROM {files}")) == [
        ("cut.pcapng", "cut.pcapng"), ("deep/x-*.pcap", "deep/x-2026-11-21.pcap"),
    ]  # fmt: skip
    assert ask(out, "SELECT capture, file FROM {problems} WHERE file IS NOT NULL") == [("cut.pcapng", "cut.pcapng")]


@pytest.mark.parametrize("path", SHIPPED[:1], ids=lambda path: path.name)
def test_a_row_of_the_query_has_no_run(path: Path) -> None:
    with closing(Database()) as database:
        captures = Decoded(database, {"exchanges"}, Filters())
        with open_capture(str(path)) as capture:
            captures.capture(capture)
        found: list[tuple[Any, ...]] = [*database.answer("SELECT DISTINCT run FROM exchanges").rows]
    assert found == [(None,)]
