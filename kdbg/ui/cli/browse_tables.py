"""`kdbg browse tables/`: what reads a folder of a pipeline's tables, and jobs over them.

The exchange that a row is about is read out of its capture, where that still stands at its recorded path.
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...capture import Capture
from ...capture.names import path_of
from ...capture.packet import endpoint
from ...errors import CaptureError, InputError
from ...exchanges.engine.driver import Drive
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import endpoint as ends
from ...exchanges.messages.serialization import Packed
from ...extras import require
from ...protocol.findings.amounts import count
from ...scale.query.database import NEEDED, Database
from ...views.reading import engine_of, open_any
from ...views.render.answers import table
from ...views.render.style import Look
from ...views.render.values import escape
from ...views.report.opening import command
from ...views.tables.columns import ABOUT, TABLES
from ..tui.contents import Beside, Columns, Original, TableRows
from ..tui.feed import ExchangeFeed, Job, Progress, Tell
from ..tui.index import HALF, LONGEST, NOTHING, WRONG, Batch, BatchBuilder, Start, Who
from ..tui.spool import SpoolWalk, SpoolWriter
from .browse_captures import show_screen
from .packets import write_exchanges

if TYPE_CHECKING:
    from ...scale.spark.delta import StoredTables

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FIRST, LATER = 64, 1024
"""Rows of the first parcel, which is there soon, and of later ones."""
BESIDE = {"partitions": "request_time", "records": "request_time", "groups": "time", "problems": "request_time"}
"""The tables that tell more of an exchange, with the column of its time."""
MANY = 200
"""Rows of each that are shown."""
SECONDS = 30.0
"""Seconds that a condition of the filter line may take over some rows, and the statistics over all."""
NUMBERS = """
SELECT api, count(*) AS exchanges, count(*) FILTER (WHERE len(error_codes) > 0) AS "with errors",
  round(quantile_disc(latency_us, 0.5) / 1000, 3) AS "p50 ms",
  round(quantile_disc(latency_us, 0.99) / 1000, 3) AS "p99 ms",
  round(max(latency_us) / 1000, 3) AS "max ms", sum(request_bytes) AS "request bytes",
  sum(response_bytes) AS "response bytes"
