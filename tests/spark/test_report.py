"""Reports of tables: the same questions, asked on Spark, have the same answers as where captures are decoded."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kdbg.capture import open_capture
from kdbg.errors import SparkError
from kdbg.filters.chosen import Filters
from kdbg.report.collected import Collected
from kdbg.report.sections import Report, report
from kdbg.spark.query.sql import ADAPTIVE
from kdbg.spark.query.views import asking
from tests.cli.calls import CAPTURES
from tests.report.scripted import scripted

from .conftest import Run

NAMES = ("errors.pcap", "group-rebalance.pcap", "real-4.4.0-transactions.pcap", "real-sasl-scram.pcap")


def told(found: Report) -> dict[str, Any]:
    """All that a page shows, but for the names of files, which the pipeline spells out, and what tables do not tell."""
    sections = {section.id: (section.charts, section.tables) for section in found.sections
                if section.id not in ("files", "worth")}  # fmt: skip
    charts, tables = sections["latency"]
    sections["latency"] = charts, [table for table in tables if table.caption != "Long polls by API"]
    return {"tiles": found.tiles, "span": found.span, **sections}


def test_tables_and_captures_make_the_same_report(spark: Any, run: Run, tmp_path: Path) -> None:
    made = tmp_path / "scripted.pcap"
    made.write_bytes(scripted())
    captures = [made, *(CAPTURES / name for name in NAMES)]
    out, _ = run(captures)
    with closing(Collected(Filters())) as collected:
        for path in captures:
            with open_capture(path) as capture:
                collected.capture(capture)
        expected = told(report(collected.ask))
    session = spark.newSession()  # with settings and views of its own
    for name, value in ADAPTIVE.items():
        session.conf.set(name, value)
    found = told(report(asking(session, str(out))))
    for part in expected:
        assert found[part] == expected[part], part

    assert found["errors"][1]


def test_a_folder_without_tables_is_refused(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(SparkError, match="holds no tables"):
        asking(spark, str(tmp_path))
