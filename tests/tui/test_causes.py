"""The pane of causes: what it has is what `kdbg diagnose` says, and its evidence leads to the exchanges."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from kdbg.exchanges.filters.filter_set import Filters
from kdbg.ui.cli import live_screen
from kdbg.ui.cli.browse_captures import Files
from kdbg.ui.tui.app import Browser
from kdbg.ui.tui.causes import CausePane
from kdbg.ui.tui.feed import ExchangeFeed
from kdbg.ui.tui.index import WRONG
from kdbg.views.render.style import Look

from ..cases import by_day
from ..cli.calls import call
from ..incidents import CAPTURES as INCIDENTS
from ..traffic import Talk, pcap
from .driving import CAPTURES, click, drive, feed, handled, lines, press, strike, until, wait, whole

ERRORS = CAPTURES / "errors.pcap"
HEALTHY = CAPTURES / "real-4.4.0-share-group.pcap"
RED = "ghosts[red]\x1b[31m"


def said(*files: Path) -> list[Any]:
    """What `kdbg diagnose` prints, as objects."""
    return [json.loads(line) for line in call("diagnose", *files, "-f", "json").out.splitlines()]


def plain(told: Any) -> Any:
    return json.loads(json.dumps(told))


@pytest.fixture
def incident(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / f"{request.param}.pcap"
    path.write_bytes(gzip.decompress((INCIDENTS / f"{request.param}.pcap.gz").read_bytes()))
    return path


NAMES = sorted(path.name.removesuffix(".pcap.gz") for path in INCIDENTS.glob("*.pcap.gz"))[::12]


@pytest.mark.parametrize("incident", by_day(NAMES, 4), indirect=True)
def test_an_incident_has_the_causes_that_diagnose_prints(incident: Path) -> None:
    with whole(incident) as found:
        assert plain(found.causes[0].objects) == said(incident)
        assert found.causes[0].over
        assert found.causes[0].more == 0


@pytest.mark.parametrize("given", [{"api": "fetch"}, {"errors": True}, {"where": "latency_ms > 1e9"}])
def test_filters_choose_what_is_shown_and_not_what_is_judged(given: dict[str, Any]) -> None:
    with whole(ERRORS, filters=Filters(**given)) as found:
        assert plain(found.causes[0].objects) == said(ERRORS) != []


def test_each_file_is_judged_by_itself() -> None:
    with whole(ERRORS, HEALTHY, ERRORS) as found:
        assert [plain(found.causes[number].objects) for number in range(3)] == [
            said(ERRORS),
            said(HEALTHY),
            said(ERRORS),
        ]


def pane(app: Browser) -> CausePane:
    return app.query_one("#diagnosis", CausePane)


def go(app: Browser, number: int) -> None:
    """Put the cursor on the evidence of an exchange."""
    pane(app).go(next(at for at, line in enumerate(pane(app).lines) if line.exchange == number))


def test_it_says_who_what_and_what_to_change() -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "3")
        text = "\n".join(lines(app))
        for part in ("▾ ✗ not-enough-replicas  certain", "00:38:35.683 · 1 time", "client id shop", "topic orders",
                     "fix: Check which brokers are down", "→ #8  00:38:35.683 Produce v10 ✗ NOT_ENOUGH_REPLICAS",
                     "fields: error_code", "see: Topic configs"):  # fmt: skip
            assert part in text
        assert "3 diagnosis (3)" in text
        assert "fix: Check which brokers" in lines(app)[-3], "at the foot as well"
        await press(app, pilot, "end")
        assert "fix: Check that a broker is running" in lines(app)[-3]

    drive(steps, ERRORS)


def test_evidence_leads_to_its_exchange() -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "3")
        for number in (10, 19):
            go(app, number)
            await press(app, pilot, "enter")
            assert (app.below.name, app.pane) == ("exchange", app.exchanges)
            assert app.exchanges.cursor == number - 1
            assert app.looked is not None
            assert app.looked.exchange.number == number
            await press(app, pilot, "3")
            assert pane(app).line is not None
            assert pane(app).line.exchange == number, "the cursor is where it was"  # type: ignore[union-attr]
        await press(app, pilot, "home")
        at = next(at for at, line in enumerate(pane(app).lines) if line.exchange == 8)
        await click(pilot, "#diagnosis", (8, at))
        await press(app, pilot)
        assert app.exchanges.cursor == 7

    drive(steps, ERRORS)


def test_a_filter_that_hides_the_evidence_is_taken_away() -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "slash", *"--api Fetch", "enter")
        await until(pilot, lambda: not app.filtering)
        await press(app, pilot, "3")
        go(app, 8)
        await press(app, pilot, "enter")
        assert (app.filter, app.exchanges.cursor) == ("", 7)
        told = " ".join(" ".join(lines(app)).split())
        assert "removed the filter, which excluded" in told
        assert "#8: --api Fetch" in told

    drive(steps, ERRORS)


def test_what_the_command_line_leaves_out_cannot_be_gone_to() -> None:
    with feed(ERRORS, filters=Filters(api=["fetch"])) as found:
        app = Browser(found, Look(width=400, full=False), ["errors"], lambda text: Filters())

        async def run() -> None:
            async with app.run_test(size=(80, 24), notifications=True) as pilot:
                await until(pilot, lambda: found.over)
                await strike(pilot, "3")
                await until(pilot, lambda: pane(app).causes)
                before = app.exchanges.cursor
                go(app, 8)
                await handled(app)
                assert any("#8  not loaded" in line for line in lines(app))
                await strike(pilot, "enter")
                assert (app.below.name, app.exchanges.cursor) == ("diagnosis", before)

        asyncio.run(run())


def test_causes_are_folded_and_stay_so_as_more_is_told() -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "3")
        before = pane(app).count
        await press(app, pilot, "left")
        assert pane(app).count < before
        assert any("▸ ✗ not-enough-replicas  topic orders has fewer" in line for line in lines(app))
        folded = pane(app).count
        go(app, 13)
        app.happened("told")
        assert pane(app).count == folded
        assert pane(app).line is not None
        assert pane(app).line.exchange == 13  # type: ignore[union-attr]
        await press(app, pilot, "home", "enter")
        assert pane(app).count == before
        await click(pilot, "#diagnosis", (0, 0))
        assert pane(app).count == folded
        await press(app, pilot, "right")
        assert pane(app).count == before

    drive(steps, ERRORS)


def test_where_nothing_is_wrong_it_says_so() -> None:
    assert not [one for one in said(HEALTHY) if one["severity"] != "note"]

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "3")
        assert any(line.startswith("no root cause found") for line in lines(app))
        assert not any("diagnosis (" in line for line in lines(app))

    drive(steps, HEALTHY)


def test_several_files_are_named() -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "3")
        names = [line.pieces[0].text for line in pane(app).lines if line.cause is None]
        assert names == ["one.pcap", "other.pcap"]
        last = max(at for at, line in enumerate(pane(app).lines) if line.exchange == 8)
        pane(app).go(last)
        await press(app, pilot, "enter")
        assert app.exchanges.cursor == 58 + 7

    drive(steps, ERRORS, ERRORS, named=["one.pcap", "other.pcap"])


def test_captured_text_is_escaped(tmp_path: Path) -> None:
    talk = Talk(client_id=RED)
    for _ in range(8):
        talk.ask("Metadata", 1, topics=[{"name": RED}])
        talk.answer(brokers=[], controller_id=-1, topics=[{"error_code": 3, "name": RED, "is_internal": False,
                                                           "partitions": []}])  # fmt: skip
    path = tmp_path / "hostile.pcap"
    path.write_bytes(pcap(talk))

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await press(app, pilot, "3")
        seen = lines(app)
        await press(app, pilot, "left")
        seen += lines(app)
        assert any("ghosts[red]\\x1b[31m" in line for line in seen)
        assert not any("\x1b" in line for line in seen)

    drive(steps, path, size=(160, 50))


def test_a_file_that_is_still_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "growing.pcap"
    path.write_bytes(ERRORS.read_bytes())
    found = ExchangeFeed(Files([str(path)], Filters(), follow=True), {})
    try:
        app = Browser(found, Look(width=400, full=False), ["growing"], lambda text: Filters())

        async def run() -> None:
            async with app.run_test(size=(80, 24)) as pilot:
                await strike(pilot, "3")
                await until(pilot, lambda: any("still reading; 3 causes so far" in line for line in lines(app)))
                go(app, 8)
                await strike(pilot, "enter")
                await until(pilot, lambda: app.exchanges.cursor == 7)
                await strike(pilot, "3")
                pane(app).load({}, "still reading", "")
                (line,) = pane(app).lines
                assert [piece.text for piece in line.pieces] == ["still reading; no root cause found so far"]

        asyncio.run(run())
    finally:
        found.close()


@contextmanager
def streamed(data: bytes) -> Iterator[tuple[ExchangeFeed, int]]:
    """A feed of a stream that stays open, as `kdbg watch --tui` has it."""
    ours, theirs = os.pipe()
    found = ExchangeFeed(live_screen.Live("lo", ours, Filters()), live_screen.jobs(), most=live_screen.KEPT)
    os.close(ours)
    os.write(theirs, data)
    try:
        yield found, theirs
    finally:
        found.close()
        os.close(theirs)


def test_a_stream_is_judged_while_it_comes() -> None:
    with streamed(ERRORS.read_bytes()) as (found, _):
        app = live_screen.screen(found, "lo", Look())

        async def run() -> None:
            async with app.run_test(size=(80, 24)) as pilot:
                await strike(pilot, "3")
                await until(pilot, lambda: any("live; 3 causes so far" in line for line in lines(app)))
                assert app.following
                go(app, 8)
                await strike(pilot, "enter")
                await until(pilot, lambda: app.exchanges.cursor == 7)
                assert not app.following

        asyncio.run(run())


def test_causes_that_came_too_soon_for_another_look_are_there_when_nothing_more_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kdbg.ui.cli.ledgers.SHARE", 500)
    data = ERRORS.read_bytes()
    with streamed(data[: len(data) // 2]) as (found, stream):
        found.listen()
        wait(lambda: found.causes and found.causes[0].objects)
        before = len(found.causes[0].objects)
        os.write(stream, data[len(data) // 2 :])
        wait(lambda: len(found.causes[0].objects) > before)
        assert not found.causes[0].over


def test_numbers_lead_to_positions() -> None:
    with whole(ERRORS, CAPTURES / "first-contact.pcap", filters=Filters(errors=True)) as found:
        index = found.index
        for position in range(len(index)):
            number, file = index.value("number", position), index.who_of(position).file
            assert index.find(number, file) == position
            assert index.value("flags", position) & WRONG
        assert index.find(1, 7) is None
        assert index.find(10**6, 0) is None
        assert index.find(2, 0) is None, "it went well"
