"""The screen over a proxy that relays: every key of holding, follow, what is kept, and a screen that stands still."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

import kdbg
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.live.client.mock import mock_cluster
from kdbg.live.client.settings import Settings
from kdbg.live.proxy import Listening
from kdbg.ui.cli import live_screen, relay
from kdbg.ui.cli.relay import ProxyOptions, Relaying
from kdbg.ui.tui.app import Page, help_text
from kdbg.ui.tui.feed import ExchangeFeed
from kdbg.ui.tui.intercept import Intercepting
from kdbg.ui.tui.keys import HOLD_KEYS, KEYS
from kdbg.views.render.style import Look

from ..cases import by_day
from ..live.test_relay import METADATA, produce, request
from .driving import PATIENCE, handled, lines, strike, until


class Client:
    """A connection to the proxy; what comes back is taken in a thread."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.settimeout(PATIENCE)
        self.got: list[bytes] = []
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def say(self, *messages: bytes) -> None:
        self.sock.sendall(b"".join(messages))

    def _take(self) -> None:
        data = b""
        with suppress(OSError):
            while part := self.sock.recv(1 << 16):
                data += part
                while len(data) >= 4 and len(data) >= 4 + int.from_bytes(data[:4]):
                    end = 4 + int.from_bytes(data[:4])
                    self.got.append(data[4:end])
                    data = data[end:]

    def close(self) -> None:
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        self.sock.close()


class Live:
    """A screen over a proxy before a mock cluster, and who talks through it."""

    def __init__(self, app: Intercepting, pilot: Pilot[None], port: int) -> None:
        self.app, self.pilot, self.port = app, pilot, port
        self.clients: list[Client] = []

    def client(self) -> Client:
        self.clients.append(Client(self.port))
        return self.clients[-1]

    async def press(self, *keys: str) -> None:
        await strike(self.pilot, *keys)
        self.app.tick()
        await handled(self.app)

    async def type(self, text: str) -> None:
        self.app.query_one("#line", Input).value = text
        await self.press("enter")

    async def until(self, fits: Callable[[], object]) -> None:
        await until(self.pilot, fits)
        self.app.tick()
        await handled(self.app)

    async def hold(self, text: str) -> None:
        await self.press("i")
        await self.type(text)
        assert self.app.holding == text

    async def held(self, *messages: bytes) -> Client:
        """Have messages of a new client held, and go to them."""
        client, before = self.client(), self.app.held.count
        client.say(*messages)
        await self.until(lambda: self.app.held.count > before)
        await self.press("H")
        await self.until(lambda: self.app.looked is not None and self.app.looked.position < 0)
        return client

    async def answered(self, client: Client, count: int = 1) -> None:
        await self.until(lambda: len(client.got) >= count)

    async def exchange(self, api: str) -> Any:
        """The first exchange of an API that the screen has."""
        index = self.app.feed.index

        def find() -> list[int]:
            return [at for at in range(index.first, len(index)) if index.who_of(at).api == api]

        await self.until(find)
        return self.app.feed.exchange(find()[0])


def pane(live: Live) -> str | None:
    """The pane that has the keys."""
    return live.app.pane.id


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def options(brokers: str, port: int, *rules: str) -> ProxyOptions:
    return ProxyOptions(brokers, Listening("127.0.0.1", port), Settings(), True, rules, 1, None, None, 1000)


@contextmanager
def over(brokers: str, *rules: str) -> Iterator[tuple[Intercepting, int, Relaying]]:
    """The screen over a proxy."""
    port, niceness = free_port(), os.getpriority(os.PRIO_PROCESS, 0)
    ours, theirs = live_screen.channel()
    relaying = relay.relay_process(options(brokers, port, *rules), theirs)
    theirs.close()
    assert isinstance(relaying, Relaying)
    feed = ExchangeFeed(
        live_screen.Live("proxy", relaying.shown, Filters(), relaying.marked), live_screen.jobs(), most=live_screen.KEPT
    )
    os.close(relaying.shown)
    os.close(relaying.marked)
    hand = live_screen.Hand(ours)
    try:
        yield live_screen.screen(feed, "proxy", Look(), hand=hand), port, relaying
    finally:
        feed.close()
        hand.close()
        relay.end(relaying.child)
        os.waitpid(relaying.child, 0)
        with suppress(PermissionError):  # the screen lets the relay go first; the tests after this one need not
            os.setpriority(os.PRIO_PROCESS, 0, niceness)


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    pytest.importorskip("confluent_kafka")
    with mock_cluster("mock:") as address:
        yield address


