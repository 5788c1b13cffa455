"""The terminal of a screen: the screen ends when it is gone, and with the status that shells have for that."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.driver import Driver
from textual.drivers.headless_driver import HeadlessDriver
from textual.drivers.linux_driver import LinuxDriver

from kdbg.ui.tui import terminal
from kdbg.ui.tui.terminal import STATUS, Output, TerminalApp, TerminalDriver

from .driving import until


class Ending(TerminalApp):
    """A screen that ends at once, with a status."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status

    def on_ready(self) -> None:
        self.exit(return_code=self.status)


def test_a_screen_ends_with_the_status_of_a_hangup_only_after_one() -> None:
    assert STATUS == 128 + signal.SIGHUP
    for status in (0, 3, STATUS):
        screen = Ending(status)
        if status == STATUS:
            with pytest.raises(SystemExit) as ended:
                screen.run(headless=True)
            assert ended.value.code == STATUS
        else:
            screen.run(headless=True)
        assert screen.return_code == status


@pytest.mark.parametrize(("gone", "ends"), [((), False), ((0, 2), True), ((1, 2), False), ((0, 1, 2, 3), True)])
def test_a_screen_whose_keys_come_from_nowhere_ends(
    gone: tuple[int, ...], ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced: list[tuple[str, int]] = []
    ended: list[Any] = []
    monkeypatch.setattr(terminal, "is_hung_up", gone.__contains__)

    def replace(file: int, to: int) -> None:
        replaced.append((str(Path(f"/proc/self/fd/{file}").readlink()), to))

    monkeypatch.setattr(os, "dup2", replace)
    monkeypatch.setattr(TerminalApp, "is_headless", False)
    screen = TerminalApp()
    monkeypatch.setattr(screen, "exit", lambda *given, **named: ended.append((given, named)))
    screen.end_with_terminal()
    assert ended == [((), {"return_code": STATUS})] * ends
    assert replaced == [("/dev/null", one) for one in gone if ends and one < 3]
    monkeypatch.setattr(TerminalApp, "is_headless", True)
    screen.end_with_terminal()
    assert len(ended) == ends, "a test has no terminal"


def test_the_terminal_is_looked_at_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    monkeypatch.setattr(TerminalApp, "end_with_terminal", lambda screen: looks.append(None))

    async def run() -> None:
        async with TerminalApp().run_test() as pilot:
            await until(pilot, lambda: len(looks) > 1)

    asyncio.run(run())


def test_a_terminal_is_written_to_by_a_driver_that_drops_what_it_does_not_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: type[Driver] = LinuxDriver
    monkeypatch.setattr(App, "get_driver_class", lambda screen: found)
    assert TerminalApp().get_driver_class() is TerminalDriver
    found = HeadlessDriver
    assert TerminalApp().get_driver_class() is HeadlessDriver
    shown = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", shown)

    async def run() -> None:
        driver = TerminalDriver(TerminalApp(), debug=False, mouse=True, size=(70, 20))
        assert isinstance(driver._file, Output)
        driver._file.write("drawn")
        assert driver._size == (70, 20)

    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "__stdin__", nothing)
        asyncio.run(run())
    assert shown.getvalue() == "drawn"
