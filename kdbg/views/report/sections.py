"""What stands on the page, in its order: each section's words, charts and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from . import charts, facts, opening, outstanding, page_queries
from .ask import Ask, Bins
from .causes import Lane, ReportedCauses
from .cells import ReportTable, duration, table, when
from .charts import Chart
from .lag import lag as found_lag
from .lanes import lane_chart
from .opening import Point
from .outstanding import Named


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

    `undecoded` counts what could not be decoded; `bins` are those of all charts. `judged` is what diagnosis finds, None
    where there are no captures to judge.
    """

    span: str
    tiles: ReportTable | None
    sections: list[Section]
    undecoded: int
    points: list[Point] = field(default_factory=list)
    bins: Bins | None = None
    judged: ReportedCauses | None = None


def report(ask: Ask, judged: ReportedCauses | None = None) -> Report:
    """Ask for all facts, and put them in their places, beside what captures were `judged` to be."""
    total, undecoded = facts.total(ask), facts.undecoded(ask)
    if total is None:
        return Report("no Kafka exchange found", None, [problems(ask), files(ask)], undecoded,
                      judged=judged)  # fmt: skip
    bins = Bins.over(total.first, total.last)
    span = f"{when(total.first)} to {when(total.last)} UTC, {duration(total.last - total.first)}"
    found = facts.rebalances(ask)
    named = outstanding.named(ask, found)
    sections = [
        *([] if judged is None or not judged.lanes else [stories(bins, judged.lanes)]),
        worth_looking(ask),
        *(make(ask, bins) for make in OVER_TIME),
        rebalances(bins, found, named),
        *(make(ask) for make in AT_ALL),
    ]
    tiles = in_numbers(total, undecoded)
    return Report(span, tiles, sections, undecoded, opening.points(ask, named, total.unanswered), bins, judged)


def in_numbers(total: facts.Total, undecoded: int) -> ReportTable:
    """Return a table of one row: all in numbers."""
    columns = dict.fromkeys(("exchanges", "on the wire", "connections", "client hosts", "with errors", "no response",
                             "not decoded"), "count") | {"on the wire": "bytes"}  # fmt: skip
    row = (total.exchanges, total.bytes, total.connections, total.clients, total.erroneous, total.unanswered, undecoded)
    return table("Summary", columns, [row], page_queries.IN_NUMBERS)


def worth_looking(ask: Ask) -> Section:
    return Section(
        "worth",
        "Notable exchanges",
        "The first exchange of each error and finding, and the slowest responses; numbers match kdbg's other views.",
        "No notable exchanges.",
        tables=filled(opening.worth_looking(ask)),
    )


def traffic(ask: Ask, bins: Bins) -> Section:
    step = f"per {duration(bins.width)}"
    sizes = "SUM(COALESCE(request_bytes, 0) + COALESCE(response_bytes, 0))"
    columns = {"API": "text", "exchanges": "count", "requests": "bytes", "responses": "bytes", "errors": "count",
               "no response": "count"}  # fmt: skip
    exchanges = facts.over_time(ask, bins, "api", "COUNT(*)", "exchanges")
    counts = charts.stacked(
        "exchanges", f"Exchanges {step}, by API", exchanges, "count", moved=page_queries.EXCHANGES_OVER
    )
    amounts = facts.over_time(ask, bins, "api", sizes, "exchanges")
    return Section(
        "traffic", "Traffic", "Requests by API, and bytes on the wire.", "No exchange found.",
        [
            counts,
            charts.stacked("bytes", f"Bytes {step}, by API", amounts, "bytes", counts, moved=page_queries.BYTES_OVER),
        ],
        [table("APIs", columns, facts.by_api(ask), page_queries.BY_API)],
    )  # fmt: skip


def latency(ask: Ask, bins: Bins) -> Section:
    lines, heat = facts.latencies(ask, bins)
    polls, _ = facts.latencies(ask, bins, facts.POLLS)
    columns = {"API": "text", "responses": "count", "p50": "duration", "p95": "duration", "p99": "duration",
               "longest": "duration"}  # fmt: skip
    polled = columns | {"maximum excess latency": "duration"}
    each = f"each over {duration(bins.width)}"
    over = [charts.lines("polls", f"Long polls: percentiles, {each}", polls, "duration", moved=page_queries.POLLS_OVER)]
    return Section(
        "latency",
        "Latency",
        (
            "Time from the last request byte to the first response byte. Fetch, ShareFetch and JoinGroup "
            "(long polls) are listed separately, because brokers delay them by design."
        ),
        "No request got a response.",
        [
            charts.lines("percentiles", f"Percentiles, {each}", lines, "duration", moved=page_queries.ANSWERS_OVER),
            charts.heat_map("heat", "Latency distribution", bins, heat, "percentiles"),
        ][: 2 if heat.edges else 0]
        + (over if polls.lines else []),
        filled(
            table("Latency by API", columns, facts.latency_by_api(ask), page_queries.LATENCY, "percentiles"),
            table(
                "Long polls by API", polled, facts.latency_by_api(ask, facts.POLLS), page_queries.LONG_POLLS, "polls"
            ),
            *spent(ask),
        ),
    )


def spent(ask: Ask) -> list[ReportTable]:
    """Return where the time went, in all, by API and by client; nothing of tables, which do not tell."""
    columns = {"responses": "count"} | dict.fromkeys(page_queries.SPENT_TITLES, "duration")
    return [
        table("Latency breakdown by API", {"API": "text"} | columns, facts.spent(ask), page_queries.SPENT_BY_API),
        table("Latency breakdown by client", {"client": "text"} | columns, facts.spent(ask, "client_id"),
              page_queries.SPENT_BY_CLIENT),
    ]  # fmt: skip


