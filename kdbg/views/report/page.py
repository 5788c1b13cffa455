"""What stands on a report's page, in its order, and the page as HTML: one file with everything in it.

All text goes through Jinja's escaping, all data through JSON's. Scripts run by the hashes of what kdbg put there, and
nothing may be loaded: even if captured text became markup, it could neither run nor call home. The charting library and
what the filters need stand in the page compressed; the browser unpacks them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from ... import __version__
from . import charts, facts, opening, queries
from .causes import ReportedCauses
from .cells import Listing, ReportTable, duration, list_table, shown, table, when
from .charts import Chart
from .facts import Bins
from .opening import Named, Point
from .queries import Ask, ListQuery


@dataclass(frozen=True)
class Section:
    """A part of the page; where there is nothing to show, `empty` says so."""

    id: str
    title: str
    lead: str
    empty: str
    charts: list[Chart] = field(default_factory=list)
    tables: list[ReportTable] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """All that the page shows; `points` are what stands out, `tiles` all in numbers; None where there is no traffic.

    `undecoded` counts what could not be decoded; `bins` are those of all charts. `diagnosis` is None where there are no
    captures to judge.
    """

    span: str
    tiles: ReportTable | None
    sections: list[Section]
    undecoded: int
    points: list[Point] = field(default_factory=list)
    bins: Bins | None = None
    diagnosis: ReportedCauses | None = None


def report(ask: Ask, diagnosis: ReportedCauses | None = None) -> Report:
    """Ask for all facts, and put them in their places, beside the `diagnosis` of the captures."""
    total = facts.total(ask)
    [(undecoded,)] = ask("SELECT COUNT(*) FROM problems WHERE severity = 'error'")
    problems = section("problems", [], lists(ask, queries.FINDINGS))
    if total is None:
        return Report("no Kafka exchange found", None, [problems, files(ask)], undecoded, diagnosis=diagnosis)
    bins = Bins.over(total.first, total.last)
    span = f"{when(total.first)} to {when(total.last)} UTC, {duration(total.last - total.first)}"
    found = facts.rebalances(ask)
    named = opening.named(ask, found)
    lanes = [] if diagnosis is None else diagnosis.lanes
    sections = [
        *([section("stories", [charts.lane_chart("stories-time", "Timeline", bins, lanes)])] if lanes else []),
        section("worth", [], [opening.worth_looking(ask)]),
        *(make(ask, bins) for make in OVER_TIME),
        rebalances(bins, found, named),
        section("topics", [], lists(ask, queries.TOPICS)),
        clients(ask),
        problems,
        files(ask),
    ]
    titles = ("exchanges", "on the wire", "connections", "client hosts", "with errors", "no response", "not decoded")
    row = (total.exchanges, total.bytes, total.connections, total.clients, total.erroneous, total.unanswered, undecoded)
    tiles = table("Summary", titles, [row], queries.IN_NUMBERS)
    return Report(span, tiles, sections, undecoded, opening.points(ask, named, total.unanswered), bins, diagnosis)


def traffic(ask: Ask, bins: Bins) -> Section:
    step = f"per {duration(bins.width)}"
    exchanges, amounts = (facts.over_time(ask, bins, each) for each in (queries.EXCHANGES_OVER, queries.BYTES_OVER))
    counts = charts.stacked("exchanges", f"Exchanges {step}, by API", exchanges, "count", moved=queries.EXCHANGES_OVER)
    sizes = charts.stacked("bytes", f"Bytes {step}, by API", amounts, "bytes", counts, moved=queries.BYTES_OVER)
    return section("traffic", [counts, sizes], lists(ask, queries.APIS))


def latency(ask: Ask, bins: Bins) -> Section:
    lines, heat = facts.latencies(ask, bins)
    polls, _ = facts.latencies(ask, bins, queries.POLLS)
    each = f"each over {duration(bins.width)}"
    found = [
        charts.lines("percentiles", f"Percentiles, {each}", lines, "duration", moved=queries.ANSWERS_OVER),
        charts.heat_map("heat", "Latency distribution", bins, heat, "percentiles"),
    ] if heat.edges else []  # fmt: skip
    if polls.lines:
        caption = f"Long polls: percentiles, {each}"
        found.append(charts.lines("polls", caption, polls, "duration", moved=queries.POLLS_OVER))
    of_apis = (list_table(one, facts.latency_by_api(ask, one)) for one in (queries.LATENCY, queries.LONG_POLLS))
    return section("latency", found, [*of_apis, *lists(ask, *queries.SPENT)])


def errors(ask: Ask, bins: Bins) -> Section:
    series = facts.over_time(ask, bins, queries.ERRORS_OVER)
    caption = f"Errors per {duration(bins.width)}, by code"
    found = [charts.stacked("errors-time", caption, series, "count", moved=queries.ERRORS_OVER)]
    asked = (queries.ERRORS_BY_CLIENT, queries.ERRORS_BY_API, queries.ERRORS_BY_TOPIC, queries.EXPECTED)
    return section("errors", found if series.lines else [], lists(ask, *asked))


def lag(ask: Ask, bins: Bins) -> Section:
    found = facts.lag(ask, bins)
    caption = "Consumer lag in records, all partitions of a group"
    chart = [charts.lines("lag-time", caption, found.groups, "count", moved=found)] if found.groups.lines else []
    titles = ("group", "topic", "partition", "log end", "committed", "lag")
    return section("lag", chart, [table("Lag at the end, by partition", titles, found.partitions, [queries.LAG])])


def rebalances(bins: Bins, found: Listing, named: list[Named]) -> Section:
    titles = ("group", "generation", "began", "took", "members", "reason", "joined", "left")
    rows = [
        (each.group, each.generation, each.began, each.ended - each.began, each.members, each.reason,
         ", ".join(each.joined), "; ".join(each.gone) or None)
        for each in named
    ]  # fmt: skip
    numbers = table("Rebalances: numbers", titles, Listing(rows, found.left), [queries.REBALANCES])
    chart = charts.time_line("rebalances-time", "Rebalances by group", bins, found, numbers)
    return section("rebalances", [chart] if rows else [])


def clients(ask: Ask) -> Section:
    titles = ("client id", "software", "version", "SASL", "hosts", "connections", "exchanges", "bytes", "first", "last")
    found = facts.listing(ask, """
        SELECT client_id, software_name, software_version, MAX(mechanism), COUNT(DISTINCT host), COUNT(*),
               SUM(exchanges) AS exchanges, SUM(bytes), MIN(start_time), MAX(end_time)
        FROM connections WHERE exchanges > 0 GROUP BY client_id, software_name, software_version""",
                          "exchanges DESC, client_id, software_name, software_version")  # fmt: skip
    return section("clients", [], [table("Clients", titles, found, [queries.CLIENTS])])


def files(ask: Ask) -> Section:
    titles = ("file", "packets", "bytes", "first packet", "last packet", "problem")
    sql = "SELECT file, packets, packet_bytes, first_time, last_time, problem FROM files"
    return section("files", [], [table("Files", titles, facts.listing(ask, sql, "first_time, file"))])


def lists(ask: Ask, *asked: ListQuery) -> list[ReportTable]:
    """Return the tables of lists."""
    return [list_table(one, facts.listed(ask, one)) for one in asked]


def section(id: str, charts: Sequence[Chart] = (), tables: Sequence[ReportTable] = ()) -> Section:
    """Return a part of the page, with those of its tables that have rows."""
    return Section(id, *TEXTS[id], list(charts), [each for each in tables if each.rows])


TEXTS = {
    "stories": ("Stories", "Timeline of the affected clients, groups and topics; causes are red.", ""),
    "worth": (
        "Notable exchanges",
        "The first exchange of each error and finding, and the slowest responses; numbers match kdbg's other views.",
        "No notable exchanges.",
    ),
    "traffic": ("Traffic", "Requests by API, and bytes on the wire.", "No exchange found."),
    "latency": (
        "Latency",
        "Time from the last request byte to the first response byte. Fetch, ShareFetch and JoinGroup "
        "(long polls) are listed separately, because brokers delay them by design.",
        "No request got a response.",
    ),
    "errors": (
        "Errors",
        "Error codes in responses. Expected errors, which are part of normal protocol flow, are listed separately.",
        "No response contains an error code.",
    ),
    "lag": (
        "Consumer lag",
        "Committed offset compared with the log end offset, as far as the traffic shows both.",
        "Lag is unknown: the capture contains no committed offsets with a matching log end offset.",
    ),
    "rebalances": (
        "Rebalances",
        "Each bar is a group generation, from the first member that joined to the last that received its assignment.",
        "No group rebalanced.",
    ),
    "topics": (
        "Topics",
        "Record set sizes on the wire, compressed if the batches are.",
        "No message named a partition.",
    ),
    "clients": (
        "Clients",
        "Software and version as reported by clients in ApiVersions v3 and later.",
        "No client found.",
    ),
    "problems": (
        "Problems",
        "Findings: anomalies in the traffic and data that could not be decoded.",
        "No findings; all data was decoded.",
    ),
    "files": ("Files", "Input files.", "No file was read."),
}
"""Section by section: its title, its first line, and what it says where there is nothing to show."""
OVER_TIME: tuple[Callable[[Ask, Bins], Section], ...] = (traffic, latency, errors, lag)

MARK = b"<!doctype html>\n<!-- kdbg report -->"
"""What every report begins with."""
MOST_SOURCES = 5
NAME = 60
"""Characters of a name that filters offer."""
LINES = 3
"""Of a thing that stands out, on the page at first."""


def page(report: Report, sources: Sequence[str], moving: dict[str, Any] | None = None) -> str:
    """Return the page as HTML; `sources` are the names of what it was made from, `moving` is what its filters need."""
    named = ", ".join(shown(source) for source in sources[:MOST_SOURCES])
    more = f" and {len(sources) - MOST_SOURCES:,} more" if len(sources) > MOST_SOURCES else ""
    packed, scripts = None, {"js": _own("page.js"), "filtering": _own("filters.js")}
    if moving is not None:
        told = json.dumps(moving, separators=(",", ":")).encode()
        packed = base64.b64encode(gzip.compress(told, mtime=0)).decode()
    library = resources.files(__package__).joinpath("plotly", "plotly-cartesian.min.js.gz").read_bytes()
    texts = [*(script.encode() for script in scripts.values()), gzip.decompress(library)]
    digests = (hashlib.sha256(text).digest() for text in texts)
    hashes = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)  # as a Content-Security-Policy
    environment = Environment(
        loader=PackageLoader(__package__, ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["shown"] = lambda name: shown(name, NAME)
    return environment.get_template("page.html").render(
        report=report,
        sources=named + more,
        title=f"Kafka traffic: {named}{more}",
        version=__version__,
        css=Markup(_own("page.css")),
        figures=htmlsafe_json_dumps(
            {chart.id: chart.figure for section in report.sections for chart in section.charts}
        ),
        moving=moving,
        packed=packed,
        plotly=base64.b64encode(library).decode(),
        hashes=Markup(" ".join(hashes)),
        lines=LINES,
        **{name: Markup(script) for name, script in scripts.items()},
    )


def _own(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
