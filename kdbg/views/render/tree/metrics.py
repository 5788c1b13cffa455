"""Metrics of OpenTelemetry as branches of a tree: a line a metric with its kind, unit, value, attributes and time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import values

if TYPE_CHECKING:
    from .tree import Draw, Tree


KINDS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
TEMPORALITY = "AGGREGATION_TEMPORALITY_"
NUMBERS = ("as_int", "as_double")
ASIDE = ("attributes", "start_time_unix_nano", "time_unix_nano", *NUMBERS)
"""Fields of a point that have their own place on its line."""

Fields = Mapping[str, Any]


class Branch(NamedTuple):
    """One line of the tree, and the branches below it."""

    text: str
    below: list[Branch]


def metrics_drawer(tree: Tree) -> Draw:
    """Return the function that draws the `resource_metrics` of MetricsData."""

    def draw(branch: Branch, head: str, below: str) -> None:
        tree.lines.append(f"{head}  {branch.text}")
        tree.numbered(branch.below, below, draw)

    def metrics(value: list[Fields], head: str, below: str) -> None:
        tree.lines.append(head)
        tree.numbered([branch for resource in value for branch in _resource(resource, tree)], below, draw)

    return metrics


def _resource(found: Fields, tree: Tree) -> list[Branch]:
    """Return the branches of one resource, below its attributes if it has any; Java clients' metrics have none."""
    branches: list[Branch] = []
    for each in found.get("scope_metrics", ()):
        metrics, scope = [_metric(metric, tree) for metric in each.get("metrics", ())], each.get("scope", {})
        about = "  ".join(tree.string(scope[key]) for key in ("name", "version") if scope.get(key))
        branches += [Branch(f"scope  {about}", metrics)] if about else metrics
    about = _attributes(found.get("resource", {}), tree)
    return [Branch(f"resource  {about}", branches)] if about else branches


def _metric(found: Fields, tree: Tree) -> Branch:
    kind = next((kind for kind in KINDS if kind in found), "")
    data = found.get(kind, {})
    habits = [kind.replace("_", " "), str(data.get("aggregation_temporality", "")).removeprefix(TEMPORALITY).lower()]
    habits += ["monotonic"] * data.get("is_monotonic", False)
    unit = f" in {values.escape(found['unit'])}" if found.get("unit") else ""
    name = tree.look.paint("name", values.escape(found.get("name", "")))
    about = f"{', '.join(filter(None, habits))}{unit}"
    text = f"{name}  {tree.look.paint('meaning', about)}" if about else name
    points = [_point(point, tree) for point in data.get("data_points", ())]
    return Branch(f"{text}  {points[0].text}", []) if len(points) == 1 else Branch(text, points)


def _point(found: Fields, tree: Tree) -> Branch:
    nanoseconds = [found[key] for key in ("start_time_unix_nano", "time_unix_nano") if key in found]  # strings in JSON
    times = [values.timestamp(int(each) // 10**6).partition("  ")[2] or each for each in nanoseconds]
    more = [f"{key} {_plain(value, tree)}" for key, value in found.items() if key not in ASIDE]
    number = [str(found[key]) for key in NUMBERS if key in found]
    words = [*number, *more, _attributes(found, tree), tree.look.paint("dim", " to ".join(times))]
    return Branch("  ".join(filter(None, words)), [])


def _attributes(found: Fields, tree: Tree) -> str:
    texts = []
    for each in found.get("attributes", ()):
        name = tree.look.paint("name", values.escape(each.get("key", "")))
        said = [_plain(value, tree) for value in each.get("value", {}).values()]  # whose names are types, not shown
        texts.append(f"{name} {'  '.join(said) or tree.null}")
    return "  ".join(texts)


def _plain(value: Any, tree: Tree) -> str:
    """Return a value as text; what is nested is JSON on one line, escaped and shortened."""
    if isinstance(value, str):
        return tree.string(value)
    return values.cut(values.escape(json.dumps(value, ensure_ascii=False)), tree.look.max_text)
