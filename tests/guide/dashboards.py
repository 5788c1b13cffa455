"""The Grafana dashboards of the manual: `python -m tests.guide` writes them, `kdbg guide --dashboard` prints them.

That of metrics reads Prometheus. That of the tables reads DuckDB, with MotherDuck's data source plugin (Apache-2.0),
whose initial SQL makes a view of each Delta table.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

from kdbg.views.tables.questions import QUESTIONS

from .blocks import TOP

FOLDER = TOP / "kdbg" / "ui" / "guide" / "dashboards"
PROMETHEUS = {"type": "prometheus", "uid": "${source}"}
DUCKDB = {"type": "motherduck-duckdb-datasource", "uid": "${source}"}
SERIES, TABLE = 0, 1
"""The formats of the DuckDB plugin's answers."""
WIDTH, HEIGHT = 12, 8


class Panel(NamedTuple):
    """A panel: its title, its query, the unit of its numbers, its kind, and the legend of metrics."""

    title: str
    query: str
    unit: str = "short"
    kind: str = "timeseries"
    legend: str = ""


def rate(metric: str, *by: str, where: str = 'broker=~"$broker"') -> str:
    """Return the rate of a counter, by these labels."""
    return f"sum by ({', '.join(by)}) (rate({metric}{{{where}}}[$__rate_interval]))"


def quantile(metric: str, *by: str, where: str = 'broker=~"$broker"') -> str:
    return f"histogram_quantile(0.99, {rate(f'{metric}_bucket', 'le', *by, where=where)})"


METRICS = (
    Panel("Exchanges by broker", rate("kdbg_exchanges_total", "broker"), "reqps", legend="{{broker}}"),
    Panel("Errors by broker", rate("kdbg_exchange_errors_total", "broker", "api", "error"), "reqps",
          legend="{{broker}} {{api}} {{error}}"),
    Panel("Errors by client", rate("kdbg_exchange_errors_total", "client_id", "error"), "reqps",
          legend="{{client_id}} {{error}}"),
    Panel("Consumer lag", 'sum by (group, topic) (kdbg_consumer_lag{group=~"$group"})', legend="{{group}} {{topic}}"),
    Panel("Latency p99 by API", quantile("kdbg_latency_seconds", "api"), "s", legend="{{api}}"),
    Panel("Latency p99 by broker", quantile("kdbg_latency_seconds", "broker"), "s", legend="{{broker}}"),
    Panel("Latency breakdown, average",
          f"{rate('kdbg_latency_part_seconds_sum', 'part')} / {rate('kdbg_latency_part_seconds_count', 'part')}", "s",
          legend="{{part}}"),
    Panel("Messaging operations p99",
          quantile("messaging_client_operation_duration_seconds", "messaging_operation_name",
                   where='messaging_system="kafka"'), "s", legend="{{messaging_operation_name}}"),
    Panel("Requests and responses by broker",
          f"{rate('kdbg_request_bytes_total', 'broker')} + {rate('kdbg_response_bytes_total', 'broker')}", "Bps",
          legend="{{broker}}"),
    Panel("Records by topic", rate("kdbg_records_total", "api", "topic"), "cps", legend="{{api}} {{topic}}"),
    Panel("Findings", rate("kdbg_findings_total", "finding", where='severity!="note"'), "cps", legend="{{finding}}"),
    Panel("Causes", "sum by (cause, severity) (kdbg_causes)", legend="{{cause}} ({{severity}})"),
    Panel("Open connections", "kdbg_open_connections"),
    Panel("Packets lost", "sum by (why) (rate(kdbg_packets_lost_total[$__rate_interval]))", "pps", legend="{{why}}"),
)  # fmt: skip
BIN = "time_bucket(INTERVAL '${__interval_ms} milliseconds', {})"
TABLES = (
    Panel("Exchanges by API", """
        SELECT {bin} AS time, api, COUNT(*) AS exchanges
        FROM exchanges WHERE $__timeFilter(request_time) GROUP BY ALL ORDER BY time"""),
    Panel("Errors", """
        SELECT {bin} AS time, error, COUNT(*) AS errors
        FROM (SELECT request_time, unnest(errors) AS error FROM exchanges WHERE $__timeFilter(request_time))
        GROUP BY ALL ORDER BY time"""),
    Panel("Latency p99 by API", """
        SELECT {bin} AS time, api, quantile_cont(latency_us, 0.99) / 1e6 AS latency
        FROM exchanges WHERE $__timeFilter(request_time) AND latency_us IS NOT NULL GROUP BY ALL ORDER BY time""", "s"),
    Panel("Bytes by broker", """
        SELECT {bin} AS time, broker, SUM(COALESCE(request_bytes, 0) + COALESCE(response_bytes, 0)) AS bytes
        FROM exchanges WHERE $__timeFilter(request_time) GROUP BY ALL ORDER BY time""", "bytes"),
    Panel("Consumer lag", QUESTIONS["lag"].sql, kind="table"),
    Panel("Group members that join and leave", """
        SELECT {bin} AS time, group_id || ' ' || event AS event, COUNT(*) AS events
        FROM groups WHERE $__timeFilter(request_time) AND event IN ('join', 'leave') GROUP BY ALL ORDER BY time"""),
    Panel("Clients with errors", """
        SELECT client_id, api, error, COUNT(*) AS exchanges, MIN(request_time) AS first, MAX(request_time) AS last
        FROM (SELECT *, unnest(errors) AS error FROM exchanges WHERE $__timeFilter(request_time))
        GROUP BY ALL ORDER BY exchanges DESC LIMIT 100""", kind="table"),
    Panel("Findings", """
        SELECT severity, kind, COUNT(*) AS findings, ANY_VALUE(text) AS example
        FROM problems WHERE severity <> 'note' AND (request_time IS NULL OR $__timeFilter(request_time))
        GROUP BY ALL ORDER BY findings DESC""", kind="table"),
    Panel("Causes", """
        SELECT capture, severity, cause FROM causes ORDER BY capture, place LIMIT 100""", kind="table"),
    Panel("Runs of the pipeline", """
        SELECT started, run, operation, kdbg FROM runs ORDER BY sequence DESC LIMIT 20""", kind="table"),
)  # fmt: skip


