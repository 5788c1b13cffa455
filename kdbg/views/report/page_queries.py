"""What the page's filters ask of the facts behind each list: where its amounts come from, as SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..tables.columns import TIMES
from .ask import STEP, rounded
from .facts import ANSWERS, COMMITS, ERRORS, MOVED, POLLS, STEPS, TIMED

TOPIC = "="
"""Stands in front of a single topic, where other sources have a list."""
Keys: TypeAlias = dict[str, str]
Amount: TypeAlias = tuple[str, str]
Amounts: TypeAlias = dict[str, Amount]
SUM, MIN, MAX, DISTINCT = "sum", "min", "max", "distinct"
FOLDS = {SUM: "SUM", MIN: "MIN", MAX: "MAX"}


@dataclass(frozen=True)
class TableQuery:
    """One question: `keys` are SQL by the titles of the columns that tell rows apart, `amounts` by those it fills.

    An amount is (how parts of it are put together, SQL). `narrow` is a key whose values are few: only these are asked
    for.
    """

    source: str
    keys: Keys = field(default_factory=dict)
    amounts: Amounts = field(default_factory=dict)
    narrow: str = ""

    @property
    def distinct(self) -> bool:
        """Whether it counts different things."""
        return DISTINCT in self.folds

    @property
    def folds(self) -> list[str]:
        """How parts are put together, amount by amount."""
        return [fold for fold, _ in self.amounts.values()]

    @property
    def sql(self) -> list[str]:
        """All that is asked for: keys, then amounts."""
        return [*self.keys.values(), *(_aggregate(*amount) for amount in self.amounts.values())]


def _aggregate(fold: str, sql: str) -> str:
    return sql if fold == DISTINCT else f"{FOLDS[fold]}({sql})"


@dataclass(frozen=True)
class ChartQuery:
    """A chart's question: `name` is the SQL of what tells its series apart, `amount` that of its values.

    `way` says what the page's script makes of the parts: a sum for each series, or percentiles of the numbers in
    `name`, of which `amount` says how often each was.
    """

    way: str
    source: str
    name: str
    amount: Amount = (SUM, "1")

    def sql(self, bin: str, digits: int) -> list[str]:
        """All that is asked for: the bin of time, the series, or the number to so many digits, the amount."""
        name = rounded(self.name, digits) if self.way == "percentiles" else self.name
        return [bin, name, _aggregate(*self.amount)]


@dataclass(frozen=True)
class Running:
    """A chart's changes by (group, topic, partition): each is (bin, series, by how much its value grows from there on).

    None where there are too many to hold.
    """

    changes: Mapping[tuple[str, ...], Sequence[tuple[int, str, int]]] | None


@dataclass(frozen=True)
class Bars:
    """A chart whose bars are rows of its table: the row of each."""

    rows: Sequence[int]


@dataclass(frozen=True)
class Heated:
    """A heat map of the numbers that another chart has percentiles of."""

    chart: str
    edges: Sequence[int]


Moved: TypeAlias = ChartQuery | Running | Bars | Heated | None
"""How the page's filters move a chart; None: they do not."""
ONE: Amount = (SUM, "1")
SPAN: Amounts = {"first": (MIN, "request_time"), "last": (MAX, "request_time")}
API: Keys = {"API": "COALESCE(api, 'unknown')"}
"""The key of tables that call an API so of which nobody knows the name."""
EITHER = "COALESCE(request_bytes, 0) + COALESCE(response_bytes, 0)"
UNANSWERED = "CASE WHEN answered IS NULL THEN 1 ELSE 0 END"
CONNECTION = "capture, connection_id"
_OF_CONNECTION = ("host", "client_id", "software_name", "software_version")
_COMMITS = ", ".join(map(repr, COMMITS))


