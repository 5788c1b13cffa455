"""The manual's program that deletes old rows, and what kdbg's commands say of the tables after it."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from kdbg.ui.guide import text
from tests.cli.calls import CAPTURES, call
from tests.guide.blocks import blocks, check_python

from .conftest import Run

COUNT = "SELECT COUNT(*) AS n FROM exchanges"


@pytest.mark.parametrize(("days", "left"), [("90", 58), ("-36500", 0)])
def test_rows_older_than_some_days_are_deleted(run: Run, tmp_path: Path, days: str, left: int) -> None:
    out, _ = run([CAPTURES / "errors.pcap"], out=tmp_path / "tables")
    [block] = [block for block in blocks(text("pipeline")) if block.language == "python retention"]
    if left:  # the captures are of 2026
        block = block._replace(text=block.text.replace("date.today()", "date(2026, 12, 1)"))
    check_python(block._replace(text=block.text.replace("days=90", f"days={days}")), tmp_path)
    assert call("query", out, COUNT, "-f", "csv").out == f"n\n{left}\n"
    assert polars.read_delta(str(out / "exchanges")).height == left
    files = {path for path in (out / "exchanges").rglob("*.parquet") if "_delta_log" not in path.parts}
    assert call("tables", "vacuum", out, "--retention", 0).status == 0
    assert bool({path for path in files if path.exists()}) == bool(left)
    assert call("query", out, COUNT, "-f", "csv").out == f"n\n{left}\n"
