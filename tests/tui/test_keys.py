"""Every key, pressed on a screen with a capture; each does what its line of the help says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, Input

import kdbg
from kdbg.ui.tui.app import Browser, Page
from kdbg.ui.tui.index import WRONG
from kdbg.ui.tui.keys import KEYS, SHORT

from ..cases import by_day
from .driving import CAPTURES, drive, lines, press, settled, strike, until

ERRORS = CAPTURES / "errors.pcap"
WRONG_ONES = [3, 7, 8, 10]
"""The first exchanges that went wrong, as `kdbg decode captures/errors.pcap --errors` has them."""


def row(app: Browser) -> int:
    return app.exchanges.cursor


def below(app: Browser) -> str:
    return str(app.query_one("#lower", ContentSwitcher).current)


async def moves(app: Browser, pilot: Pilot[None]) -> None:
    for forth, back in (("down", "up"), ("j", "k")):
        await press(app, pilot, forth, forth)
        assert row(app) == 2
        await press(app, pilot, back)
        assert row(app) == 1
        await press(app, pilot, back)
    for forth, back in (("pagedown", "pageup"), ("space", "b")):
        await press(app, pilot, forth)
        assert row(app) == app.exchanges.size.height - 1
        await press(app, pilot, back)
        assert row(app) == 0
    for forth, back in (("end", "home"), ("G", "g")):
        await press(app, pilot, forth)
        assert row(app) == len(app.feed.index) - 1 == 57
        await press(app, pilot, back)
        assert row(app) == 0


async def folds(app: Browser, pilot: Pilot[None]) -> None:
    await press(app, pilot, "down", "down", "enter")
    assert app.pane is app.fields
    fields = app.fields.count
    for fold, unfold in (("left", "right"), ("h", "l")):
        await press(app, pilot, fold)
        assert app.fields.count < fields
        await press(app, pilot, unfold)
        assert app.fields.count == fields
    await press(app, pilot, "enter")
    assert app.fields.count < fields
    await press(app, pilot, "enter", "z")
    folded = app.fields.count
    assert folded < fields
    await press(app, pilot, "z")
    assert app.fields.count == fields
    await press(app, pilot, "down", "left")
    assert app.fields.branch is app.fields.branches.roots[0], "left goes to what a field stands in"


async def goes_round(app: Browser, pilot: Pilot[None]) -> None:
    panes = [app.exchanges, app.fields, app.bytes]
    for number in (1, 2, 0):
        await press(app, pilot, "tab")
        assert app.pane is panes[number]
    await press(app, pilot, "shift+tab")
    assert app.pane is app.bytes
    await press(app, pilot, "escape")
    assert app.pane is app.exchanges


async def goes_to_the_other(app: Browser, pilot: Pilot[None]) -> None:
    await press(app, pilot, "r")
    assert app.fields.branch is not None
    assert app.fields.branch.name == "response"
    await press(app, pilot, "r")
    assert app.fields.branch.name == "request"


async def follows(app: Browser, pilot: Pilot[None]) -> None:
    await press(app, pilot, "f")
    assert (app.following, row(app)) == (True, 57)
    await press(app, pilot, "up")
    assert not app.following
    await press(app, pilot, "f", "f")
    assert not app.following


async def filters(app: Browser, pilot: Pilot[None]) -> None:
    await press(app, pilot, "down", "down", "slash", *"--errors", "enter")
    await until(pilot, lambda: not app.filtering)
    await until(pilot, lambda: app.exchanges.virtual_size.height == len(app.order))
    assert [app.order[number] + 1 for number in range(4)] == WRONG_ONES
    assert "--errors" in lines(app)[0]
    await press(app, pilot, "slash", "ctrl+u", *"latency_ms >", "enter")
    assert app.query_one("#line", Input).has_class("open"), "what is wrong stays there to be mended"
    await press(app, pilot, "escape", "escape")
    assert (app.filter, len(app.order)) == ("", 58)


def jumps(key: str, kind: str, before: str = "") -> Callable[[Browser, Pilot[None]], Any]:
    async def check(app: Browser, pilot: Pilot[None]) -> None:
        same = {exchange.number - 1 for exchange in OF[kind]()}
        start = min(same)
        app.exchanges.go(start)
        expected = sorted(same)[:3]
        await press(app, pilot, key)
        assert row(app) == expected[1]
        await press(app, pilot, key)
        assert row(app) == expected[2]
        back = before or key.upper()
        await press(app, pilot, back)
        assert row(app) == expected[1]
        await press(app, pilot, back, back)
        assert row(app) == start, "there is none before it"

    return check


def reading(**filters: Any) -> Callable[[], list[Any]]:
    return lambda: list(kdbg.read(ERRORS, **filters))


OF = {
    "error": reading(errors=True),
    "connection": reading(connection=3),
    "client": reading(client_id="medium"),
    "topic": reading(topic="ghosts"),
    "group": reading(group="billing"),
}
"""What stands together, as filters find it."""


async def finds_producers(app: Browser, pilot: Pilot[None]) -> None:
    index = app.feed.index
    of = {at: index.names_of("producers", at) for at in range(len(index)) if index.names_of("producers", at)}
    first = min(of)
    app.exchanges.go(first)
    await press(app, pilot, "p")
    assert row(app) > first
    assert set(of[row(app)]) & set(of[first])
    await press(app, pilot, "P")
    assert row(app) == first


async def sorts(app: Browser, pilot: Pilot[None]) -> None:
    seen = []
    for _ in range(8):
        await press(app, pilot, "s")
        seen.append(app.order.by)
    assert seen[:3] == ["number", "time", "ends"]
    assert {"latency", "request", "response", "api", "flags"} <= {*seen}
    app.sort("latency", descending=False)
    latencies = [app.feed.index.value("latency", app.order[at]) for at in range(58)]
    assert latencies == sorted(latencies)
    await press(app, pilot, "S")
    assert [app.feed.index.value("latency", app.order[at]) for at in range(58)] == sorted(latencies, reverse=True)


async def views(app: Browser, pilot: Pilot[None]) -> None:
    await press(app, pilot, "v")
    assert below(app) == "numbers"
    await until(pilot, lambda: any("58 exchanges (" in line for line in lines(app)))
    await press(app, pilot, "tab")
    assert app.pane is app.exchanges, "fields and bytes are not to be seen"
    await press(app, pilot, "v")
    assert below(app) == "diagnosis"
    await until(pilot, lambda: any("not-enough-replicas" in line for line in lines(app)))
    await press(app, pilot, "tab")
    assert app.pane is app.exchanges
    await press(app, pilot, "tab")
    assert app.pane.id == "diagnosis"
    await press(app, pilot, "v")
    assert (below(app), app.pane) == ("exchange", app.exchanges)


async def views_by_number(app: Browser, pilot: Pilot[None]) -> None:
    for key, name in (("2", "numbers"), ("3", "diagnosis"), ("1", "exchange")):
        await press(app, pilot, key)
        assert below(app) == name
    await press(app, pilot, "3", "escape")
    assert app.pane is app.exchanges
    await press(app, pilot, "escape")
    assert below(app) == "exchange"


async def shares(app: Browser, pilot: Pilot[None]) -> None:
    height = app.exchanges.size.height
    for more, less in (("plus", "minus"), ("equals_sign", "minus")):
        await press(app, pilot, more)
        assert app.exchanges.size.height > height
        await press(app, pilot, less)
        assert app.exchanges.size.height == height


async def darkens(app: Browser, pilot: Pilot[None]) -> None:
    assert app.current_theme.dark
    await press(app, pilot, "d")
    assert not app.current_theme.dark


async def notes(app: Browser, pilot: Pilot[None]) -> None:
    await press(app, pilot, "a")
    assert any("9 connections" in line for line in lines(app))
    await strike(pilot, "escape")
    assert not isinstance(app.screen, Page)


async def helps(app: Browser, pilot: Pilot[None]) -> None:
    await press(app, pilot, "question_mark")
    assert isinstance(app.screen, Page)
    assert any("next line" in line for line in lines(app))
    await strike(pilot, "q")
    assert not isinstance(app.screen, Page)
    assert app.is_running


async def marks(app: Browser, pilot: Pilot[None]) -> None:
    await press(app, pilot, "m", "down", "m")
    assert (app.marked, row(app)) == ({0, 2}, 3)
    assert lines(app)[2].startswith("●")
    await press(app, pilot, "N")
    assert row(app) == 2
    await press(app, pilot, "home", "n")
    assert row(app) == 2
    await press(app, pilot, "m")
    assert app.marked == {0}
    await press(app, pilot, "M")
    assert app.marked == set()


async def writes(app: Browser, pilot: Pilot[None], folder: Path) -> None:
    await press(app, pilot, "w")
    assert not app.query_one("#line", Input).has_class("open"), "nothing is marked"
    target = folder / "written.pcapng"
    app.exchanges.go(6)
    await press(app, pilot, "m", "w")
    app.query_one("#line", Input).value = str(target)
    await press(app, pilot, "enter")
    await until(pilot, lambda: any("written" in line for line in lines(app)[10:]))
    (exchange,) = kdbg.read(target)
    (wanted,) = kdbg.read(ERRORS, exchange=7)
    assert exchange.time == wanted.time
    assert exchange.request.data == wanted.request.data


async def copies(app: Browser, pilot: Pilot[None]) -> None:
    (wanted,) = kdbg.read(ERRORS, exchange=6)
    app.exchanges.go(5)
    await settled(app, pilot)
    await press(app, pilot, "x")
    assert bytes.fromhex(app.clipboard)[4:] == wanted.request.data
    await press(app, pilot, "y")
    import json

    assert json.loads(app.clipboard) == wanted.to_dict()
    await press(app, pilot, "u")
    assert app.clipboard == f"kdbg send --from '{ERRORS}#6' --broker 127.0.0.1:9092"


async def quits(app: Browser, pilot: Pilot[None]) -> None:
    await strike(pilot, "q")
    await until(pilot, lambda: not app.is_running)


OPENING, CLOSING = "left_square_bracket", "right_square_bracket"
CHECKS: list[tuple[str, Callable[..., Any], Path]] = [
    ("down,j up,k pagedown,space pageup,b home,g end,G", moves, ERRORS),
    ("left,h right,l enter z", folds, ERRORS),
    ("tab shift+tab escape", goes_round, ERRORS),
    ("r", goes_to_the_other, ERRORS),
    ("f", follows, ERRORS),
    ("slash escape", filters, ERRORS),
    ("e E", jumps("e", "error"), ERRORS),
    ("c C", jumps("c", "connection"), ERRORS),
    (f"{CLOSING} {OPENING}", jumps(CLOSING, "client", OPENING), ERRORS),
    ("t T", jumps("t", "topic"), ERRORS),
    ("o O", jumps("o", "group"), ERRORS),
    ("p P", finds_producers, CAPTURES / "transactions.pcap"),
    ("s S", sorts, ERRORS),
    ("v", views, ERRORS),
    ("1 2 3", views_by_number, ERRORS),
    ("plus,equals_sign minus", shares, ERRORS),
    ("d", darkens, ERRORS),
    ("a", notes, ERRORS),
    ("question_mark", helps, ERRORS),
    ("m M n N", marks, ERRORS),
    ("w", writes, ERRORS),
    ("x y u", copies, ERRORS),
    ("q", quits, ERRORS),
]  # fmt: skip
"""Which keys are pressed, by what, over which capture."""


def test_every_key_is_pressed() -> None:
    assert {keys for pressed, _, _ in CHECKS for keys in pressed.split()} == {key.keys for key in KEYS}
    names = [name for key in KEYS for name in key.keys.split(",")]
    assert len(names) == len({*names}), "a key does one thing"
    assert SHORT.keys() <= {key.shown for key in KEYS}


@pytest.mark.parametrize(("keys", "check", "path"), by_day(CHECKS, 2), ids=[keys for keys, _, _ in by_day(CHECKS, 2)])
def test_a_key_does_what_the_help_says(keys: str, check: Any, path: Path, tmp_path: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        await (check(app, pilot) if check is not writes else writes(app, pilot, tmp_path))

    drive(steps, path)


def test_what_is_marked_wrong_is_what_decode_calls_wrong() -> None:
    assert [exchange.number for exchange in kdbg.read(ERRORS, errors=True)][:4] == WRONG_ONES
    assert WRONG == 1
