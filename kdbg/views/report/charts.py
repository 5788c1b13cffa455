"""Facts as figures of plotly.js, each with its numbers in a table. Colours of text and lines are the page's.

Plotly reads a little HTML in names; captured text is escaped before it gets there, so that a reader sees what it is.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...analysis.diagnosis.stories import Event
from .causes import Lane, event_text
from .cells import Listing, ReportTable, duration, shown, size, table, when
from .facts import OTHERS, Bins, Heat, Lag, Series
from .queries import ChartQuery

PALETTE = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377")
"""Paul Tol's bright scheme: distinguished by colour-blind readers, visible on white and on black."""
GREY = "#8E959D"
MOST_GROUPS = 12
NAME = 48
"""Characters of a name in a chart."""
LAYOUT: dict[str, Any] = {
    "height": 280,
    "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
    "font": {"family": "system-ui, sans-serif", "size": 12},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "showlegend": False,
    "hovermode": "x unified",
    "hoverlabel": {"namelength": -1},
    "dragmode": "zoom",
}
TIME_AXIS = {"type": "date", "showgrid": False, "automargin": True, "tickangle": 0}
AMOUNT_AXIS = {"rangemode": "tozero", "automargin": True, "fixedrange": True, "zeroline": False, "nticks": 6}
POWERS = range(9)
Moved: TypeAlias = ChartQuery | Lag | dict[str, Any] | None
"""How the page's filters move a chart: by a question, by changes of lag, or as the page's script has it; None: not."""


@dataclass(frozen=True)
class Key:
    """A series in the legend."""

    name: str
    colour: str


@dataclass(frozen=True)
class Chart:
    """A figure as plain data, its caption, its legend, its numbers, and how filters move it.

    `kind` is that of its values, as tables have it. `whole` is said below one that filters do not move, while they
    choose something.
    """

    id: str
    caption: str
    figure: dict[str, Any]
    numbers: ReportTable
    keys: list[Key] = field(default_factory=list)
    moved: Moved = None
    kind: str = "count"
    whole: str = "Not filtered: too much data to break down."


def stacked(
    id: str, caption: str, series: Series, kind: str, beside: Chart | None = None, *, moved: Moved = None
) -> Chart:
    """Draw stacked amounts over time; names that the chart `beside` has too get the same colours."""
    x, colours = _middles(series.bins), _colours(series, beside.keys if beside else ())
    show = size if kind == "bytes" else "{:,}".format
    traces = [
        {"type": "bar", "x": x, "y": values, "width": series.bins.width / 1000, "name": escaped(name),
         "marker": {"color": colours[name], "line": {"width": 0}},
         "customdata": [show(value or 0) for value in values], "hovertemplate": "%{customdata}"}
        for name, values in series.lines.items()
    ]  # fmt: skip
    axis = AMOUNT_AXIS | {"tickformat": "~s", "ticksuffix": "B" if kind == "bytes" else ""}
    return _chart(id, caption, traces, series, kind, colours, moved, barmode="stack", bargap=0, yaxis=axis)


def lines(id: str, caption: str, series: Series, kind: str, *, moved: Moved = None) -> Chart:
    """Draw numbers over time: durations as dots on a logarithmic axis, counts as steps.

    Where lines meet, those behind are broader.
    """
    x, colours = _middles(series.bins), _colours(series)
    long = kind == "duration"
    show = duration if long else "{:,}".format
    traces = [
        {"type": "scatter", "x": x, "y": [max(value, 1) if long and value is not None else value for value in values],
         "name": escaped(name), "zorder": -i, "mode": "lines+markers" if long else "lines",
         "marker": {"size": 4 + 2 * i},
         "line": {"color": colours[name], "width": 1.5 + i, "shape": "linear" if long else "hv"},
         "customdata": ["" if value is None else show(int(value)) for value in values],
         "hovertemplate": "%{customdata}"}
        for i, (name, values) in enumerate(series.lines.items())
    ]  # fmt: skip
    axis = AMOUNT_AXIS | (LATENCY_AXIS if long else {"tickformat": "~s"})
    return _chart(id, caption, traces, series, kind, colours, moved, yaxis=axis)


