"""`python -m tests.guide.screens`: the manual's screenshots, made of what kdbg prints on terminals.

Each shows the first lines of what a command prints, as many as a screen of that size has; a pager has the rest.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.text import Text
from textual.pilot import Pilot

import kdbg
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.live.holds import SIZE, Held
from kdbg.ui.cli import live_screen
from kdbg.ui.tui.app import Browser
from kdbg.ui.tui.feed import ExchangeFeed
from kdbg.ui.tui.intercept import Intercepting
from kdbg.views.render.style import Look
from tests.cli.terminal import on_terminal
from tests.tui.driving import drive, handled, press, strike, until

from .blocks import TOP

FOLDER = TOP / "kdbg" / "ui" / "guide" / "screens"
SIZES = ((80, 24), (160, 50))
"""Columns and rows of the terminals."""
SCREENS = {
    "tree": "kdbg decode captures/first-contact.pcap --exchange 5-6",
    "summary": "kdbg decode captures/errors.pcap -f summary",
    "stats": "kdbg stats captures/group-rebalance.pcap",
    "explain": "kdbg explain 00000016 0003 0001 00000002 0004 6b646267 00000001 0003 666f",
    "records": "kdbg records captures/transactions.pcap",
    "diff": "kdbg diff captures/first-contact.pcap#6 captures/errors.pcap#6",
    "browse": "kdbg browse captures/errors.pcap",
    "diagnosis": "kdbg browse captures/errors.pcap",
    "proxy": "kdbg proxy -b localhost:9092 --tui",
}
"""Commands by the names of their pictures."""
WALKED = {"browse": ["e", "e", "enter", "r", *["down"] * 10], "diagnosis": ["3", *["down"] * 7]}
"""The keys that are pressed before a picture of a screen is taken."""
HELD = 6
"""The exchange of captures/errors.pcap whose request is held in the picture of the proxy."""
ALL = [(name, *size) for name, size in product(SCREENS, SIZES)]
CLOSING = re.compile(r"(?:\x1b\[[0-9;]*m)*[\d,]+ packets? · ")
SVG = "{http://www.w3.org/2000/svg}"


def printed(name: str, columns: int, rows: int) -> list[str]:
    """Return the lines of a screen, with colours; the command stands above them, if they were printed."""
    if name == "proxy":
        return held(columns, rows)
    if name in WALKED:
        return walked(name, columns, rows)
    return ran(SCREENS[name], columns, rows)


def ran(command: str, columns: int, rows: int) -> list[str]:
    """Return the first lines of a terminal on which a command was run, with colours."""
    _, *arguments = shlex.split(command)
    terminal = on_terminal(*arguments, out=True, columns=columns, rows=rows, KDBG_PAGER="cat",
                           TERM="xterm-256color", COLORTERM="truecolor").terminal  # fmt: skip
    shown = re.sub(r"[^\n]*\x1b\[2K\r?", "", terminal)  # without the line of progress, which was erased
    lines = [part for line in shown.splitlines() for part in folded(line, columns)]
    return [f"\x1b[1m$ {command}\x1b[0m", *lines][:rows]


def folded(line: str, columns: int) -> list[str]:
    """Return the lines of a terminal that the closing line takes; all other lines fit."""
    if not CLOSING.match(line):
        return [line]
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
    return [plain[start : start + columns] for start in range(0, len(plain), columns)]


def walked(name: str, columns: int, rows: int) -> list[str]:
    """Return the lines of a screen that keys are pressed on."""
    found: list[str] = []

    async def steps(app: Browser, pilot: Pilot[None]) -> None:
        for key in WALKED[name]:
            await press(app, pilot, key)
        found.extend(seen(app))

    file = TOP / shlex.split(SCREENS[name])[-1]
    drive(steps, file, size=(columns, rows), named=[str(file.relative_to(TOP))])
    return found


def seen(app: Browser) -> list[str]:
    """Return the lines of a screen, with colours."""
    console = Console(file=StringIO(), force_terminal=True, color_system="truecolor")
    return [strip.render(console) for strip in app.screen._compositor.render_strips()]


def held(columns: int, rows: int) -> list[str]:
    """Return the lines of the proxy's screen while a message is held: a recorded stream, and a request out of it."""
    found: list[str] = []
    with recorded(TOP / "captures" / "errors.pcap", HELD) as (app, hold):

        async def run() -> None:
            async with app.run_test(size=(columns, rows)) as pilot:
                await until(pilot, lambda: app.looked is not None and app.exchanges.cursor == HELD - 2)
                await strike(pilot, "i", *"api == 'Produce'", "enter")
                hold()
                await until(pilot, lambda: app.held.count)
                await strike(pilot, "H", "enter", *["down"] * 7)
                app.tick()  # the status bar counts what is held at its next tick
                await handled(app)
                found.extend(seen(app))

        asyncio.run(run())
    return found


@contextmanager
def recorded(path: Path, number: int) -> Iterator[tuple[Intercepting, Callable[[], None]]]:
    """The proxy's screen over what a capture has before an exchange, and what has the request of that one held."""
    with kdbg.read(path) as reading:
        exchange = next(one for one in reading if one.number == number)
    ours, theirs = live_screen.channel()
    stream, packets = os.pipe()
    feed = ExchangeFeed(live_screen.Live("proxy", stream, Filters()), live_screen.jobs(), most=live_screen.KEPT)
    os.close(stream)
    os.write(packets, packets_before(path, exchange.request.first_packet))
    hand = live_screen.Hand(ours)

    def hold() -> None:
        message = pickle.dumps(Held(1, exchange.peers, "request", exchange.request.data, None))
        theirs.sendall(SIZE.pack(len(message)) + message)

    try:
        yield live_screen.screen(feed, "proxy", Look(), hand=hand), hold
    finally:
        os.close(packets)
        theirs.close()
        feed.close()
        hand.close()


def packets_before(path: Path, number: int) -> bytes:
    """Return a pcap file up to the packet of this number."""
    data, end = path.read_bytes(), 24
    for _ in range(number - 1):
        end += 16 + int.from_bytes(data[end + 8 : end + 12], "little")
    return data[:end]


def drawn(name: str, columns: int, rows: int) -> str:
    """Return the picture of a screen."""
    return picture(printed(name, columns, rows), columns, f"kdbg, {columns} columns", f"kdbg-{name}-{columns}")


def picture(lines: list[str], columns: int, title: str, unique_id: str) -> str:
    """Return the picture of lines with colours."""
    console = Console(record=True, width=columns, file=StringIO(), force_terminal=True, color_system="truecolor")
    for line in lines:
        console.print(Text.from_ansi(line), soft_wrap=True)
    return console.export_svg(title=title, unique_id=unique_id)


def said(svg: str) -> str:
    """Return the letters of a picture of a terminal, line by line, without spaces."""
    texts = [text for text in ET.fromstring(svg).iter(f"{SVG}text") if "clip-path" in text.attrib]
    return letters("".join(text.text or "" for text in texts))


def letters(text: str) -> str:
    """Return a text without colours and spaces."""
    return re.sub(r"\s", "", re.sub(r"\x1b\[[0-9;]*m", "", text))


def path(name: str, columns: int) -> str:
    """Return the name of a picture's file."""
    return f"{name}-{columns}.svg"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, columns, rows in ALL:
        (FOLDER / path(name, columns)).write_text(drawn(name, columns, rows), encoding="utf-8")
