"""Reports of tables: the same as those of the captures that the pipeline decoded."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kdbg.capture import open_capture
from kdbg.errors import InputError
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.query.database import Database
from kdbg.scale.query.report import Reported, of_tables
from kdbg.views.report.page import Report, report
from kdbg.views.report.page_data import moving
from kdbg.views.report.queries import Ask
from tests.cli.calls import CAPTURES, call
from tests.report.scripted import scripted

from ..cases import by_day
from .conftest import Run

NAMES = ("errors.pcap", "group-rebalance.pcap", "real-4.4.0-transactions.pcap", "real-sasl-scram.pcap")

SPENT = ("Latency breakdown by API", "Latency breakdown by client")
"""What tables of the pipeline do not tell: packets do."""


def told(found: Report) -> dict[str, Any]:
    """All that a page shows, but for the names of files, which the pipeline spells out, and what tables do not tell."""
    sections = {section.id: (section.charts, [table for table in section.tables if table.caption not in SPENT])
                for section in found.sections
                if section.id not in ("files", "worth")}  # fmt: skip
    return {"tiles": found.tiles, "span": found.span, **sections}


def parts_of(ask: Ask, whole: Report) -> dict[str, Any]:
    """What filters move: names to choose, and what the parts come to, list by list and chart by chart."""
    found = moving(ask, whole)
    assert found is not None
    lists = {name: sorted([found["origins"][origin], row] for asked in told["asked"] for row, origin, *_ in
                          asked["parts"]) for name, told in found["lists"].items()
             if name not in ("point latency", "Notable exchanges", *SPENT)}  # fmt: skip
    charts = {name: sorted([found["origins"][part[0]], *part[1:]] for part in told["parts"])
              for name, told in found["charts"].items() if told.get("way") in ("sum", "percentiles")}  # fmt: skip
    return {"options": found["options"], "lists": lists, "charts": charts}


def test_tables_and_captures_make_the_same_report(run: Run, tmp_path: Path) -> None:
    made = tmp_path / "scripted.pcap"
    made.write_bytes(scripted())
    captures = [made, *(CAPTURES / name for name in by_day(NAMES, 4))]
    out, _ = run(captures)
    with closing(Reported(Filters())) as collected:
        for path in captures:
            with open_capture(path) as capture:
                collected.capture(capture)
        decoded = report(collected.ask)
        expected, here = told(decoded), parts_of(collected.ask, decoded)
    database = Database()
    with closing(database):
        check(of_tables(database, str(out)), expected, here)


def check(asked: Ask, expected: dict[str, Any], here: dict[str, Any]) -> None:
    tabled = report(asked)
    found = told(tabled)
    for part in expected:
        assert found[part] == expected[part], part

    assert found["errors"][1]
    there = parts_of(asked, tabled)
    for part in here["lists"]:
        assert there["lists"][part] == here["lists"][part], part
    assert there == here


def test_a_page_of_tables_has_the_causes_of_its_captures(run: Run, tmp_path: Path) -> None:
    path = CAPTURES / "errors.pcap"
    judged, _ = run([path], diagnose=True)
    plain, _ = run([path])
    pages = {folder: call("report", folder, "-o", "-") for folder in (path, judged, plain)}
    causes = {folder: re.findall(r'data-code="([^"]+)"', page.out) for folder, page in pages.items()}
    assert causes[judged] == causes[path]
    assert causes[path]
    assert causes[plain] == []
    assert "without --diagnose" in pages[plain].err
    assert "created without kdbg pipeline --diagnose" in pages[plain].out
    assert f"kdbg decode {path}#" in pages[judged].out
    rows = {folder: set(re.findall(r"kdbg decode \S+errors\.pcap#\d+", page.out)) for folder, page in pages.items()}
    names = {folder: {name.rpartition("/")[2] for name in found} for folder, found in rows.items()}
    assert names[plain], "of exchanges, without causes"
    assert names[plain] <= names[path]
    assert names[judged] == names[path]


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with closing(Database()) as database, pytest.raises(InputError, match=": no tables; create them"):
        of_tables(database, str(tmp_path))
