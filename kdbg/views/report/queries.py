"""The SQL that facts are asked for in, and what the page's filters ask of the facts behind each list.

DuckDB runs it (scale/query/report.py). `exchanges`, `partitions`, `connections`, `groups`, `problems` and `files` are
those of tables/columns.py, with points in time as microseconds since the epoch; `connections` also has `host`, the
client without its port, and `errors` has a row for each error that an exchange tells of. `places` has the path of each
capture that is one file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ...exchanges.messages.rejection import NORMAL_STEPS
from ...exchanges.messages.requested_wait import WAITS
from ...protocol.grammars import api_names
from ...protocol.grammars.errors import error_name
from ..tables.columns import TIMES

Ask = Callable[[str], Iterable[tuple[Any, ...]]]
"""Answers SQL with rows, one by one."""

LONGEST = 19
"""Digits that a number of 64 bits may have."""


def _among(names: Iterable[str]) -> str:
    return f"COALESCE(api, '') IN ({', '.join(repr(name) for name in names)})"


_STEPS = (
    f"COALESCE(error, '') = '{error_name(code)}'"
    + (f" AND {_among(api_names()[key] for key in sorted(keys))}" if keys else "")
    for code, keys in NORMAL_STEPS.items()
)
STEP = f"({' OR '.join(_STEPS)})"
"""SQL: whether an error of an API is a normal step of its protocol."""
POLL = _among(api_names()[key] for key, wait in WAITS.items() if wait.held)
"""SQL: whether the answer is one that brokers hold back, until there is something to say."""


def rounded(column: str, digits: int) -> str:
    """Return the SQL for a number cut down to so many digits, so that few enough values are left to count each."""
    cuts = (
        f"WHEN {column} < {10**power} THEN {column} - {column} % {10 ** (power - digits)}"
        for power in range(digits + 1, LONGEST)
    )
    return f"CASE WHEN {column} < {10**digits} THEN {column} {' '.join(cuts)} ELSE {column} END"


COMMITS = ("OffsetCommit", "OffsetFetch", "TxnOffsetCommit")
"""The APIs that tell what a group committed."""
_ANSWERED = "latency_us IS NOT NULL AND request_time IS NOT NULL"
ANSWERS, POLLS = f"{_ANSWERED} AND NOT {POLL}", f"{_ANSWERED} AND {POLL}"
"""SQL: answers that come as soon as they can, and those to long polls, which brokers hold back."""
TIMED = "broker_us IS NOT NULL"
"""SQL: exchanges of which it is known where their time went."""
ERRORS = f"(SELECT * FROM errors WHERE NOT {STEP}) AS wrong"
STEPS = f"(SELECT * FROM errors WHERE {STEP}) AS steps"
"""SQL: errors but normal steps of protocols, and those steps, to ask for."""
MOVED = {
    "accepted": "api = 'Produce' AND error_code = 0",
    "rejected": "api = 'Produce' AND error_code <> 0",
    "unacknowledged": "api = 'Produce' AND error_code IS NULL",
    "fetched": "api = 'Fetch'",
}
"""What becomes of records, in SQL: of what nobody answered for (acks=0, or no answer in the capture) none can tell."""
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
    for. `plain` is the same source without what tells origins apart.
    """

    source: str
    keys: Keys = field(default_factory=dict)
    amounts: Amounts = field(default_factory=dict)
    narrow: str = ""
    plain: str = ""

    @property
    def folds(self) -> list[str]:
        """How parts are put together, amount by amount."""
        return [fold for fold, _ in self.amounts.values()]

    @property
    def parts(self) -> list[TableQuery]:
        """The questions whose answers can be put together origin by origin: of different things each by itself."""
        different = {title: amount for title, amount in self.amounts.items() if amount[0] == DISTINCT}
        others = {title: amount for title, amount in self.amounts.items() if title not in different}
        asked = [*([others] if others or not different else []), *({title: different[title]} for title in different)]
        return [replace(self, amounts=amounts) for amounts in asked]

    @property
    def sql(self) -> list[str]:
        """All that is asked for: keys, then amounts."""
        return [*self.keys.values(), *(_aggregate(*amount) for amount in self.amounts.values())]

    def whole(self, weight: str = "1") -> str:
        """Return the SQL for keys and amounts of all traffic together, called by their titles, and a weight."""
        whole = {title: f"COUNT(DISTINCT {sql})" if fold == DISTINCT else _aggregate(fold, sql)
                 for title, (fold, sql) in self.amounts.items()}  # fmt: skip
        columns = [f'{sql} AS "{title}"' for title, sql in (self.keys | whole).items()]
        by = ", ".join(str(place + 1) for place in range(len(self.keys)))
        return f"SELECT {', '.join(columns)}, {weight} AS weight FROM {self.plain or self.source} GROUP BY {by}"