def _with_connection(source: str, name: str) -> str:
    """Return the SQL for exchanges, or their errors, beside what is known of their connections."""
    columns = ", ".join(f"connections.{column} AS of_{column}" for column in _OF_CONNECTION)
    on = f"{name}.capture = connections.capture AND {name}.connection_id = connections.connection_id"
    return f"(SELECT {name}.*, {columns} FROM {source} JOIN connections ON {on}) AS connected"


BESIDE, WRONG = _with_connection("exchanges", "exchanges"), _with_connection(ERRORS, "wrong")
PARTITIONS = f"(SELECT partitions.*, '{TOPIC}' || COALESCE(topic, topic_id) AS topics FROM partitions) AS named"
PROBLEMS = """(
    SELECT problems.*, known.topics FROM problems LEFT JOIN (
        SELECT capture, connection_id, request_time, COALESCE(correlation_id, 0) AS correlation, MIN(topics) AS topics
        FROM exchanges GROUP BY 1, 2, 3, 4) AS known
    ON problems.capture = known.capture AND problems.connection_id = known.connection_id
        AND problems.request_time = known.request_time AND COALESCE(problems.correlation_id, 0) = known.correlation
    ) AS beside"""
JOINS = """(
    SELECT groups.*, known.api, known.topics FROM groups LEFT JOIN (
        SELECT capture, connection_id, request_time, MIN(api) AS api, MIN(topics) AS topics
        FROM exchanges GROUP BY 1, 2, 3) AS known
    ON groups.capture = known.capture AND groups.connection_id = known.connection_id
        AND groups.time = known.request_time
    WHERE event IN ('join', 'sync') AND generation_id > 0) AS joined"""
"""SQL: what lists are made of, each with client, API, broker and topics of the exchange that it belongs to."""


def those(source: str, where: str) -> str:
    """Return the SQL for some rows of a source."""
    return f"(SELECT * FROM {source} WHERE {where}) AS those"