def drive(brokers: str, steps: Callable[..., Any], *given: Any, rules: tuple[str, ...] = ()) -> None:
    with over(brokers, *rules) as (app, port, _):

        async def run() -> None:
            async with app.run_test(size=(100, 30), notifications=True) as pilot:
                live = Live(app, pilot, port)
                try:
                    await steps(live, *given)
                finally:
                    for client in live.clients:
                        client.close()

        asyncio.run(run())


PRODUCE = "request: api == 'Produce'"


async def intercepts(live: Live, tmp_path: Path) -> None:
    await live.press("i")
    await live.type("latency_ms >")
    assert live.app.query_one("#line", Input).has_class("open"), "what is wrong stays there to be mended"
    await live.press("escape")
    await live.hold("api == 'Produce'")
    client = await live.held(METADATA, produce(2))
    assert live.app.held.message is not None
    assert live.app.held.message.held.direction == "request"
    assert "1 held: api == 'Produce'" in lines(live.app)[0]
    await live.press("F")
    await live.until(lambda: [one.held.direction for one in live.app.held.messages] == ["response"])
    assert len(client.got) == 1
    await live.press("F")
    await live.answered(client, 2)
    await live.hold("")
    other = live.client()
    other.say(produce(3))
    await live.answered(other)
    assert live.app.held.count == 0


async def goes_to_held(live: Live, tmp_path: Path) -> None:
    await live.press("H")
    assert pane(live) == "exchanges", "no message is held"
    await live.hold("*")
    await live.held(produce(2))
    assert pane(live) == "held"
    assert any("topic_data" in line for line in lines(live.app))
    await live.press("enter")
    assert pane(live) == "fields"
    await live.press("shift+tab")
    assert pane(live) == "held"
    await live.press("escape")
    assert pane(live) == "exchanges"


async def changes_a_field(live: Live, tmp_path: Path) -> None:
    app = live.app
    await live.hold(PRODUCE)
    client = await live.held(produce(2))
    await live.press("V")
    assert not app.query_one("#line", Input).has_class("open"), "no field is chosen"
    branch = next(one for one in app.fields.branches.lines if one.path == "topic_data[0].name")
    app.fields.go(app.fields.branches.line_of(branch))
    await live.press("V")
    assert app.query_one("#line", Input).value == "topic_data[0].name=orders"
    await live.type("topic_data[0].none_such=1")
    assert app.query_one("#line", Input).has_class("open")
    await live.type("topic_data[0].name=elsewhere")
    assert any("changed" in line for line in lines(app))
    await live.press("F")
    await live.answered(client)
    assert b"elsewhere" in client.got[0]
    seen = await live.exchange("Produce")
    assert "request changed, held for" in str([*map(str, seen.findings)])


async def changes_bytes(live: Live, tmp_path: Path) -> None:
    app = live.app
    await live.hold(PRODUCE)
    client = await live.held(produce(2))
    for field, at in (("size", None), ("correlation_id", "00 00 00 02")):
        branch = next(one for one in app.fields.branches.lines if one.path == field)
        app.fields.go(app.fields.branches.line_of(branch))
        await live.press("B")
        assert app.query_one("#line", Input).has_class("open") is (at is not None)
    assert app.query_one("#line", Input).value == "00 00 00 02"
    await live.type("no hex")
    assert app.query_one("#line", Input).has_class("open")
    await live.type("00 00 00 63")
    await live.press("F")
    await live.answered(client)
    assert client.got[0][:4] == b"\0\0\0\x63"


async def passes_on_one_and_all(live: Live, tmp_path: Path) -> None:
    await live.press("F")
    await live.hold(PRODUCE)
    clients = [await live.held(produce(number)) for number in range(3)]
    await live.press("home", "F")
    await live.answered(clients[0])
    assert [len(client.got) for client in clients] == [1, 0, 0]
    await live.press("A")
    for client in clients:
        await live.answered(client)
    assert live.app.held.count == 0
    seen = await live.exchange("Produce")
    assert [finding.kind.value for finding in seen.findings] == ["injected-fault"]


async def drops(live: Live, tmp_path: Path) -> None:
    await live.press("D")
    await live.hold(PRODUCE)
    client = await live.held(produce(2))
    await live.press("D")
    assert live.app.held.count == 0
    client.say(METADATA)
    other = live.client()
    other.say(METADATA)
    await live.answered(other)
    assert client.got == []
    with socket.create_connection(("127.0.0.1", live.port)) as sock:
        sock.sendall(produce(4))
        await live.until(lambda: live.app.held.count)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    await live.until(lambda: live.app.held.count == 0)


