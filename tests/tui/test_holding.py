"""The screen of the proxy over a capture: what each key of holding asks of who holds messages, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from kdbg.exchanges.filters.filter_set import Filters
from kdbg.live.holds import BOTH, Held
from kdbg.ui.tui.fields import ByteRange
from kdbg.ui.tui.intercept import HOLDS, Intercepting

from .driving import CAPTURES, drive, handled, lines, press, strike, until
from .test_panes import held as held_message

NOTHING = "information: no message is held: press i to set what to hold"


class Holder:
    """The hand by which the screen asks for messages to be held: keeps what it is asked for."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.hear: Callable[[Held | int | str], None] = lambda what: None

    def listen(self, hear: Callable[[Held | int | str], None]) -> None:
        self.hear = hear

    def ask(self, *what: Any) -> None:
        self.done.append(what)


def held(number: int, direction: Any) -> Held:
    return held_message(number, direction).held


class Holding:
    """The screen, who holds messages, and what the screen says."""

    def __init__(self, app: Any, pilot: Pilot[None], holder: Holder) -> None:
        self.app, self.pilot, self.holder = app, pilot, holder
        self.said: list[str] = []
        app.notify = self._notify
        self.line = app.query_one("#line", Input)

    def _notify(self, message: str, *, severity: str, **options: object) -> None:
        self.said.append(f"{severity}: {message}")

    async def press(self, *keys: str) -> list[str]:
        """Press keys; return what is said, and forget it."""
        await strike(self.pilot, *keys)
        said, self.said = self.said, []
        return said

    async def type(self, text: str) -> list[str]:
        self.line.value = text
        return await self.press("enter")

    async def hear(self, *what: Held | int | str) -> None:
        for each in what:
            self.holder.hear(each)
        await handled(self.app)

    async def at(self, path: str, part: int = 0) -> None:
        fields = self.app.fields
        fields.show(next(one for one in fields.branches.roots[part].below if one.path == path))
        self.app.light()
        await handled(self.app)

    @property
    def looked(self) -> int | None:
        return None if self.app.looked is None else self.app.looked.position

    @property
    def open(self) -> bool:
        return self.line.has_class("open")


def on_screen(steps: Callable[[Holding], Any]) -> None:
    holder = Holder()

    async def run(app: Any, pilot: Pilot[None]) -> None:
        await steps(Holding(app, pilot, holder))

    drive(run, CAPTURES / "errors.pcap", size=(100, 30), make=partial(Intercepting, hand=holder))


def test_where_nothing_is_held_each_key_says_so() -> None:
    async def steps(it: Holding) -> None:
        assert [await it.press(key) for key in "HDVB"] == [[NOTHING]] * 4
        assert await it.press("F") == ["information: no message is held"]
        assert await it.press("A") == []
        assert await it.press("R") == ["information: resent: ApiVersions"]
        first = it.app.looked.exchange
        assert it.holder.done == [("repeat", first.peers.client, first.request.data)]
        it.app.looked.exchange.request.missing = 1
        assert await it.press("R") == ["error: the selected exchange has no complete request"]
        for change in ({"api": None}, {"request": None}):
            for name, value in ({"missing": 0} if it.app.looked.exchange.request else {}).items():
                setattr(it.app.looked.exchange.request, name, value)
            for name, value in change.items():
                setattr(it.app.looked.exchange, name, value)
            assert await it.press("R") == ["error: the selected exchange has no complete request"]
        it.app.looked = None
        it.app._opening.want = lambda position: None
        assert await it.press("down", "R") == ["information: resent: ApiVersions"]
        second = it.app.looked.exchange
        assert (second.number, it.holder.done[1:]) == (2, [("repeat", second.peers.client, second.request.data)])
        it.app.order.choose(filtered=True)
        it.app.looked = None
        assert await it.press("R") == ["error: the selected exchange has no complete request"]
        assert [pane.id for pane in it.app.panes] == ["exchanges", "fields", "bytes"]

    on_screen(steps)


def test_what_is_to_be_held_is_asked_for() -> None:
    async def steps(it: Holding) -> None:
        await it.press("i")
        assert (it.open, it.line.placeholder, it.line.value) == (True, HOLDS, "")
        assert await it.type("api =") == ["error: --where: column 5: unexpected '='; compare with =="]
        assert (it.open, it.app.holding, it.holder.done) == (True, "", [])
        assert await it.type(" api == 'Produce' ") == []
        assert (it.open, it.app.holding) == (False, "api == 'Produce'")
        assert it.holder.done == [("want", Filters(where="api == 'Produce'"), BOTH)]
        it.app.tick()
        await handled(it.app)
        assert "0 held: api == 'Produce'" in lines(it.app)[0]
        asked = {
            "*": (Filters(), BOTH), "responses: --errors": (Filters(errors=True), {"response"}),
            "request: *": (Filters(), {"request"}), "request:": (Filters(), {"request"}), "": (None, BOTH),
        }  # fmt: skip
        for text, filters in asked.items():
            before = it.app.holding
            await it.press("i")
            assert it.line.value == before
            assert await it.type(text) == []
            assert it.holder.done[-1] == ("want", *filters)

    on_screen(steps)


