"""The SQL of the dashboard over tables runs in DuckDB, on the tables of a pipeline."""

from __future__ import annotations

import json
import re
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from tests.cli.calls import CAPTURES, call

from .conftest import Run


def test_every_table_and_column_exists(run: Run) -> None:
    out, _ = run([CAPTURES / "errors.pcap", CAPTURES / "group-rebalance.pcap"], diagnose=True)
    connection = duckdb.connect()  # without what kdbg query adds to it
    connection.execute("SET TimeZone = 'UTC'")
    for table in sorted(path.name for path in out.iterdir() if (path / "_delta_log").is_dir()):
        connection.register(table, DeltaTable(str(out / table)).to_pyarrow_dataset())
    panels: list[dict[str, Any]] = json.loads(call("guide", "--dashboard", "tables").out)["panels"]
    assert len(panels) == 10
    for panel in panels:
        sql = panel["targets"][0]["rawSql"].replace("${__interval_ms}", "60000")
        sql = re.sub(r"\$__timeFilter\((\w+)\)", r"\1 >= '2026-01-01T00:00:00Z' AND \1 <= '2027-01-01T00:00:00Z'", sql)
        assert "$" not in sql
        found = connection.execute(sql)
        columns = [(name, str(kind)) for name, kind, *_ in found.description or ()]
        assert found.fetchall(), panel["title"]
        if panel["type"] == "timeseries":
            assert columns[0] == ("time", "TIMESTAMP WITH TIME ZONE"), panel["title"]
            assert 2 <= len(columns) <= 3
    with pytest.raises(duckdb.BinderException):
        connection.execute("SELECT no_such_column FROM exchanges")