def target(panel: Panel, source: dict[str, str]) -> dict[str, Any]:
    """Return what a panel asks its source."""
    if source is PROMETHEUS:
        return {"refId": "A", "expr": panel.query, "legendFormat": panel.legend}
    time = "time" if " groups " in panel.query else "request_time"
    sql = textwrap.dedent(panel.query).strip().replace("{bin}", BIN.replace("{}", time))
    sql = sql.replace("$__timeFilter(request_time)", f"$__timeFilter({time})")
    return {"refId": "A", "rawSql": sql, "format": TABLE if panel.kind == "table" else SERIES, "editorMode": "code"}


def dashboard(title: str, source: dict[str, str], panels: tuple[Panel, ...], variables: list[dict[str, Any]]) -> str:
    """Return a dashboard as JSON."""
    made = [
        {"id": number + 1, "title": panel.title, "type": panel.kind, "datasource": source,
         "gridPos": {"x": number % 2 * WIDTH, "y": number // 2 * HEIGHT, "w": WIDTH, "h": HEIGHT},
         "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []}, "targets": [target(panel, source)]}
        for number, panel in enumerate(panels)
    ]  # fmt: skip
    chosen = {"name": "source", "label": "Source", "type": "datasource", "query": source["type"]}
    said = {"title": title, "uid": title.lower().replace(" ", "-"), "schemaVersion": 39, "tags": ["kafka", "kdbg"],
            "time": {"from": "now-6h", "to": "now"}, "templating": {"list": [chosen, *variables]},
            "panels": made}  # fmt: skip
    return json.dumps(said, indent=1) + "\n"


def label(name: str, metric: str) -> dict[str, Any]:
    """Return the variable of a label's values."""
    return {"name": name, "label": name.capitalize(), "type": "query", "datasource": PROMETHEUS, "refresh": 2,
            "query": f"label_values({metric}, {name})", "multi": True, "includeAll": True, "allValue": ".*",
            "current": {"text": "All", "value": "$__all"}}  # fmt: skip


def dashboards() -> dict[Path, str]:
    """Return the dashboards by their files."""
    labels = [label("broker", "kdbg_exchanges_total"), label("group", "kdbg_consumer_lag")]
    return {
        FOLDER / "metrics.json": dashboard("Kafka traffic", PROMETHEUS, METRICS, labels),
        FOLDER / "tables.json": dashboard("Kafka captures", DUCKDB, TABLES, []),
    }