FROM exchanges WHERE ({condition}
) GROUP BY api ORDER BY exchanges DESC, api
"""
"""The statistics of what is shown."""


def read_tables(stored: StoredTables, spool: int, tell: Tell) -> None:
    """Read the table of exchanges to its end."""
    from ...scale.query.sources import show

    rows, names = IndexRows(), list(TABLES["exchanges"])
    with closing(SpoolWriter(spool)) as writer, closing(Database()) as database:
        show(database, stored, {"exchanges"})
        ((whole,),) = database.answer("SELECT count(*) FROM exchanges").rows
        waiting: list[tuple[Any, ...]] = []
        for row in database.answer(f"SELECT {listed(names)} FROM exchanges").rows:
            waiting.append(row)
            if len(waiting) >= (LATER if rows.count else FIRST):
                tell(rows.batch(names, waiting, writer))
                tell(Progress(rows.count, whole))
                waiting = []
        if waiting:
            tell(rows.batch(names, waiting, writer))
        tell(Progress(whole, whole))


class IndexRows(BatchBuilder):
    """Makes batches of the index of rows; `count` are in those so far."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self._connections: dict[Any, int] = {}

    def batch(self, names: Sequence[str], rows: Sequence[tuple[Any, ...]], writer: SpoolWriter) -> Batch:
        """Return the batch of some more rows, and write them."""
        stored: Columns = {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
        numbered = (self._row(dict(zip(names, values, strict=True))) for values in rows)
        return self.build(numbered, writer.put(pickle.dumps(stored)), [])

    def _row(self, row: Mapping[str, Any]) -> tuple[int, ...]:
        self.count += 1
        time, latency = row["request_time"], row["latency_us"]
        flags = WRONG if row["error_codes"] or row["notes"] else 0
        if row["request_bytes"] is None or (row["response_bytes"] is None and row["answered"] is not False):
            flags |= HALF
        return (
            self.count,
            (time - EPOCH) // MICROSECOND * 1000 if time is not None else 0,
            self._who_of(row),
            NOTHING if row["request_bytes"] is None else row["request_bytes"],
            NOTHING if row["response_bytes"] is None else row["response_bytes"],
            NOTHING if latency is None else latency * 1000,
            flags,
            self.number_names(name for name in row["topics"] or () if name is not None),
            self.number_names(name for name in row["groups"] or () if name is not None),
            0,
        )

    def _who_of(self, row: Mapping[str, Any]) -> int:
        connection = row["connection_uid"] or (row["capture"], row["connection_id"])
        number = self._connections.setdefault(connection, len(self._connections) + 1)
        client_id = row["client_id"]
        who = Who(
            0, number, escape(row["client"] or "?"), escape(row["broker"] or "?"), escape(row["api"] or "?"),
            row["api_version"] if row["api_version"] is not None else -1,
            None if client_id is None else client_id[:LONGEST],
        )  # fmt: skip
        return self._who[who] if who in self._who else self.number_who(who, who)


class Condition:
    """Takes the text of the filter line: a condition on the columns of exchanges, in SQL."""

    def __init__(self) -> None:
        self._database: Any = None

    def __call__(self, text: str) -> str:
        """Return it; raise `InputError` where it is none."""
        if text.startswith("-"):
            raise InputError("a filter for tables is an SQL condition, such as latency_us > 100000 AND api = 'Fetch'")
        if text:
            self._database = self._database or Database(seconds=SECONDS)
            self._database.check_condition("exchanges", text)
        return text

    def close(self) -> None:
        """Let go of what was needed for it."""
        if self._database is not None:
            self._database.close()
            self._database = None


def jobs(stored: StoredTables, roots: Mapping[str | None, Sequence[str]], *, hide: bool) -> dict[str, Job]:
    """Return the questions that can be asked of tables; with `hide` what records hold is not told.

    `roots` are the folders below which the files of each run are.
    """

    def more(spool: int, start: Start, row: Mapping[str, Any]) -> Iterator[Beside | Original]:
        with closing(Database(hide=hide)) as database:
            beside = beside_of(database, stored, row)
            yield beside
            yield original(files_of(database, roots, row), row, beside.rows.get("partitions", ()))

    def export(spool: int, start: Start, target: str, wanted: Mapping[int, Sequence[int]]) -> Iterator[str]:
        """Write the exchanges of rows, out of their captures, as a capture; yield what to say of it."""
        from ...scale.query.sources import show

        missing: list[str] = []
        found: dict[tuple[str, int], list[Exchange]] = {}
        with closing(Database()) as database:
            show(database, stored, {"files"})
            for row in rows_of(spool, start, {number - 1 for one in wanted.values() for number in one}):
                one = original(files_of(database, roots, row), row)
                exchange = one.exchange()
                if exchange is None:
                    missing.append(one.missing)
                else:
                    found.setdefault((row["capture"], exchange.peers.number), []).append(exchange)
        ordered = enumerate(sorted(found.values(), key=lambda some: some[0].time))
        numbered = ((exchange, connection) for connection, exchanges in ordered for exchange in exchanges)
        said = [write_exchanges(target, numbered)] if found else []
        yield "; ".join([*said, *dict.fromkeys(missing)])

    def numbers(spool: int, start: Start, condition: str, look: Look) -> Iterator[str]:
        from ...scale.query.sources import show

        with closing(Database(seconds=SECONDS)) as database:
            show(database, stored, {"exchanges"})
            answer = database.answer(NUMBERS.format(condition=condition or "true"))
            yield table(answer.columns, [*answer.rows], look)

    return {"filter": fitting, "numbers": numbers, "more": more, "export": export}


def fitting(spool: int, start: Start, condition: str) -> Iterator[bytes]:
    """Yield the positions of rows that a condition lets through, as `tui.jobs.fitting` does."""
    with closing(Database(seconds=SECONDS)) as database:
        for first, columns in walked(spool, start):
            places = database.fitting("exchanges", columns, condition)
            if places:
                yield array("I", [first + place for place in places]).tobytes()


def walked(spool: int, start: Start) -> Iterator[tuple[int, Columns]]:
    """Yield the position of the first row, and the columns, of each parcel."""
    first = start.position
    for _, _, rest, _ in SpoolWalk(spool, start).parcels():
        columns: Columns = pickle.loads(rest)  # what this program wrote
        yield first, columns
        first += len(columns["capture"])


def rows_of(spool: int, start: Start, positions: set[int]) -> list[dict[str, Any]]:
    """Return rows by their positions."""
    found, left = [], {*positions}
    for first, columns in walked(spool, start):
        here = {at for at in left if first <= at < first + len(columns["capture"])}
        found += [{name: values[at - first] for name, values in columns.items()} for at in sorted(here)]
        left -= here
        if not left:
            break
    return found


def beside_of(database: Any, stored: StoredTables, row: Mapping[str, Any]) -> Beside:
    """Return what other tables know of the exchange of a row."""
    from ...scale.query.sources import show

    show(database, stored, {*BESIDE, "files"})
    rows: dict[str, list[dict[str, Any]]] = {}
    more: dict[str, int] = {}
    for name, time in BESIDE.items():
        own = [column for column in TABLES[name] if column not in TABLES["exchanges"] or column in ("number", "error")]
        same = ["capture", "connection_id", *(["correlation_id", "api_key"] if "api_key" in TABLES[name] else [])]
        same = ["exchange_uid", "run"] if row["exchange_uid"] else same  # tables of kdbg 0.1 have no such columns
        asked = " AND ".join(f"{column} IS NOT DISTINCT FROM {literal(row[column])}" for column in same)
        asked += f" AND {time} = {literal(row['request_time'])}"
        ((count,),) = database.answer(f"SELECT count(*) FROM {name} WHERE {asked}").rows
        if count:
            answer = database.answer(f"SELECT {listed(own)} FROM {name} WHERE {asked} LIMIT {MANY}")
            rows[name] = [dict(zip(answer.columns, one, strict=True)) for one in answer.rows]
            more[name] = count - len(rows[name])
    return Beside(rows, more)


def listed(columns: Sequence[str]) -> str:
    """Return names of columns in SQL, where some are words of its own."""
    return ", ".join(f'"{name}"' for name in columns)


def original(files: Sequence[str], row: Mapping[str, Any], partitions: Iterable[Mapping[str, Any]] = ()) -> Original:
    """Return the exchange of a row out of its capture, or why there is none; `partitions` name topics by their ids."""
    capture = row["capture"]
    if len(files) > 1:
        return Original(missing=f"{capture} consists of {count(len(files), 'rotated file')}; use kdbg decode")
    try:
        path = files[0] if files else capture
        found = _found(path, row)
    except CaptureError as error:
        return Original(missing=str(error))
    if found is None:
        return Original(missing=f"{capture} has changed; it does not contain the exchange")
    packed = Packed()
    packed.add(found)
    numbers, common, data = packed.take()
    names: dict[UUID, str] = {}
    for one in partitions:
        if one.get("topic") and one.get("topic_id"):
            with suppress(ValueError):
                names[UUID(one["topic_id"])] = one["topic"]
    return Original(numbers, common, b"".join(data), names, command=command(row["number"], escape(path)) or "")


def files_of(
    database: Any, roots: Mapping[str | None, Sequence[str]], row: Mapping[str, Any]
) -> list[str]:  # fmt: skip
    """Return the paths of the files of a row's capture; those of the folder must be shown."""
    capture, run = literal(row["capture"]), literal(row["run"])
    asked = f"""
        SELECT file FROM files WHERE capture = {capture} AND run IS NOT DISTINCT FROM {run} AND packets > 0
        ORDER BY first_packet"""
    return [path_of(roots.get(row["run"], ()), file) for (file,) in database.answer(asked).rows]


def literal(value: Any) -> str:
    """Return a value in SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return f"TIMESTAMPTZ '{value.isoformat()}'"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def _found(path: str, row: Mapping[str, Any]) -> Exchange | None:
    """Read a connection of a capture up to the exchange of a row; None where that is not in it."""
    capture = open_any(path)
    with closing(capture.source):
        if not isinstance(capture, Capture):
            raise CaptureError(path, "not a capture")
        with capture:
            both = {row["client"], row["broker"]}

            @cache
            def fits(flow: bytes) -> bool:
                return {ends(one) for one in endpoint(flow)} == both

            blocks = ([packet for packet in packets if fits(packet[2])] for packets in capture.blocks())
            drive = Drive(engine_of(capture, Filters(), None), blocks, lambda: None)
            for exchange in (one for chunk in drive.chunks() for one in chunk):
                halves = {"request": exchange.request, "response": exchange.response}
                places = {
                    name: (half.first_packet, half.size) if half is not None else (None, None)
                    for name, half in halves.items()
                }
                if all(place == (row[f"{name}_packet"], row[f"{name}_bytes"]) for name, place in places.items()):
                    return exchange
    return None


def browse(folder: str, look: Look, *, hide: bool, light: bool) -> None:
    """Show the screen over a folder of tables until the user ends it; raise `InputError` where there are none."""
    require("kdbg browse", "query", "deltalake", *NEEDED)
    from ...scale.spark.delta import DeltaFolder

    delta = DeltaFolder(folder)
    stored, roots = delta.files(TABLES), delta.roots()
    feed = ExchangeFeed(
        partial(read_tables, stored), jobs(stored, roots, hide=hide)
    )  # before anything has DuckDB's threads
    with closing(Condition()) as condition:
        show_screen(feed, lambda: screen(feed, folder, look, condition, light=light))


def screen(feed: ExchangeFeed, folder: str, look: Look, condition: Condition, *, light: bool = False) -> Any:
    """Return the screen over a feed of tables, by the time of requests."""
    from ..tui.app import Browser

    described = {
        table: {name: (kind, ABOUT[table].get(name, "")) for name, kind in columns.items()}
        for table, columns in TABLES.items()
    }
    app = Browser(feed, look, [folder], condition, light=light, contents=TableRows(feed, look, described))
    app.order.sort("time")
    return app