def errors(ask: Ask, bins: Bins) -> Section:
    by_api = {"error": "text", "API": "text", "times": "count", "first": "time", "last": "time"}
    by_topic = {"topic": "text", "error": "text", "API": "text", "times": "count", "partitions": "count"}
    by_client = {"client": "text", "host": "text", "error": "text", "API": "text", "times": "count", "first": "time",
                 "last": "time"}  # fmt: skip
    erring, left = outstanding.errors_by_client(ask)
    series = facts.over_time(ask, bins, "error", "COUNT(*)", facts.ERRORS)
    return Section(
        "errors",
        "Errors",
        ("Error codes in responses. Expected errors, which are part of normal protocol flow, are "
        "listed separately."),
        "No response contains an error code.",
        [charts.stacked("errors-time", f"Errors per {duration(bins.width)}, by code", series, "count",
                        moved=page_queries.ERRORS_OVER)]
        if series.lines
        else [],
        filled(
            table("Errors by client", by_client, facts.Listing([row[:-1] for row in erring], left),
                  page_queries.ERRORS_BY_CLIENT),
            table("Errors by code and API", by_api, facts.errors_by_api(ask), page_queries.ERRORS_BY_API),
            table("Errors by topic", by_topic, facts.errors_by_topic(ask), page_queries.ERRORS_BY_TOPIC),
            table("Expected errors", by_api, facts.errors_by_api(ask, facts.STEPS), page_queries.STEPS_BY_API),
        ),
    )  # fmt: skip


def lag(ask: Ask, bins: Bins) -> Section:
    found = found_lag(ask, bins)
    columns = {"group": "text", "topic": "text", "partition": "id", "log end": "count", "committed": "count",
               "lag": "count"}  # fmt: skip
    return Section(
        "lag",
        "Consumer lag",
        "Committed offset compared with the log end offset, as far as the traffic shows both.",
        "Lag is unknown: the capture contains no committed offsets with a matching log end offset.",
        [charts.lines("lag-time", "Consumer lag in records, all partitions of a group", found.groups, "count",
                      moved=page_queries.Running(found.changes))]
        if found.groups.lines
        else [],
        filled(table("Lag at the end, by partition", columns, found.partitions, page_queries.LAG)),
    )  # fmt: skip


def stories(bins: Bins, found: list[Lane]) -> Section:
    return Section(
        "stories",
        "Stories",
        "Timeline of the affected clients, groups and topics; causes are red.",
        "",
        [lane_chart("stories-time", "Timeline", bins, found)],
    )


def rebalances(bins: Bins, found: facts.Listing, named: list[Named]) -> Section:
    columns = {"group": "text", "generation": "id", "began": "time", "took": "duration", "members": "count",
               "reason": "text", "joined": "text", "left": "text"}  # fmt: skip
    rows = [
        (each.group, each.generation, each.began, each.ended - each.began, each.members, each.reason,
         ", ".join(each.joined), "; ".join(each.gone) or None)
        for each in named
    ]  # fmt: skip
    numbers = table("Rebalances: numbers", columns, facts.Listing(rows, found.left), page_queries.REBALANCES)
    return Section(
        "rebalances",
        "Rebalances",
        "Each bar is a group generation, from the first member that joined to the last that received its assignment.",
        "No group rebalanced.",
        [charts.time_line("rebalances-time", "Rebalances by group", bins, found, numbers)] if rows else [],
    )


def topics(ask: Ask) -> Section:
    columns = {"topic": "text", "partitions": "count", "records accepted": "count", "bytes accepted": "bytes",
               "records rejected": "count", "bytes rejected": "bytes",
               "records unacknowledged": "count", "bytes unacknowledged": "bytes",
               "records fetched": "count", "bytes fetched": "bytes", "errors": "count"}  # fmt: skip
    return Section(
        "topics",
        "Topics",
        "Record set sizes on the wire, compressed if the batches are.",
        "No message named a partition.",
        tables=filled(table("Topics", columns, facts.topics(ask), page_queries.TOPICS)),
    )


def clients(ask: Ask) -> Section:
    columns = {"client id": "text", "software": "text", "version": "text", "SASL": "text", "hosts": "count",
               "connections": "count", "exchanges": "count", "bytes": "bytes", "first": "time",
               "last": "time"}  # fmt: skip
    return Section(
        "clients",
        "Clients",
        "Software and version as reported by clients in ApiVersions v3 and later.",
        "No client found.",
        tables=filled(table("Clients", columns, facts.clients(ask), page_queries.CLIENTS)),
    )


def problems(ask: Ask) -> Section:
    columns = {"severity": "text", "kind": "text", "what": "text", "API": "text", "times": "count", "first": "time"}
    return Section(
        "problems",
        "Problems",
        "Findings: anomalies in the traffic and data that could not be decoded.",
        "No findings; all data was decoded.",
        tables=filled(table("Problems", columns, facts.problems(ask), page_queries.ODD)),
    )


def files(ask: Ask) -> Section:
    columns = {"file": "text", "packets": "count", "bytes": "bytes", "first packet": "time", "last packet": "time",
               "problem": "text"}  # fmt: skip
    return Section(
        "files",
        "Files",
        "Input files.",
        "No file was read.",
        tables=filled(table("Files", columns, facts.files(ask))),
    )


def filled(*tables: ReportTable) -> list[ReportTable]:
    """Return the tables that have rows."""
    return [each for each in tables if each.rows]


OVER_TIME: tuple[Callable[[Ask, Bins], Section], ...] = (traffic, latency, errors, lag)
AT_ALL: tuple[Callable[[Ask], Section], ...] = (topics, clients, problems, files)
