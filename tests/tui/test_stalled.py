"""A screen whose terminal takes nothing: nobody who talks waits for it, and it says what it has missed."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from textual.pilot import Pilot

from kdbg.live.bounded_pipe import Outflow
from kdbg.ui.cli import live_screen, relay
from kdbg.ui.cli.browse_captures import MOST as BATCH
from kdbg.ui.tui.feed import STALLED
from kdbg.ui.tui.intercept import Intercepting

from ..cli.calls import COMMAND, ENVIRONMENT
from ..live.test_relay import produce, request
from .driving import CAPTURES, PATIENCE, lines, until, wait
from .test_live import Client, brokers, free_port, over

__all__ = ["brokers"]
MANY, FLOOD = 1000, 2000
AT_ONCE = 50
LATE = 2
"""Batches of the reader that are on their way."""


def talk(port: int, many: int, *, size: int = 1) -> None:
    """Send so many requests, and wait for the answers of each few before the next."""
    client = Client(port)
    part = {"index": 0, "records": [{"magic": 2, "records": [{"key": None, "value": "x" * size}]}]}
    said = {"acks": 1, "topic_data": [{"name": "orders", "partition_data": [part]}]}
    for first in range(0, many, AT_ONCE):
        last = min(first + AT_ONCE, many)
        client.say(*(request("Produce", 7, number, **said) for number in range(first, last)))
        wait(lambda: len(client.got) >= last)  # noqa: B023 - it is called here
    assert [int.from_bytes(one[:4]) for one in client.got] == [*range(many)], "in their order, none twice"
    client.close()


class Stalled:
    """A command on a terminal that nobody reads, until `drain` does; `deaf`: it ignores SIGHUP, as by nohup."""

    def __init__(self, *arguments: str, deaf: bool = False) -> None:
        self.terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

        def prepare() -> None:
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
            if deaf:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

        self.process = subprocess.Popen(
            [*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            env={**ENVIRONMENT, "TERM": "xterm-256color"}, preexec_fn=prepare,
        )  # fmt: skip
        os.close(theirs)

    def drain(self, wanted: bytes) -> None:
        """Read until something is shown."""
        shown, end = b"", time.monotonic() + PATIENCE
        while not re.search(wanted, shown):
            assert time.monotonic() < end, shown[-2000:]
            if select.select([self.terminal], [], [], 0.1)[0]:
                shown += os.read(self.terminal, 1 << 16)

    def close(self) -> None:
        os.close(self.terminal)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def stalled(*arguments: str, deaf: bool = False) -> Iterator[Stalled]:
    found = Stalled(*arguments, deaf=deaf)
    try:
        yield found
    finally:
        found.close()


def is_open(port: int) -> bool:
    try:
        Client(port).close()
    except OSError:
        return False
    return True


def test_who_talks_through_the_proxy_does_not_wait_for_its_screen(brokers: str) -> None:
    port = free_port()
    with stalled("proxy", "-b", brokers, "-l", f"127.0.0.1:{port}", "--tui") as screen:
        wait(lambda: is_open(port))
        talk(port, MANY)
        assert select.select([screen.terminal], [], [], PATIENCE)[0], "the terminal is full of what nobody has read"
        screen.drain(b"1,000 exchanges")
        os.write(screen.terminal, b"q")
        screen.drain(rb"\x1b\[\?1049l")
        assert screen.process.wait(PATIENCE) == 0


def test_a_terminal_that_goes_away_ends_the_proxy(brokers: str) -> None:
    port = free_port()
    with stalled("proxy", "-b", brokers, "-l", f"127.0.0.1:{port}", "--tui") as screen:
        wait(lambda: is_open(port))
        talk(port, MANY)
        os.close(screen.terminal)
        screen.process.wait(PATIENCE)
        wait(lambda: not is_open(port))
        screen.terminal = os.open(os.devnull, os.O_RDONLY)


@pytest.mark.parametrize("read", [True, False], ids=["read", "never read"])
def test_a_terminal_that_goes_away_ends_every_screen_that_ignores_sighup(brokers: str, read: bool) -> None:
    """It would use a processor for good: the end of input is read again and again."""
    port = free_port()
    for command in (
        ["browse", str(CAPTURES / "errors.pcap")],
        ["proxy", "-b", brokers, "-l", f"127.0.0.1:{port}", "--tui"],
    ):
        with stalled(*command, deaf=True) as screen:
            screen.drain(rb"exchanges" if read else rb"\x1b\[\?1049h")
            if command[0] == "proxy":
                talk(port, MANY)
            os.close(screen.terminal)
            assert screen.process.wait(PATIENCE) == 128 + signal.SIGHUP
            screen.terminal = os.open(os.devnull, os.O_RDONLY)
    wait(lambda: not is_open(port))


def test_a_screen_that_stands_still_falls_behind_and_says_so(brokers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_screen, "KEPT", 100)
    monkeypatch.setattr(relay, "Outflow", partial(Outflow, most=1 << 20))
    with over(brokers) as (app, port, _):
        assert isinstance(app, Intercepting)
        app.feed.listen()
        talk(port, FLOOD, size=4000)
        kept = len(app.feed.index)
        assert kept <= STALLED * 100 + LATE * BATCH
        assert app.feed.index.first == 0, "nobody has looked"

        async def run() -> None:
            async with app.run_test(size=(160, 24)) as pilot:
                await caught_up(app, pilot, port)

        asyncio.run(run())


async def caught_up(app: Intercepting, pilot: Pilot[None], port: int) -> None:
    """Wait until the screen shows what is said now, and how much it has left out."""
    await until(pilot, lambda: re.search(r"[\d,]+ packets not shown: arriving too fast", lines(app)[0]))
    client = Client(port)
    index = app.feed.index

    def is_shown() -> bool:
        client.say(produce(7, topic="now"))  # again and again: one that comes while the screen is behind is left out
        return any("now" in index.names_of("topics", at) for at in range(index.first, len(index)))

    await until(pilot, is_shown)
    client.close()
    assert len(app.feed.index) < FLOOD
