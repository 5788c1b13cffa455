"""Stories as a picture: a line of time for each group, client, topic … that causes are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...analysis.diagnosis.stories import Event
from .ask import Bins
from .causes import Lane, event_text
from .cells import duration, table, when
from .charts import PALETTE, Chart, Key, escaped, plotted

BLUE, RED, AMBER, QUIET = PALETTE[0], PALETTE[1], PALETTE[3], PALETTE[4]
LABEL = 26
"""Characters of a lane's name."""
BACK = frozenset({"transaction-ends", "transaction-open"})
"""Events at the end of what lasted; others begin it."""
AGAIN = frozenset({"reads-last", "writes-last"})
"""Events that repeat how long something lasted which another begins."""
CAUSE, ERROR, LASTS, EVENT = "causes", "errors", "durations", "events"
STYLES: dict[str, dict[str, Any]] = {
    EVENT: {"color": BLUE, "size": 8, "symbol": "circle"},
    ERROR: {"color": AMBER, "size": 10, "symbol": "x"},
}
MOST_SAID = 160
"""Characters of a sentence in the chart; the table has all of it."""


def lane_chart(id: str, caption: str, bins: Bins, lanes: Sequence[Lane]) -> Chart:
    """Draw events as marks, causes and what lasts as bars behind them, on a line for each lane."""
    labels = _labels(lanes)
    placed = [(label, event) for label, lane in zip(labels, lanes, strict=True) for event in lane.events]
    traces = [
        _bars(CAUSE, [(label, event) for label, event in placed if event.kind == "cause"], RED, 0.62),
        _bars(LASTS, [(label, event) for label, event in placed if _lasted(event)], QUIET, 0.34),
        *(_marks(kind, [(label, event) for label, event in placed if _kind(event) == kind]) for kind in STYLES),
    ]
    colours = (RED, QUIET, *(style["color"] for style in STYLES.values()))
    shown = [(trace, colour) for trace, colour in zip(traces, colours, strict=True) if trace["y"]]
    axis = {
        "automargin": True, "fixedrange": True, "showgrid": True, "type": "category", "categoryorder": "array",
        "categoryarray": labels[::-1],
    }  # fmt: skip
    drawn = plotted(
        [trace for trace, _ in shown], bins, hovermode="closest", yaxis=axis, height=100 + 44 * len(lanes),
        barmode="overlay",
    )  # fmt: skip
    numbers = table(
        f"{caption}: numbers",
        {"story": "text", "time": "time", "what": "text", "exchange": "exchange"},
        [(label, event.time // 1000, event_text(event), event.exchanges[0] if event.exchanges else None)
         for label, event in sorted(placed, key=lambda one: one[1].time)],
    )  # fmt: skip
    return Chart(id, caption, drawn, numbers, [Key(trace["name"], colour) for trace, colour in shown],
                 whole="Not affected by the filters.")  # fmt: skip


def _labels(lanes: Sequence[Lane]) -> list[str]:
    """Return what lanes are called: by kind and name, those of several captures by their file, too."""
    several = len({lane.file for lane in lanes}) > 1
    found: list[str] = []
    for lane in lanes:
        label = escaped(f"{lane.kind} {lane.name}", LABEL) + (f" · {escaped(lane.file, LABEL)}" if several else "")
        found.append(label if label not in found else f"{label} ({len(found) + 1})")
    return found


def _kind(event: Event) -> str:
    return CAUSE if event.kind == "cause" else ERROR if event.kind in ("error", "authentication-failed") else EVENT


def _lasted(event: Event) -> bool:
    return event.kind != "cause" and event.facts.get("for_ns", 0) > 0 and event.kind not in AGAIN


def _span(event: Event) -> tuple[int, int]:
    """Return when something began and ended, in nanoseconds."""
    if event.case is not None:
        return event.case.since, event.case.until
    lasted = event.facts["for_ns"]
    return (event.time - lasted, event.time) if event.kind in BACK else (event.time, event.time + lasted)


def _bars(kind: str, placed: Sequence[tuple[str, Event]], colour: str, width: float) -> dict[str, Any]:
    spans = [_span(event) for _, event in placed]
    return {
        "type": "bar", "orientation": "h", "name": kind, "y": [label for label, _ in placed],
        "base": [when(since // 1000) for since, _ in spans],
        "x": [max((until - since) / 1e6, 0.001) for since, until in spans], "width": width, "opacity": 0.55,
        "marker": {"color": colour, "line": {"color": colour, "width": 3}},
        "customdata": [
            [_event_text(event), duration((until - since) // 1000)]
            for (_, event), (since, until) in zip(placed, spans, strict=True)
        ],
        "hovertemplate": "%{customdata[0]}<br>%{customdata[1]}<extra>%{y}</extra>",
    }  # fmt: skip


def _marks(kind: str, placed: Sequence[tuple[str, Event]]) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers", "name": kind, "x": [when(event.time // 1000) for _, event in placed],
        "y": [label for label, _ in placed], "marker": STYLES[kind],
        "customdata": [_event_text(event) for _, event in placed],
        "hovertemplate": "%{x}<br>%{customdata}<extra>%{y}</extra>",
    }  # fmt: skip


def _event_text(event: Event) -> str:
    """Return what an event says, for a chart."""
    return escaped(event_text(event), MOST_SAID)
