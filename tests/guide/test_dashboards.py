"""The Grafana dashboards: as generated, and of metrics and labels that there are; their SQL runs in tests/spark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kdbg.scale.signals.metrics import FAMILIES, Type
from kdbg.ui.cli import commands
from kdbg.ui.guide import text
from kdbg.views.tables.columns import CAUSES, RUNS, TABLES

from ..cli.calls import CAPTURES, call
from .dashboards import DUCKDB, FOLDER, PROMETHEUS, dashboards

METRIC = re.compile(r"\b((?:kdbg|messaging_client)_[a-z_]+)(?:\{([^}]*)\})?")
SUFFIXES = ("_bucket", "_sum", "_count")
LABELS = {
    f"{one.full_name}{suffix}": {*one.labels, *(["le"] if suffix == "_bucket" else [])}
    for one in FAMILIES.values()
    for suffix in (SUFFIXES if one.type is Type.HISTOGRAM else ("",))
}
"""The labels of the time series that there are, by their names."""


def panels(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(call("guide", "--dashboard", name).out)["panels"]
    return found


def test_they_are_as_generated() -> None:
    assert {path: path.read_text(encoding="utf-8") for path in sorted(FOLDER.iterdir())} == dashboards()
    [option] = [one for one in commands.commands["guide"].params if one.name == "dashboard"]
    assert [*getattr(option.type, "choices", ())] == [path.stem for path in dashboards()]


@pytest.mark.parametrize(("name", "source"), [("metrics", PROMETHEUS), ("tables", DUCKDB)])
def test_every_panel_has_one_query_of_the_source_and_a_place_of_its_own(name: str, source: dict[str, str]) -> None:
    places = set[tuple[int, int]]()
    for panel in panels(name):
        assert panel["datasource"] == source
        assert len(panel["targets"]) == 1
        places.add((panel["gridPos"]["x"], panel["gridPos"]["y"]))
    assert len(places) == len(panels(name)) >= 10


def test_every_metric_and_label_exists() -> None:
    used = set[str]()
    for panel in panels("metrics"):
        expression, legend = panel["targets"][0]["expr"], panel["targets"][0]["legendFormat"]
        assert expression.count("(") == expression.count(")")
        for metric, matchers in METRIC.findall(expression):
            assert metric in LABELS, expression
            used.add(metric)
            grouped = {label for labels in re.findall(r"by \(([^)]*)\)", expression) for label in labels.split(", ")}
            matched = {re.split("[=!]", one)[0] for one in matchers.split(",") if one}
            assert grouped | matched <= LABELS[metric], expression
            assert {*re.findall(r"\{\{(\w+)\}\}", legend)} <= grouped, legend
    assert {"kdbg_exchange_errors_total", "kdbg_consumer_lag", "kdbg_latency_seconds_bucket"} <= used
    for variable in json.loads(call("guide", "--dashboard", "metrics").out)["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]).groups()  # type: ignore[union-attr]
            assert label in LABELS[metric]
            assert label == variable["name"]


def test_what_is_served_has_the_metrics_of_the_dashboard() -> None:
    printed = call("stats", CAPTURES / "real-errors.pcap", CAPTURES / "errors.pcap", "-f", "prometheus").out
    served = {
        (sample.name, *sorted(sample.labels))
        for family in text_string_to_metric_families(printed)
        for sample in family.samples
    }
    metrics = {name for panel in panels("metrics") for name, _ in METRIC.findall(panel["targets"][0]["expr"])}
    absent = metrics - {name for name, *_ in served}
    assert absent <= {"kdbg_causes"}, "which kdbg watch --diagnose has"
    for name, *labels in served:
        if name in LABELS:
            assert {*labels} == LABELS[name]


def test_the_guide_makes_the_tables_known_that_the_dashboard_reads() -> None:
    known = {*TABLES, CAUSES, RUNS}
    read = {name for panel in panels("tables") for name in re.findall(r"FROM (\w+)", panel["targets"][0]["rawSql"])}
    views = re.findall(r"CREATE VIEW (\w+) AS FROM delta_scan\('/srv/tables/(\w+)'\)", text("telemetry"))
    assert [name for name, _ in views] == [table for _, table in views]
    assert {name for name, _ in views} == read & known


def test_promtool_parses_every_expression(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed: it comes with Debian's prometheus")
    rules = [
        {"record": f"panel:{number}", "expr": panel["targets"][0]["expr"].replace("$__rate_interval", "5m")}
        for number, panel in enumerate(panels("metrics"))
    ]
    path = tmp_path / "rules.json"  # which is YAML as well
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(rules)} rules found" in done.stdout