def test_held_messages_are_looked_at_and_let_go() -> None:
    async def steps(it: Holding) -> None:
        app, done = it.app, it.holder.done
        await it.hear(held(7, "request"), held(8, "response"), held(9, "request"), "a line")
        assert (it.said, app.held.count, app.held_count, it.looked) == (["error: a line"], 3, 3, 0)
        assert [pane.id for pane in app.panes] == ["exchanges", "held", "fields", "bytes"]
        it.said.clear()
        assert await it.press("D") == []
        assert (app.pane.id, it.looked, done) == ("held", -7, []), "the first press goes there"
        await it.press("down")
        assert (it.looked, app.looked.exchange.response is not None) == (-8, True)
        app.exchanges.go(5)
        await handled(it.app)
        assert it.looked == -8, "exchanges move on below"
        await it.press("enter")
        assert app.pane is app.fields
        await it.press("D")
        assert (done, [one.held.number for one in app.held.messages], it.looked) == ([("drop", 8)], [7, 9], -9)
        await it.press("escape")
        await until(it.pilot, lambda: it.looked == 5)
        await it.press("F")
        assert (done[1:], it.looked) == ([("resume", 9, None)], 5)
        await it.press("H")
        await it.hear(held(10, "request"), held(11, "response"), 99, 11)
        assert [one.held.number for one in app.held.messages] == [7, 10]
        await it.press("A")
        assert (done[2:], app.held.count, app.pane) == ([("resume", 7, None), ("resume", 10, None)], 0, app.exchanges)
        await until(it.pilot, lambda: it.looked == 5)

    on_screen(steps)


def test_fields_and_bytes_of_a_held_message_are_changed() -> None:
    async def steps(it: Holding) -> None:
        app = it.app
        await it.hear(held(7, "request"), held(8, "response"))
        await it.press("H")
        assert await it.press("V") == ["information: go to a field of the request first"]
        await it.at("acks")
        await it.press("V")
        assert (it.line.placeholder, it.line.value) == ("PATH=VALUE", "acks=-1")
        assert await it.type("acks=x") == ["error: 'acks=x' does not fit this message: unknown field, or wrong type"]
        assert (it.open, app.held.message.changed) == (True, False)
        await it.type("acks=1")
        assert (it.open, app.pane.id, it.looked, app.held.message.changed) == (False, "held", -7, True)
        assert app.looked.exchange.request.message().body["acks"] == 1
        await it.at("correlation_id")
        await it.press("B")
        data = app.held.message.data
        assert (it.line.placeholder, it.line.value) == ("bytes in hex", data[4:8].hex(" "))
        assert await it.type("zz") == ["error: invalid hex 'zz'; use two digits per byte"]
        await it.type("00 00 00 63")
        data = data[:4] + b"\0\0\0\x63" + data[8:]
        assert (app.held.message.data, app.looked.exchange.correlation_id) == (data, 99)
        await it.at("size")
        size = "information: select bytes after the size field of the request; the size is computed"
        assert await it.press("B") == [size]
        app.bytes.lit = [ByteRange(0, 2, 6)]
        await it.press("B")
        assert it.line.value == data[:2].hex(" ")
        await it.press("escape", "H")
        app.bytes.lit, app.bytes.at = [], ByteRange(0, 4, 5)
        await it.press("B")
        assert it.line.value == data[:1].hex()
        await it.press("escape", "H", "down")
        await it.at("correlation_id")
        size = "information: select bytes after the size field of the response; the size is computed"
        assert await it.press("V", "B") == ["information: go to a field of the response first", size]
        await it.at("correlation_id", 1)
        await it.press("B")
        assert it.line.value == app.held.message.data[:4].hex(" ")
        await it.press("escape", "H", "up", "F", "F")
        assert it.holder.done == [("resume", 7, data), ("resume", 8, None)], "what was changed goes as it is now"

    on_screen(steps)


def test_a_message_that_goes_away_moves_no_other_under_a_key() -> None:
    """Its client closes the connection, while somebody types."""

    async def steps(it: Holding) -> None:
        await it.hear(held(7, "request"), held(8, "request"), held(9, "request"))
        await it.press("H", "down")
        await it.hear(7)
        assert (it.app.held.message.held.number, it.looked) == (8, -8)
        for key in "VB":
            await it.at("acks")
            await it.press(key)
            before = it.app.held.message.held.number
            await it.hear(before)
            assert await it.type("acks=1") == ["error: the message is no longer held"]
            await it.press("escape", *"H" * (before == 8))
        assert it.holder.done == []

    on_screen(steps)


def test_the_field_under_the_cursor_stays_from_message_to_message() -> None:
    async def steps(it: Holding) -> None:
        await press(it.app, it.pilot, "down")
        await it.hear(held(7, "response"), held(8, "response"))
        await it.press("H")
        await it.at("correlation_id", 1)
        await it.press("down")
        branch = it.app.fields.branch
        assert (branch.path, branch.part, it.looked) == ("correlation_id", 1, -8)

    on_screen(steps)