LATENCY_AXIS = {
    "type": "log",
    "rangemode": "normal",
    "tickvals": [10**power for power in POWERS],
    "ticktext": [duration(10**power) for power in POWERS],
}


def heat_map(id: str, caption: str, bins: Bins, heat: Heat, of: str) -> Chart:
    """Draw how many answers took how long, over time: the darker (on black: the brighter), the more.

    `of` is the chart that has percentiles of the same answers.
    """
    labels = [f"≥ {duration(edge)}" if edge else f"< {duration(10)}" for edge in heat.edges]
    most = max((max(row) for row in heat.counts), default=1)
    ticks = range(int(math.log10(most)) + 1)
    top = math.log10(max(most, 10))
    trace = {
        "type": "heatmap", "x": _middles(bins), "y": labels, "xgap": 1, "ygap": 1, "colorscale": "Cividis",
        "zmin": -top / 4, "zmax": top,  # a single one is to be seen on any ground
        "z": [[math.log10(count) if count else None for count in row] for row in heat.counts],
        "customdata": [[f"{count:,}" for count in row] for row in heat.counts],
        "hovertemplate": "%{x}<br>%{y}<br>responses: %{customdata}<extra></extra>", "hoverongaps": False,
        "colorbar": {"thickness": 10, "outlinewidth": 0, "tickvals": [*ticks],
                  "ticktext": [f"{10**tick:,}" for tick in ticks]},
    }  # fmt: skip
    axis = {"automargin": True, "fixedrange": True, "showgrid": False, "type": "category"}
    figure = plotted([trace], bins, hovermode="closest", yaxis=axis)
    columns = {"time": "time"} | dict.fromkeys(labels, "count")
    rows = [(start, *counts) for start, *counts in zip(bins.times, *heat.counts, strict=True) if any(counts)]
    moved = {"way": "heat", "of": of, "edges": heat.edges}
    return Chart(id, caption, figure, table(f"{caption}: numbers", columns, rows), moved=moved)


def time_line(id: str, caption: str, bins: Bins, rebalances: Listing, numbers: ReportTable) -> Chart:
    """Draw rebalances as bars from their beginning to their end, a line for each group."""
    groups: dict[Any, list[int]] = {}
    for number, row in enumerate(rebalances.rows):
        groups.setdefault(row[0], []).append(number)
    busiest = sorted(groups, key=lambda group: (-len(groups[group]), str(group)))[:MOST_GROUPS]
    bars = [number for group in busiest for number in groups[group]]
    found = [rebalances.rows[number] for number in bars]
    trace = {
        "type": "bar", "orientation": "h", "y": [escaped(row[0], 24) for row in found],
        "base": [when(row[2]) for row in found],
        "x": [max((row[3] - row[2]) / 1000, 0.001) for row in found], "width": 0.5,
        "marker": {"color": PALETTE[0], "line": {"color": PALETTE[0], "width": 3}},
        "customdata": [[row[1], duration(row[3] - row[2]), row[4]] for row in found],
        "hovertemplate": "generation %{customdata[0]}<br>%{customdata[1]}<br>members %{customdata[2]}"
                         "<extra>%{y}</extra>",
    }  # fmt: skip
    axis = {"automargin": True, "fixedrange": True, "showgrid": True, "autorange": "reversed", "type": "category"}
    figure = plotted([trace], bins, hovermode="closest", yaxis=axis, height=90 + 34 * len(busiest))
    return Chart(id, caption, figure, numbers, moved={"way": "bars", "rows": bars})


