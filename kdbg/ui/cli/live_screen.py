"""The screen over what is live, `--tui` of watch and proxy: a process that reads the stream, and what is asked of it.

Whoever captures or relays waits for none of these: what comes faster than it is read is left out, and counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...errors import CaptureError, UnknownCapture
from ...exchanges.engine.driver import Pairing
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...live.holds import Hand, channel
from ...live.socket_processes import Owners
from ...views.render.style import Look
from ..tui.feed import Causes, ExchangeFeed, Job, Note, Progress, Tell
from ..tui.index import Batch, Start
from ..tui.spool import SpoolWalk, SpoolWriter
from . import browse_captures
from .browse_captures import WIDEST, IndexReader, parsed, show_screen
from .live_stream import LiveStream, ProcessFilter
from .output import Writer
from .relay import FaultMarks
from .runner import Blocks, Runner, ignore

__all__ = ["Hand", "Live", "channel", "screen", "show"]
KEPT = 500_000
"""Exchanges that are kept: some 60 MB of memory, and what their messages take in a file."""


class Live:
    """Reads a stream from a descriptor; `marks` is that of what the proxy did, `owners` finds processes.

    It tells of every exchange that the filters let through, with what was done to it.
    """

    def __init__(
        self, name: str, stream: int, filters: Filters, marks: int | None = None, owners: Owners | None = None
    ) -> None:
        self.name, self.stream, self.filters = name, stream, filters
        self.marks, self.owners = marks, owners

    def __call__(self, spool: int, tell: Tell) -> None:
        """Read until the stream ends."""
        missing = 0

        def report(what: Batch | Note | Progress | Causes) -> None:
            """Tell on; how far it is says how many packets are missing as well."""
            tell(Progress(what.read, None, missing) if isinstance(what, Progress) else what)

        def through(engine: Pairing, blocks: Blocks) -> Blocks:
            """Yield the packets; tell how many are missing by then."""
            nonlocal missing
            for packets in blocks:
                yield packets
                lost = sum(capture.lost or ())
                if lost != missing:
                    missing = lost
                    report(Progress(*capture.source.extent()))

        writer = SpoolWriter(spool)
        runner = Runner(self.filters, Writer(live=True), say=lambda text: report(Note(text)))
        marks = FaultMarks(self.marks, runner.say) if self.marks is not None else None
        processes = ProcessFilter(self.owners, runner.say) if self.owners is not None else None
        stream = LiveStream(runner, self.name, processes=processes)
        reader = IndexReader(runner, writer, report, marks.mark if marks is not None else ignore)
        try:
            with stream.opened(os.fdopen(self.stream, "rb", buffering=0)) as file:
                capture = file.capture
                reader.read(file, stream.drive, through)
        except UnknownCapture:
            pass  # it ended before it had begun
        except CaptureError as error:
            runner.say(str(error))
        finally:
            runner.say(" · ".join(runner.closing()))
            writer.close()


def show(source: Live, look: Look, light: bool, hand: Hand | None = None) -> None:
    """Show the screen over a stream until the user ends it; messages are held by `hand`."""
    feed = ExchangeFeed(source, jobs(), most=KEPT)
    os.close(source.stream)
    if source.marks is not None:
        os.close(source.marks)
    try:
        show_screen(feed, lambda: screen(feed, source.name, look, light=light, hand=hand))
    finally:
        if hand is not None:
            hand.close()


def screen(feed: ExchangeFeed, name: str, look: Look, *, light: bool = False, hand: Hand | None = None) -> Any:
    """Return the screen over a feed of something live: a proxy where there is a hand, else what is watched."""
    from ..tui.app import Browser
    from ..tui.intercept import Intercepting

    look = Look(
        width=WIDEST, full=False, show_secrets=look.show_secrets, local=look.local, hide_values=look.hide_values
    )
    if hand is None:
        return Browser(feed, look, [f"watch {name}"], parsed, light=light, follow=True)
    return Intercepting(feed, look, [name], parsed, light=light, follow=True, hand=hand)


def jobs() -> dict[str, Job]:
    """Return the questions that can be asked of a stream."""
    return browse_captures.jobs((), Filters()) | {"export": export}


def export(spool: int, start: Start, target: str, wanted: Mapping[int, Sequence[int]]) -> Iterator[str]:
    """Write exchanges, told by their numbers, as a capture; yield what to say of it."""
    from .packets import write_exchanges

    left = {one for numbers in wanted.values() for one in numbers}

    def marked() -> Iterator[tuple[Exchange, int]]:
        """Yield the exchanges, each with the number of its connection."""
        for chunk in SpoolWalk(spool, start):
            for exchange in chunk.exchanges:
                if exchange.number in left:
                    left.discard(exchange.number)
                    yield exchange, exchange.peers.number
            if not left:
                return

    yield write_exchanges(target, marked())
