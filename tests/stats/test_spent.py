"""Where the time of exchanges went, summed up: the numbers of `decode --latency` counted another way, in every form."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kdbg.analysis.stats.measures import ON, PARTS, SPENT, Tally
from kdbg.capture import open_capture
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.query.database import Database
from kdbg.scale.query.report import Reported
from kdbg.views.report.facts import listed
from kdbg.views.report.queries import SPENT as BREAKDOWNS
from kdbg.views.tables.columns import TIMES

from ..cases import by_day, for_each
from ..cli.calls import CAPTURES, call
from ..diagnosis.books import STAGED

FILES = [
    CAPTURES / "pipelined-acks0.pcap", CAPTURES / "errors.pcap", STAGED / "client-reads-late.pcap.gz",
    STAGED / "metadata-behind-a-long-poll.pcap.gz",
]  # fmt: skip


def expected(path: Path) -> dict[str, dict[str, list[float]]]:
    """The milliseconds of each part by API, as each exchange has them."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in call("decode", path, "-f", "json", "--latency").lines:
        for part in PARTS if line.get("split") else ():
            if line["split"][f"{part}_ms"] is not None:
                found[line["api"]][part].append(line["split"][f"{part}_ms"])
    return found


def rows(path: Path, *more: str) -> dict[str, dict[str, Any]]:
    made = call("stats", path, "--by", "api", "--latency", "-f", "json", *more).out
    return {row["api"]: row for row in map(json.loads, made.splitlines())}


def test_every_part_has_its_measures_and_its_column() -> None:
    assert list(ON) == list(PARTS)
    assert set(SPENT) == {f"{part}_{what}_ms" for part in PARTS for what in ("p50", "p95", "sum")}
    assert tuple(f"{part}_us" for part in PARTS) == TIMES
    assert all(one.of(Tally()) is None for one in SPENT.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_stats_sum_up_what_each_exchange_says(path: Path) -> None:
    found, every = rows(path), expected(path)
    assert every
    for api, row in found.items():
        for part in PARTS:
            times = sorted(every[api][part]) if api in every else []
            total = row[f"{part}_sum_ms"]
            assert (total is None) == (not times)
            if times:
                assert total == pytest.approx(sum(times), abs=1e-6)
                middle = times[(len(times) + 1) // 2 - 1]
                assert row[f"{part}_p50_ms"] == pytest.approx(middle, rel=0.01, abs=1e-5)


@pytest.mark.parametrize("path", FILES[:2], ids=lambda path: path.name)
def test_all_forms_say_the_same_and_only_where_it_is_asked_for(path: Path) -> None:
    found = rows(path)
    table = call("stats", path, "--by", "api", "--latency", "-f", "csv").out
    for row in csv.DictReader(io.StringIO(table)):
        assert row["broker_sum_ms"] == ("" if found[row["api"]]["broker_sum_ms"] is None
                                        else str(found[row["api"]]["broker_sum_ms"]))  # fmt: skip
    assert rows(path, "--jobs", "2") == found
    plain = json.loads(call("stats", path, "--by", "api", "-f", "json").out.splitlines()[0])
    assert not set(SPENT) & set(plain)
    assert "where the time went" not in call("stats", path, "--by", "api").out
    assert "where the time went" in call("stats", path, "--latency").out


def test_rows_are_sorted_by_a_part() -> None:
    found = list(rows(FILES[0], "--sort", "waiting_sum").values())
    waited = [row["waiting_sum_ms"] for row in found]
    assert waited == sorted(waited, reverse=True)
    assert waited[0] > 0


def test_the_table_shows_parts_that_took_time() -> None:
    lines = call("stats", FILES[2], "--by", "api", "--latency").out.splitlines()
    heading = next(i for i, line in enumerate(lines) if "where the time went" in line)
    assert lines[heading].split() == ["api", "where", "the", "time", "went", "p50", "p95", "sum"]
    assert [line.rsplit(None, 3)[0].strip() for line in lines[heading + 1 : heading + 4]] == [
        "Fetch        network", "broker", "slow client reads",
    ]  # fmt: skip


@pytest.mark.parametrize("path", by_day(FILES, 3), ids=lambda path: path.name)
def test_tables_and_a_report_have_the_same_sums(path: Path) -> None:
    every = expected(path)
    sql = f"SELECT api, {', '.join(f'SUM({column}) AS {column}' for column in TIMES)} FROM exchanges GROUP BY api"
    asked = {row["api"]: row for row in map(json.loads, call("query", path, sql, "-f", "json").out.splitlines())}
    with closing(Reported(Filters())) as collected:
        with open_capture(path) as capture:
            collected.capture(capture)
        rows = listed(collected.ask, BREAKDOWNS[0]).rows
        by_api = {row[0]: dict(zip(TIMES, row[2:], strict=True)) for row in rows}
    for api, parts in every.items():
        for part, column in zip(PARTS, TIMES, strict=True):
            times = parts[part]
            assert asked[api][column] == by_api[api][column]
            if times:
                assert asked[api][column] == pytest.approx(sum(times) * 1000, abs=len(times))
            else:
                assert asked[api][column] is None


@for_each(
    ("sql", "asks"),
    [
        ("SELECT * FROM exchanges", True),
        ("SELECT e.* FROM exchanges e", True),
        ("select distinct * from exchanges", True),
        ("SELECT api, Waiting_US FROM exchanges", True),
        ("SELECT COUNT(*) FROM exchanges", False),
        ("SELECT latency_us * 2 FROM exchanges", False),
    ],
)
def test_the_time_is_spent_where_sql_names_it(sql: str, asks: bool) -> None:
    assert Database.asks_for_times(sql) is asks


def test_columns_that_nobody_asks_for_are_null() -> None:
    sql = "SELECT COUNT(broker_us) AS known, COUNT(latency_us) AS answered FROM exchanges"
    [row] = map(json.loads, call("query", FILES[0], sql, "-f", "json").out.splitlines())
    assert 0 < row["known"] <= row["answered"]
