"""Reports of tables: the same questions, asked on Spark, have the same answers as where captures are decoded."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kdbg.capture import open_capture
from kdbg.errors import InputError
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.spark.sql import ADAPTIVE, asking
from kdbg.views.report.collector import Collected
from kdbg.views.report.page import Report, report
from kdbg.views.report.page_data import moving
from kdbg.views.report.queries import Ask
from tests.cli.calls import CAPTURES
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


def test_tables_and_captures_make_the_same_report(spark: Any, run: Run, tmp_path: Path) -> None:
    made = tmp_path / "scripted.pcap"
    made.write_bytes(scripted())
    captures = [made, *(CAPTURES / name for name in by_day(NAMES, 4))]
    out, _ = run(captures)
    with closing(Collected(Filters())) as collected:
        for path in captures:
            with open_capture(path) as capture:
                collected.capture(capture)
        decoded = report(collected.ask)
        expected, here = told(decoded), parts_of(collected.ask, decoded)
    session = spark.newSession()  # with settings and views of its own
    for name, value in ADAPTIVE.items():
        session.conf.set(name, value)
    asked = asking(session, str(out))
    tabled = report(asked)
    found = told(tabled)
    for part in expected:
        assert found[part] == expected[part], part

    assert found["errors"][1]
    there = parts_of(asked, tabled)
    for part in here["lists"]:
        assert there["lists"][part] == here["lists"][part], part
    assert there == here


def test_a_folder_without_tables_is_refused(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=": no tables"):
        asking(spark, str(tmp_path))