async def repeats(live: Live, tmp_path: Path) -> None:
    await live.press("R")
    client = live.client()
    client.say(request("Metadata", 9, 7, topics=None))
    await live.answered(client)
    await live.until(lambda: live.app.looked is not None)
    await live.press("R")
    await live.until(lambda: len(live.app.feed.index) == 2)
    assert len(client.got) == 1, "the client sees nothing of it"
    first, again = (live.app.feed.exchange(number) for number in (0, 1))
    assert first.request is not None
    assert again.request is not None
    assert first.request.data[8:] == again.request.data[8:]
    assert "sent manually" in str([*map(str, again.findings)])
    client.close()
    await live.until(lambda: live.app.looked is not None)
    await live.press("R")
    await live.until(lambda: any("connection" in line and "closed" in line for line in lines(live.app)))


CHECKS: list[tuple[str, Callable[..., Any]]] = [
    ("i", intercepts), ("H", goes_to_held), ("V", changes_a_field), ("B", changes_bytes),
    ("F A", passes_on_one_and_all),
    ("D", drops), ("R", repeats),
]  # fmt: skip


def test_every_key_of_holding_is_pressed() -> None:
    assert {key for keys, _ in CHECKS for key in keys.split()} == {key.keys for key in HOLD_KEYS}
    names = [name for key in (*KEYS, *HOLD_KEYS) for name in key.keys.split(",")]
    assert len(names) == len({*names}), "a key does one thing"


@pytest.mark.parametrize(("keys", "check"), by_day(CHECKS, 2), ids=[keys for keys, _ in by_day(CHECKS, 2)])
def test_a_key_of_holding_does_what_the_help_says(keys: str, check: Any, brokers: str, tmp_path: Path) -> None:
    drive(brokers, check, tmp_path)


def test_what_is_said_is_followed_and_faults_are_marked(brokers: str, tmp_path: Path) -> None:
    async def steps(live: Live) -> None:
        app = live.app
        client = live.client()
        client.say(METADATA)
        await live.answered(client)
        seen = await live.exchange("Metadata")
        assert "delay 1ms" in str([*map(str, seen.findings)])
        for number in range(40):
            client.say(produce(number))
        await live.until(lambda: len(app.feed.index) == 41 and app.exchanges.cursor == 40)
        assert "live" in lines(app)[0]
        await live.press("question_mark")
        assert isinstance(app.screen, Page)
        assert "resend the selected request on its connection" in str(help_text(app.KEYS_HERE))
        await live.press("escape", "a")
        assert any("listening on 127.0.0.1:" in line for line in lines(app))
        await live.press("escape", "slash")
        await live.type("api == 'Metadata'")
        await live.until(lambda: len(app.order) == 1)
        await live.press("m", "w")
        await live.type(str(tmp_path / "marked.pcap"))
        await live.until((tmp_path / "marked.pcap").exists)
        await live.until(lambda: (tmp_path / "marked.pcap").stat().st_size > len(METADATA) + 100)
        (written,) = kdbg.read(tmp_path / "marked.pcap")
        assert written.request.data == METADATA[4:]
        await live.press("u")
        assert app.clipboard == f"kdbg send --raw {METADATA.hex()} --broker {brokers}"

    drive(brokers, steps, rules=("Metadata: delay 1ms",))


def test_statistics_are_there_from_the_first_exchange(brokers: str) -> None:
    async def steps(live: Live) -> None:
        await live.press("2")
        client = live.client()
        for count in (1, 2):
            client.say(METADATA)
            await live.answered(client)
            await live.until(lambda said=f"{count} exchange": any(said in line for line in lines(live.app)[2:]))

    drive(brokers, steps)


def test_what_is_more_than_is_kept_is_forgotten_and_the_rest_stays_right(
    brokers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_screen, "KEPT", 50)

    async def steps(live: Live) -> None:
        app, client = live.app, live.client()
        for number in range(0, 200, 20):
            client.say(*map(produce, range(number, number + 20)))
            await live.answered(client, number + 20)
        await live.until(lambda: len(app.feed.index) == 200 and app.feed.index.first >= 100)
        await live.until(lambda: len(app.order) == 200 - app.feed.index.first)
        assert "kept" in lines(app)[0]
        await live.press("home")
        position = app.exchanges.position
        assert position == app.feed.index.first
        exchange = app.feed.exchange(position)
        assert exchange.correlation_id == position
        await live.press("slash")
        await live.type("correlation_id % 2 == 0")
        await live.until(lambda: len(app.order) == (200 - app.feed.index.first) // 2)
        assert app.feed.index.value("number", app.order[0]) % 2 == 1

    drive(brokers, steps)