def _chart(
    id: str, caption: str, traces: Sequence[Any], series: Series, kind: str, colours: dict[str, str], moved: Moved,
    **layout: Any,
) -> Chart:  # fmt: skip
    columns = {"time": "time"} | {shown(name, NAME): kind for name in series.lines}
    rows = [(start, *values) for start, *values in zip(series.bins.times, *series.lines.values(), strict=True)
            if any(values)]  # fmt: skip
    keys = [Key(shown(name, NAME), colours[name]) for name in series.lines]
    numbers = table(f"{caption}: numbers", columns, rows)
    return Chart(id, caption, plotted(traces, series.bins, **layout), numbers, keys, moved, kind)


def plotted(traces: Sequence[Any], bins: Bins, **layout: Any) -> dict[str, Any]:
    """Return a figure whose x axis is the time of these bins."""
    span = [when(bins.start), when(bins.start + bins.many * bins.width)]
    return {"data": list(traces), "layout": LAYOUT | {"xaxis": TIME_AXIS | {"range": span}} | layout}


def _middles(bins: Bins) -> list[str]:
    """Return where the bars stand: in the middle of each bin."""
    return [when(start + bins.width // 2) for start in bins.times]


def _colours(series: Series, taken: Sequence[Key] = ()) -> dict[str, str]:
    """Return a colour for each name: the one that it has already, or one that is free."""
    colours = {key.name: key.colour for key in taken if key.name in series.lines} | {OTHERS: GREY}
    free = (colour for colour in PALETTE if colour not in colours.values())
    return colours | {name: next(free) for name in series.lines if name not in colours}


def escaped(name: Any, most: int = NAME) -> str:
    """Escape captured text where Plotly would read HTML."""
    return html.escape(shown(name, most), quote=False)


BLUE, RED, AMBER, QUIET = PALETTE[0], PALETTE[1], PALETTE[3], PALETTE[4]
LABEL = 26
"""Characters of a lane's name."""
BACK = frozenset({"transaction-ends", "transaction-open"})
"""Events at the end of what lasted; others begin it."""
AGAIN = frozenset({"reads-last", "writes-last"})
"""Events that repeat how long something lasted which another begins."""
CAUSE, ERROR, LASTS, EVENT = "causes", "errors", "durations", "events"
KINDS = {"cause": CAUSE, "error": ERROR, "authentication-failed": ERROR}
STYLES: dict[str, dict[str, Any]] = {
    EVENT: {"color": BLUE, "size": 8, "symbol": "circle"},
    ERROR: {"color": AMBER, "size": 10, "symbol": "x"},
}
MOST_SAID = 160
"""Characters of a sentence in the chart; the table has all of it."""


def lane_chart(id: str, caption: str, bins: Bins, lanes: Sequence[Lane]) -> Chart:
    """Draw events as marks, causes and what lasts as bars behind them, on a line for each lane."""
    several = len({lane.file for lane in lanes}) > 1
    labels: list[str] = []
    for lane in lanes:  # those of several captures are called by their file, too
        label = escaped(f"{lane.kind} {lane.name}", LABEL) + (f" · {escaped(lane.file, LABEL)}" if several else "")
        labels.append(label if label not in labels else f"{label} ({len(labels) + 1})")
    placed = [(label, event) for label, lane in zip(labels, lanes, strict=True) for event in lane.events]
    causes = [one for one in placed if one[1].kind == "cause"]
    lasting = [one for one in placed if one[1].facts.get("for_ns", 0) > 0 and one[1].kind not in ("cause", *AGAIN)]
    traces = [_bars(CAUSE, causes, RED, 0.62), _bars(LASTS, lasting, QUIET, 0.34)]
    traces += [_marks(kind, [one for one in placed if KINDS.get(one[1].kind, EVENT) == kind]) for kind in STYLES]
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


def _bars(kind: str, placed: Sequence[tuple[str, Event]], colour: str, width: float) -> dict[str, Any]:
    spans = []  # when each began and ended, in nanoseconds
    for _, event in placed:
        lasted = event.facts.get("for_ns", 0)
        if event.case is not None:
            spans.append((event.case.since, event.case.until))
        else:
            begin = event.time - lasted if event.kind in BACK else event.time
            spans.append((begin, begin + lasted))
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
