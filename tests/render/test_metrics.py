"""Metrics as a tree: one line for each that has one value, whatever their kind; hostile names are escaped."""

from __future__ import annotations

from typing import Any

from google.protobuf.json_format import ParseDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from kdbg.protocol.grammars.payloads.telemetry import metrics_data
from kdbg.views.render.style import Look
from kdbg.views.render.tree.tree import Tree

from ..cases import for_each

TIMES = {"start_time_unix_nano": "1700000000000000000", "time_unix_nano": "1700000001500000000"}
SPAN = "2023-11-14 22:13:20.000 UTC to 2023-11-14 22:13:21.500 UTC"


def drawn(*metrics: dict[str, Any], resource: Any = None, scope: Any = None, look: Look | None = None) -> list[str]:
    """The lines below `resource_metrics`."""
    scopes = [{"metrics": list(metrics), "scope": scope or {}}]
    wanted = {"resource_metrics": [{"resource": resource or {}, "scope_metrics": scopes}]}
    return lines(ParseDict(wanted, MetricsData()), look or Look())


def lines(message: MetricsData, look: Look) -> list[str]:
    grammar = metrics_data(0).grammar
    tree = Tree(look, {})
    tree.struct(grammar)(grammar.parse(message.SerializeToString()), "metrics", "")
    return tree.take().splitlines()[2:]


POINTS: dict[str, tuple[dict[str, Any], str]] = {
    "gauge": ({"gauge": {"data_points": [TIMES | {"as_double": 0.5}]}}, f"gauge  0.5  {SPAN}"),
    "no number": ({"gauge": {"data_points": [TIMES | {"as_double": "NaN"}]}}, f"gauge  NaN  {SPAN}"),
    "sum": (
        {"sum": {"data_points": [TIMES | {"as_int": "7"}], "aggregation_temporality": 2, "is_monotonic": True}},
        f"sum, cumulative, monotonic  7  {SPAN}",
    ),
    "histogram": (
        {"histogram": {"data_points": [TIMES | {"count": 3, "sum": 1.5, "bucket_counts": [1, 2]}]}, "unit": "ms"},
        f'histogram in ms  count "3"  sum 1.5  bucket_counts ["1", "2"]  {SPAN}',
    ),
    "summary": (
        {"summary": {"data_points": [{"quantile_values": [{"quantile": 0.5, "value": 2}]}]}},
        'summary  quantile_values [{"quantile": 0.5, "value": 2.0}]',
    ),
    "a temporality that nobody knows": ({"sum": {"aggregation_temporality": 77}}, "sum, 77"),
    "a kind that nobody knows": ({}, ""),
}


@for_each("name", POINTS)
def test_each_kind_on_one_line(name: str) -> None:
    metric, expected = POINTS[name]
    assert drawn({"name": "m", **metric}) == [f"    └── [0]  m  {expected}".rstrip()]


def test_several_points_stand_below_their_metric_with_their_attributes() -> None:
    def point(number: int, **value: Any) -> dict[str, Any]:
        return {"as_int": str(number), "attributes": [{"key": "node", "value": value}]}

    points = [point(1, string_value="a"), point(2, bool_value=True), point(3)]
    assert drawn({"name": "m", "gauge": {"data_points": points}}) == [
        "    └── [0]  m  gauge",
        '        ├── [0]  1  node "a"',
        "        ├── [1]  2  node true",
        "        └── [2]  3  node null",
    ]


def test_resource_and_scope_are_said_where_they_have_names() -> None:
    resource = {"attributes": [{"key": "rack", "value": {"string_value": "b7"}}]}
    assert drawn({"name": "m"}, resource=resource, scope={"name": "shop", "version": "1"}) == [
        '    └── [0]  resource  rack "b7"',
        '        └── [0]  scope  "shop"  "1"',
        "            └── [0]  m",
    ]


def test_long_lists_and_values_are_shortened_on_a_terminal() -> None:
    look = Look(width=60, full=False)
    many = drawn(*({"name": f"m{number}"} for number in range(50)), look=look)
    assert many[-1] == "    └── … 38 more"
    point = {"explicit_bounds": [float(number) for number in range(500)]}
    (line,) = drawn({"name": "m", "histogram": {"data_points": [point]}}, look=look)
    assert len(line) < 100


@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_hostile_names_never_reach_the_terminal(name: str, key: str, text: str) -> None:
    attributes = [{"key": key, "value": {"string_value": text}}]
    metric = {"name": name, "unit": text, "gauge": {"data_points": [{"as_int": "1", "attributes": attributes}]}}
    (*_, line) = drawn(metric, resource={"attributes": attributes}, scope={"name": name})
    assert line.isprintable()


@given(st.binary())
def test_whatever_the_library_reads_is_drawn(data: bytes) -> None:
    message = MetricsData()
    metric = message.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    try:
        metric.MergeFromString(data)
    except Exception:  # the library's own error: no metric
        return
    assert lines(message, Look())


def test_an_attribute_without_a_name() -> None:
    point = {"as_int": "1", "attributes": [{"value": {"string_value": "a"}}]}
    assert drawn({"name": "m", "gauge": {"data_points": [point]}}) == ['    └── [0]  m  gauge  1   "a"']