_TIMED = those("exchanges", "request_time IS NOT NULL")
EXCHANGES_OVER = ChartQuery("sum", _TIMED, API["API"])
BYTES_OVER = ChartQuery("sum", _TIMED, API["API"], (SUM, EITHER))
ERRORS_OVER = ChartQuery("sum", those(ERRORS, "request_time IS NOT NULL"), "error")
ANSWERS_OVER, POLLS_OVER = (
    ChartQuery("percentiles", those("exchanges", which), "latency_us") for which in (ANSWERS, POLLS)
)
IN_NUMBERS = (
    TableQuery("exchanges", {}, {"exchanges": ONE, "on the wire": (SUM, EITHER), "no response": (SUM, UNANSWERED)}),
    TableQuery("exchanges", {}, {"connections": (DISTINCT, CONNECTION)}),
    TableQuery(BESIDE, {}, {"client hosts": (DISTINCT, "of_host")}),
    TableQuery(f"(SELECT DISTINCT {CONNECTION}, request_packet, response_packet, correlation_id, request_time, "
             f"client_id, "
          f"api, broker, topics FROM {ERRORS}) AS with_errors", {}, {"with errors": ONE}),
    TableQuery(those(PROBLEMS, "severity = 'error'"), {}, {"not decoded": ONE}),
)  # fmt: skip
BY_API = (
    TableQuery("exchanges", API, {"exchanges": ONE, "requests": (SUM, "request_bytes"),
                             "responses": (SUM, "response_bytes"), "no response": (SUM, UNANSWERED)}),
    TableQuery(ERRORS, API, {"errors": ONE}),
)  # fmt: skip
LATENCY = (TableQuery(those("exchanges", ANSWERS), API, {"responses": ONE, "longest": (MAX, "latency_us")}),)
SPENT_TITLES = ("waiting", "throttled", "network", "held by the broker", "broker", "client read delay")
"""What the page calls the columns TIMES."""
_SPENT: Amounts = {"responses": ONE} | {
    title: (SUM, column) for title, column in zip(SPENT_TITLES, TIMES, strict=True)
}  # fmt: skip
SPENT_BY_API, SPENT_BY_CLIENT = (
    (TableQuery(those("exchanges", TIMED), keys, _SPENT),)
    for keys in (API, {"client": "COALESCE(client_id, 'unknown')"})
)
LONG_POLLS = (
    TableQuery(those("exchanges", POLLS), API, {"responses": ONE, "longest": (MAX, "latency_us"),
                                           "maximum excess latency": (MAX, "late_us")}),
)  # fmt: skip
BY_CLIENT: Keys = {"client": "client_id", "host": "of_host", "error": "error", "API": "api"}
ERRORS_BY_CLIENT = (TableQuery(WRONG, BY_CLIENT, {"times": ONE} | SPAN),)
ERRORS_BY_API, STEPS_BY_API = (
    (TableQuery(source, {"error": "error", "API": "api"}, {"times": ONE} | SPAN),) for source in (ERRORS, STEPS)
)
_BY_TOPIC: Keys = {"topic": "COALESCE(topic, topic_id)"}
_REFUSED = those(PARTITIONS, f"error_code <> 0 AND NOT {STEP}")
ERRORS_BY_TOPIC = tuple(
    TableQuery(_REFUSED, _BY_TOPIC | {"error": "error", "API": "api"}, amounts)
    for amounts in ({"times": ONE}, {"partitions": (DISTINCT, "partition")})
)
TOPICS = (
    TableQuery(PARTITIONS, _BY_TOPIC, {
        f"{amount} {name}": (SUM, f"CASE WHEN {which} THEN {amount} END")
        for name, which in MOVED.items() for amount in ("records", "bytes")
    } | {"errors": (SUM, f"CASE WHEN error_code <> 0 AND NOT {STEP} THEN 1 ELSE 0 END")}),
    TableQuery(PARTITIONS, _BY_TOPIC, {"partitions": (DISTINCT, "partition")}),
)  # fmt: skip
_SOFTWARE: Keys = {"client id": "of_client_id", "software": "of_software_name", "version": "of_software_version"}
CLIENTS = (
    TableQuery(BESIDE, _SOFTWARE, {"exchanges": ONE, "bytes": (SUM, EITHER)} | SPAN),
    TableQuery(BESIDE, _SOFTWARE, {"hosts": (DISTINCT, "of_host")}),
    TableQuery(BESIDE, _SOFTWARE, {"connections": (DISTINCT, CONNECTION)}),
)
ODD = (
    TableQuery(PROBLEMS, {"severity": "severity", "kind": "kind", "what": "text", "API": "api"},
          {"times": ONE, "first": (MIN, "request_time")}),
)  # fmt: skip
REBALANCES = (TableQuery(JOINS, {"group": "group_id", "generation": "generation_id"}),)
LAG = (
    TableQuery(
        those(PARTITIONS, f"api IN ({_COMMITS})"), {"group": "group_id"} | _BY_TOPIC | {"partition": "partition"}
    ),
)
WORTH = (
    TableQuery("exchanges", {"connection": "connection"} | API | {"time": "request_time"}, narrow="time"),
)  # fmt: skip
LATE = (TableQuery("exchanges", WORTH[0].keys, {"times": ONE}, narrow="time"),)
MOVED_GROUPS = (
    TableQuery(JOINS, {"group": "group_id"}, {"times": (DISTINCT, "capture, broker, generation_id")}),
)  # fmt: skip
UNANSWERED_REQUESTS = (
    TableQuery(those("exchanges", "answered IS NULL"), {"API": "api", "client": "client_id"}, {"times": ONE}),
)  # fmt: skip
FINDINGS = (
    TableQuery(those(PROBLEMS, "severity <> 'note' AND kind NOT IN ('no-response', 'unanswered')"),
          {"kind": "kind", "severity": "severity"}, {"times": ONE}),
)  # fmt: skip
