"""`kdbg browse tables/`: rows of a pipeline's tables in the list, and below what is known of each."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

pytest.importorskip("duckdb", reason="tables are not read without DuckDB")

import kdbg
from kdbg.errors import InputError
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.query.database import Database
from kdbg.scale.spark.archive.plan import plan
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.delta import DeltaFolder
from kdbg.scale.spark.parquet import Tables
from kdbg.scale.spark.source import capture_rows
from kdbg.ui.cli import browse_tables
from kdbg.ui.cli.browse_tables import files_of, original
from kdbg.ui.tui.app import Browser
from kdbg.ui.tui.contents import TableRows
from kdbg.ui.tui.feed import ExchangeFeed
from kdbg.ui.tui.index import NOTHING, WRONG
from kdbg.ui.tui.keys import KEYS
from kdbg.views.render.jsonlines import json_line
from kdbg.views.render.style import Look
from kdbg.views.tables.columns import TABLES
from kdbg.views.tables.message_columns import WantedRows

from ..traffic import Talk, pcap
from .driving import CAPTURES, handled, lines, strike, told, until, wait

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RED = "ghosts[red]\x1b[31m"
Steps = Callable[[Browser, "Pilot[None]"], Awaitable[None]]


def written(folder: Path, *captures: Path, values: bool = False) -> Path:
    """Tables of captures, as the pipeline writes them."""
    output = Output(str(folder))
    output.begin()
    tables = Tables(output.folder, output.name)
    for path in captures:
        for _ in capture_rows(plan([str(path)]), tables.add, Filters(), WantedRows(records=True, values=values)):
            pass
    files = {str(path): path.stat().st_size for path in captures}
    entry = {"files": files, "roots": sorted({str(path.parent) for path in captures})}
    output.commit(tables.close()["files"], entry, append=False)
    return folder


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of tables, and that of their captures."""
    top = tmp_path_factory.mktemp("archive")
    captures = top / "captures"
    captures.mkdir()
    for name in ("errors", "transactions"):
        shutil.copy(CAPTURES / f"{name}.pcap", captures)
    return written(top / "tables", captures / "errors.pcap", captures / "transactions.pcap"), captures


def fed(folder: Path, *, hide: bool) -> ExchangeFeed:
    delta = DeltaFolder(str(folder))
    stored = delta.files(TABLES)
    jobs = browse_tables.jobs(stored, delta.roots(), hide=hide)
    return ExchangeFeed(partial(browse_tables.read_tables, stored), jobs)


@contextmanager
def feed(folder: Path) -> Iterator[ExchangeFeed]:
    found = fed(folder, hide=False)
    try:
        yield found
    finally:
        found.close()


@contextmanager
def whole(folder: Path) -> Iterator[tuple[ExchangeFeed, TableRows]]:
    with feed(folder) as found:
        contents = browse_tables.screen(found, str(folder), Look(), browse_tables.Condition()).contents
        found.listen()
        wait(lambda: found.over)
        yield found, contents


def drive(folder: Path, steps: Steps, size: tuple[int, int] = (120, 40)) -> None:
    with feed(folder) as found, closing(browse_tables.Condition()) as condition:
        app = browse_tables.screen(found, str(folder), Look(width=400, full=False), condition)

        async def run() -> None:
            async with app.run_test(size=size, notifications=True) as pilot:
                await until(pilot, lambda: found.over and len(app.order) == app.exchanges.virtual_size.height > 0)
                await until(pilot, lambda: not app.order.unsorted)
                await steps(app, pilot)

        asyncio.run(run())


def parts(app: Browser) -> list[str]:
    """The names of what is shown below."""
    return [root.name for root in app.fields.branches.roots]


async def opened(app: Browser, pilot: Pilot[None], row: int) -> None:
    """Go to a row, and wait until all that is known of it is there."""
    app.exchanges.go(row)
    await until(
        pilot,
        lambda: (
            app.looked is not None
            and app.looked.position == app.exchanges.position
            and {"request", "bytes"} & {*parts(app)}
        ),
    )
    await handled(app)