def _aggregate(fold: str, sql: str) -> str:
    return sql if fold == DISTINCT else f"{FOLDS[fold]}({sql})"


@dataclass(frozen=True)
class ListQuery:
    """A list of the page: where its columns come from, and which row is the first.

    What only a later one of the questions tells is 0 where that has no answer. `columns` are their titles, where these
    are not keys and amounts of the first, `kinds` those of titles that have others elsewhere. Rows are in the order of
    the first amount, or of the SQL `order`, in which `weight` is an order that no column has; then of the keys.
    `histogram` names the chart of whose numbers percentiles among the columns are taken.
    """

    caption: str
    asked: tuple[TableQuery, ...]
    columns: tuple[str, ...] = ()
    order: str = ""
    weight: str = "1"
    histogram: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of its columns."""
        return self.columns or (*self.asked[0].keys, *self.asked[0].amounts)

    @property
    def by(self) -> str:
        """The order of its rows, in SQL; what has no name is the first of those that are alike."""
        order = self.order or f'"{next(iter(self.asked[0].amounts))}" DESC'
        return ", ".join([order, *(unknown_first(f'"{key}"') for key in self.asked[0].keys)])


def unknown_first(name: str) -> str:
    """Return the SQL for an order by name in which what has none is the first."""
    return f"NULLIF({name}, 'unknown')"


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
        return [bin, name, self.aggregate]

    @property
    def aggregate(self) -> str:
        """The SQL of its amounts."""
        return _aggregate(*self.amount)


ONE: Amount = (SUM, "1")
SPAN: Amounts = {"first": (MIN, "request_time"), "last": (MAX, "request_time")}
API: Keys = {"API": "COALESCE(api, 'unknown')"}
"""The key of tables that call an API so of which nobody knows the name."""
EITHER = "COALESCE(request_bytes, 0) + COALESCE(response_bytes, 0)"
UNANSWERED = "CASE WHEN answered IS NULL THEN 1 ELSE 0 END"
CONNECTION = "connection_uid"
_OF_CONNECTION = ("host", "client_id", "software_name", "software_version")
_COMMITS = ", ".join(map(repr, COMMITS))


def _with_connection(source: str, name: str) -> str:
    """Return the SQL for exchanges, or their errors, beside what is known of their connections."""
    columns = ", ".join(f"connections.{column} AS of_{column}" for column in _OF_CONNECTION)
    return f"(SELECT {name}.*, {columns} FROM {source} JOIN connections USING (connection_uid)) AS connected"


BESIDE, WRONG = _with_connection("exchanges", "exchanges"), _with_connection(ERRORS, "wrong")
PARTITIONS = f"(SELECT partitions.*, '{TOPIC}' || COALESCE(topic, topic_id) AS topics FROM partitions) AS named"
PROBLEMS = """(
    SELECT problems.*, known.topics FROM problems LEFT JOIN (
        SELECT exchange_uid, MIN(topics) AS topics FROM exchanges GROUP BY 1) AS known USING (exchange_uid)
    ) AS beside"""
JOINS = """(
    SELECT groups.*, known.api, known.topics FROM groups LEFT JOIN (
        SELECT exchange_uid, MIN(api) AS api, MIN(topics) AS topics FROM exchanges GROUP BY 1) AS known
    USING (exchange_uid)
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
WORST_FIRST = """CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, "times" DESC"""
"""SQL: an order by severity."""
_EXCHANGE = f"{CONNECTION}, request_packet, response_packet, correlation_id, request_time"
_ERRONEOUS = f"(SELECT DISTINCT {_EXCHANGE}, client_id, api, broker, topics FROM {ERRORS}) AS with_errors"
IN_NUMBERS = (
    TableQuery("exchanges", {}, {"exchanges": ONE, "on the wire": (SUM, EITHER), "no response": (SUM, UNANSWERED),
                                 "connections": (DISTINCT, CONNECTION)}),
    TableQuery(BESIDE, {}, {"client hosts": (DISTINCT, "of_host")}),
    TableQuery(_ERRONEOUS, {}, {"with errors": ONE}),
    TableQuery(those(PROBLEMS, "severity = 'error'"), {}, {"not decoded": ONE}),
)  # fmt: skip
APIS = ListQuery(
    "APIs",
    (
        TableQuery("exchanges", API, {"exchanges": ONE, "requests": (SUM, "request_bytes"),
                                      "responses": (SUM, "response_bytes"), "no response": (SUM, UNANSWERED)}),
        TableQuery(ERRORS, API, {"errors": ONE}),
    ),
    ("API", "exchanges", "requests", "responses", "errors", "no response"),
    kinds={"requests": "bytes", "responses": "bytes"},
)  # fmt: skip
PERCENTILES = ("p50", "p95", "p99")
_TAKEN: Amounts = {"responses": ONE, "longest": (MAX, "latency_us")}
_LATENCY = ("API", "responses", *PERCENTILES, "longest")
LATENCY, LONG_POLLS = (
    ListQuery(caption, (TableQuery(those("exchanges", which), API, _TAKEN | late),), (*_LATENCY, *late), histogram=of)
    for caption, which, late, of in (
        ("Latency by API", ANSWERS, {}, "percentiles"),
        ("Long polls by API", POLLS, {"maximum excess latency": (MAX, "late_us")}, "polls"),
    )
)
SPENT_TITLES = ("waiting", "throttled", "network", "held by the broker", "broker", "client read delay")
"""What the page calls the columns TIMES."""
_SPENT: Amounts = {"responses": ONE} | {title: (SUM, time) for title, time in zip(SPENT_TITLES, TIMES, strict=True)}
SPENT = tuple(
    ListQuery(
        f"Latency breakdown by {key}",
        (TableQuery(those("exchanges", TIMED), {key: f"COALESCE({column}, 'unknown')"}, _SPENT),),
        order="weight DESC",
        weight="SUM(latency_us)",
    )
    for key, column in (("API", "api"), ("client", "client_id"))
)
_BY_CODE: Keys = {"error": "error", "API": "api"}
ERRORS_BY_CLIENT, ERRORS_BY_API, EXPECTED = (
    ListQuery(caption, (TableQuery(source, keys | _BY_CODE, {"times": ONE} | SPAN),))
    for caption, source, keys in (
        ("Errors by client", WRONG, {"client": "client_id", "host": "of_host"}),
        ("Errors by code and API", ERRORS, {}),
        ("Expected errors", STEPS, {}),
    )
)
_BY_TOPIC: Keys = {"topic": "COALESCE(topic, topic_id)"}
ERRORS_BY_TOPIC = ListQuery(
    "Errors by topic",
    (TableQuery(those(PARTITIONS, f"error_code <> 0 AND NOT {STEP}"), _BY_TOPIC | _BY_CODE,
                {"times": ONE, "partitions": (DISTINCT, "partition")}),),
)  # fmt: skip
_MOVED: Amounts = {
    f"{amount} {name}": (SUM, f"CASE WHEN {which} THEN {amount} END")
    for name, which in MOVED.items() for amount in ("records", "bytes")
} | {"errors": (SUM, f"CASE WHEN error_code <> 0 AND NOT {STEP} THEN 1 ELSE 0 END")}  # fmt: skip
TOPICS = ListQuery(
    "Topics",
    (TableQuery(PARTITIONS, _BY_TOPIC, _MOVED | {"partitions": (DISTINCT, "partition")}),),
    ("topic", "partitions", *_MOVED),
    "weight DESC",
    "SUM(COALESCE(bytes, 0))",
)
_SOFTWARE: Keys = {"client id": "of_client_id", "software": "of_software_name", "version": "of_software_version"}
CLIENTS = TableQuery(BESIDE, _SOFTWARE, {"exchanges": ONE, "bytes": (SUM, EITHER)} | SPAN | {
    "hosts": (DISTINCT, "of_host"), "connections": (DISTINCT, CONNECTION),
})  # fmt: skip
FINDINGS = ListQuery(
    "Problems",
    (TableQuery(PROBLEMS, {"severity": "severity", "kind": "kind", "what": "text", "API": "api"},
                {"times": ONE, "first": (MIN, "request_time")}, plain="problems"),),
    order=WORST_FIRST,
)  # fmt: skip
_FOUND = "severity <> 'note' AND kind NOT IN ('no-response', 'unanswered')"
ABOVE_NOTES = ListQuery(
    "",
    (TableQuery(those(PROBLEMS, _FOUND), {"kind": "kind", "severity": "severity"},
                {"times": ONE, "example": (MIN, "text")}, plain=those("problems", _FOUND)),),
    order=WORST_FIRST,
)  # fmt: skip
REBALANCES = TableQuery(JOINS, {"group": "group_id", "generation": "generation_id"})
MOVED_GROUPS = TableQuery(JOINS, {"group": "group_id"}, {"times": (DISTINCT, "capture, broker, generation_id")})
LAG = TableQuery(
    those(PARTITIONS, f"api IN ({_COMMITS})"), {"group": "group_id"} | _BY_TOPIC | {"partition": "partition"}
)
WORTH = TableQuery("exchanges", {"connection": "connection"} | API | {"time": "request_time"}, narrow="time")
LATE = replace(WORTH, amounts={"times": ONE})
UNANSWERED_REQUESTS = ListQuery(
    "", (TableQuery(those("exchanges", "answered IS NULL"), {"API": "api", "client": "client_id"}, {"times": ONE}),)
)