def all_read(folder: Path) -> list[Any]:
    return [one for name in ("errors", "transactions") for one in kdbg.read(folder / f"{name}.pcap")]


def test_every_exchange_of_the_captures_is_a_row(archive: tuple[Path, Path]) -> None:
    folder, captures = archive
    with whole(folder) as (found, contents):
        index = found.index
        exchanges = sorted(all_read(captures), key=lambda one: (one.time // 1000, one.correlation_id))
        rows = [(contents.row(at), at) for at in range(len(index))]
        rows.sort(key=lambda row: (row[0]["request_time"], row[0]["correlation_id"]))
        assert len(rows) == len(exchanges) == found.progress.whole
        for (row, at), exchange in zip(rows, exchanges, strict=True):
            who, api = index.who_of(at), exchange.api.name
            assert (who.api, who.version, who.client_id) == (api, exchange.version, exchange.client_id)
            assert (row["request_time"] - EPOCH) // timedelta(microseconds=1) == exchange.time // 1000
            assert index.value("time", at) == exchange.time // 1000 * 1000
            sizes = [NOTHING if half is None else half.size for half in (exchange.request, exchange.response)]
            assert [index.value(name, at) for name in ("request", "response")] == sizes
            latency = exchange.latency
            assert index.value("latency", at) == (NOTHING if latency is None else latency // 1000 * 1000)
            assert bool(index.value("flags", at) & WRONG) == bool(row["error_codes"] or row["notes"])
            assert {*index.names_of("topics", at)} == {*row["topics"]}


def test_a_row_leads_to_its_exchange_in_the_capture(archive: tuple[Path, Path]) -> None:
    folder, captures = archive
    wanted = {json.dumps(plain(one)) for one in all_read(captures)}
    with whole(folder) as (found, contents), closing(Database()) as database:
        got = set()
        for at in range(0, len(found.index), 7):
            row = contents.row(at)
            beside = browse_tables.beside_of(database, DeltaFolder(str(folder)).files(TABLES), row) if not at else None
            assert beside is None or beside.rows
            one = original(files_of(database, DeltaFolder(str(folder)).roots(), row), row)
            exchange = one.exchange()
            assert exchange is not None, one.missing
            assert one.command == "", "the tables of this test do not number exchanges"
            numbered = original(files_of(database, DeltaFolder(str(folder)).roots(), row), {**row, "number": 3})
            assert numbered.command == f"kdbg decode {captures / row['capture']}#3"
            assert contents.fuller(contents.look_at(at), numbered).opened.parts[0].notes == [numbered.command]
            got.add(json.dumps(plain(exchange)))
        assert got <= wanted
        assert len(got) == len(range(0, len(found.index), 7))


def plain(exchange: Any) -> Any:
    """An exchange as JSON has it, without the numbers that it has among those that were read."""
    found = json.loads(json_line(exchange, {}))
    del found["number"], found["connection"]
    return found


@pytest.fixture
def moved(tmp_path: Path) -> tuple[Path, Path]:
    """Tables of a capture of its own, which may go."""
    path = tmp_path / "errors.pcap"
    shutil.copy(CAPTURES / "errors.pcap", path)
    return written(tmp_path / "tables", path), path


def test_below_is_what_tables_know_and_what_the_capture_has(archive: tuple[Path, Path]) -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        title = lines(app)[0]
        assert "exchanges · by time ↑" in title
        assert app.exchanges.cursor == 0, "the first by time, however rows came"
        contents = app.contents
        assert contents.look_at(0).opened.parts[0].missing.startswith("searching the other tables")
        times = [app.feed.index.value("time", app.order[row]) for row in range(len(app.order))]
        assert times == sorted(times)
        await opened(app, pilot, 6)
        assert app.looked is not None
        assert app.looked.exchange is not None
        assert parts(app) == ["exchange", "partitions", "records", "request", "response"]
        assert app.fields.branches.roots[0].note == "", "no more is looked for"
        fields = {one.path: one for part in app.looked.opened.parts[:3] for one in part.fields}
        assert fields["api"].says == '"Produce"'
        assert fields["api"].means.startswith("name of the API")
        assert fields["[0].error"].says == '"NOT_LEADER_OR_FOLLOWER"'
        assert fields["[0].value_size"].says == "25"
        await strike(pilot, "enter")
        for name in ("exchange", "partitions", "records", "request", "response", "exchange"):
            assert app.fields.branch is not None
            assert app.fields.branch.name == name
            await strike(pilot, "r")
        (wanted,) = kdbg.read(CAPTURES / "errors.pcap", exchange=7)
        assert app.bytes.dump.opened.buffers[0].data[4:] == wanted.request.data
        await strike(pilot, "tab", "home", "right", "right", "right", "right")
        assert app.fields.branch.path == "api_key", "bytes lead to fields of the message"
        await strike(pilot, "x", "y")
        assert json.loads(app.clipboard)["correlation_id"] == wanted.correlation_id
        await strike(pilot, "u")
        sent = (len(wanted.request.data).to_bytes(4, "big") + wanted.request.data).hex()
        assert app.clipboard == f"kdbg send --raw {sent} --broker 127.0.0.1:9092"

    drive(archive[0], steps)


def gone(path: Path) -> str:
    path.unlink()
    return "no such file"


def replaced(path: Path) -> str:
    shutil.copy(CAPTURES / "first-contact.pcap", path)
    return "has changed; it does not contain the exchange"


def spoilt(path: Path) -> str:
    path.write_text("no capture")
    return "errors.pcap"


@pytest.mark.parametrize("change", [gone, replaced, spoilt])
def test_without_the_capture_it_says_that_bytes_are_not_in_tables(moved: tuple[Path, Path], change: Any) -> None:
    folder, path = moved
    said = change(path)

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await opened(app, pilot, 6)
        assert parts(app)[0] == "exchange"
        assert parts(app)[-1] == "bytes"
        note = app.fields.branches.roots[-1].note
        assert note.startswith("not in tables; ")
        assert said in note
        assert app.bytes.count == 0
        before = app.clipboard
        await strike(pilot, "enter", "y", "tab", "down", "right", "end", "G", "tab")
        assert app.clipboard == before
        await strike(pilot, "m", "w")
        app.query_one("#line", Input).value = str(path.parent / "out.pcap")
        await strike(pilot, "enter")
        await until(pilot, lambda: any(said[:20] in line for line in lines(app)[20:]))
        assert not (path.parent / "out.pcap").exists()

    drive(folder, steps)


def test_captures_of_several_files_are_named_and_not_opened(archive: tuple[Path, Path]) -> None:
    with whole(archive[0]) as (_, contents):
        assert original(["a", "b"], contents.row(0)).missing.endswith("consists of 2 rotated files; use kdbg decode")


CONDITIONS: dict[str, Callable[[dict[str, Any]], object]] = {
    "api = 'Produce'": lambda row: row["api"] == "Produce",
    "latency_us > 1000 -- slow": lambda row: (row["latency_us"] or 0) > 1000,
    "size(errors) > 0 OR list_contains(topics, 'orders')": lambda row: row["errors"] or "orders" in row["topics"],
    "false": lambda row: False,
}
NO_CONDITIONS = ("latency_us >", "no_such_column = 1", "--topic orders", "1) UNION SELECT (2")


def test_the_filter_line_takes_a_condition_in_sql(archive: tuple[Path, Path]) -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        contents = app.contents
        assert isinstance(contents, TableRows)
        for text, fits in CONDITIONS.items():
            wanted = {at for at in range(len(app.feed.index)) if fits(contents.row(at))}
            await strike(pilot, "1", "slash")
            app.query_one("#line", Input).value = text
            await strike(pilot, "enter")
            await until(pilot, lambda: not app.filtering)
            assert {app.order[row] for row in range(len(app.order))} == wanted, text
            await strike(pilot, "2")
            await until(pilot, lambda: any("p99 ms" in line for line in lines(app)))
            shown = {contents.row(at)["api"] for at in wanted}
            for api in ("Produce", "Heartbeat", "Metadata"):
                assert any(line.startswith(api) for line in lines(app)[18:]) is (api in shown), text

    drive(archive[0], steps)


def test_what_is_no_condition_stays_in_the_line(archive: tuple[Path, Path]) -> None:
    with closing(browse_tables.Condition()) as condition:
        for text in NO_CONDITIONS:
            with pytest.raises(InputError) as error:
                condition(text)
            assert "\n" not in str(error.value)

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        before = len(app.order)
        for text in NO_CONDITIONS:
            await strike(pilot, "slash")
            app.query_one("#line", Input).value = text
            await strike(pilot, "enter")
            assert app.query_one("#line", Input).has_class("open"), text
            await strike(pilot, "escape", "escape")
            await until(pilot, lambda: len(app.order) == before)

    drive(archive[0], steps)


def test_what_is_marked_is_written_out_of_its_captures(archive: tuple[Path, Path], tmp_path: Path) -> None:
    target = tmp_path / "marked.pcap"

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        app.exchanges.go(5)
        await strike(pilot, "m", "m")
        await strike(pilot, "w")
        app.query_one("#line", Input).value = str(target)
        await strike(pilot, "enter")
        await until(pilot, lambda: any("wrote 2 exchanges to " in line for line in lines(app)[20:]))

    drive(archive[0], steps)
    wanted = [one.request.data for one in kdbg.read(CAPTURES / "errors.pcap", exchange="6-7")]
    assert [one.request.data for one in kdbg.read(target)] == wanted


def test_every_key_does_something_or_nothing(archive: tuple[Path, Path]) -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        for key in (name for one in KEYS for name in one.keys.split(",") if name not in "qw"):
            await strike(pilot, key)
            if app.query("#line.open") or len(app.screen_stack) > 1:
                await strike(pilot, "escape")
        assert app.is_running
        await strike(pilot, "3")
        assert any("tables contain no packets to diagnose" in line for line in lines(app))

    drive(archive[0], steps)


def test_tables_that_are_damaged_end_with_a_note(moved: tuple[Path, Path]) -> None:
    folder, _ = moved
    for path in (folder / "exchanges").rglob("*.parquet"):
        path.write_bytes(b"PAR1" + b"\0" * 100 + b"PAR1")
    with whole(folder) as (found, _), closing(browse_tables.Condition()) as condition:
        assert len(found.index) == 0
        assert [note for note in found.notes if note.startswith("reading ended: ")]
        assert not told(found, "filter", condition("true")), "nothing waits for what never comes"


@pytest.mark.parametrize("hide", [False, True])
def test_values_of_records_are_hidden_where_that_is_asked_for(tmp_path: Path, hide: bool) -> None:
    folder = written(tmp_path / "tables", CAPTURES / "errors.pcap", values=True)
    found = fed(folder, hide=hide)
    try:
        contents = browse_tables.screen(found, str(folder), Look(hide_values=hide), browse_tables.Condition()).contents
        found.listen()
        wait(lambda: found.over)
        row = next(row for row in map(contents.row, range(len(found.index))) if row["api"] == "Produce")
        beside, one = told(found, "more", row)
        (record,) = beside.rows["records"]
        assert (record["value"] is None) is hide
        assert record["value_size"] == len(b"order 1")
        looked = contents.fuller(contents.fuller(contents.look_at(0), beside), one)
        says = "".join(field.says for part in looked.opened.parts for field in part.fields)
        assert ("order 1" in says) is not hide
        assert (b"order 1".hex(" ") in says) is not hide
    finally:
        found.close()


def test_text_of_tables_is_escaped(tmp_path: Path) -> None:
    talk = Talk(client_id=RED).ask("Metadata", 1, topics=[{"name": RED}])
    talk.answer(brokers=[], controller_id=-1, topics=[{"error_code": 3, "name": RED, "is_internal": False,
                                                       "partitions": []}])  # fmt: skip
    path = tmp_path / "hostile[b].pcap"
    path.write_bytes(pcap(talk))

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await opened(app, pilot, 0)
        seen = lines(app)
        await strike(pilot, "2")
        await pilot.pause(0.5)
        seen += lines(app)
        assert not any("\x1b" in line for line in seen)
        assert any("ghosts[red]" in line for line in seen)

    drive(written(tmp_path / "tables", path), steps, size=(160, 50))
