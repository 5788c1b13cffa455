"""One run of `kdbg redact`: the capture is read three times.

First its exchanges, to say what stands in place of every message; then its packets, to find where in their streams the
messages are; then once more, to write each packet with what stands in its place.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import click

from ..capture import Capture, open_capture
from ..capture.frames import Dissectors, Frames
from ..capture.packet import Packet
from ..capture.saved import FrameWriter
from ..engine.engine import Engine
from ..engine.garbage import seldom_collected
from ..messages.exchange import Exchange
from ..redact.message import redact
from ..redact.packets import rewritten
from ..redact.streams import UNREAD, Direction, Expected, Locator
from ..redact.substitutes import Substitutes
from ..tcp.table import Table
from . import UNDECODED, printable
from .captures import number
from .packets import Ends, is_pcapng, nobody, packets, refuse_same

SPOOLED = 64 << 20
"""Bytes that are held before a file is taken for them."""


class Redaction:
    """Redacts one capture."""

    def __init__(self, made: Substitutes) -> None:
        self.made = made
        self.exchanges = self.messages = self.lost = self.others = 0
        self.ends, self.dissectors = Ends(), Dissectors()

    def run(self, source: str, target: str) -> int:
        """Write the redacted capture; return the exit status."""
        refuse_same(source, target)
        with _again(source) as again, tempfile.SpooledTemporaryFile(SPOOLED) as file, seldom_collected():
            expected = Expected(file)  # type: ignore[arg-type]  # it is read, written and sought as any other
            with open_capture(again()) as capture:
                self.survey(capture, expected)
            locator = Locator(expected)
            with Frames(again()) as frames:
                table = Table(locator.accept)
                for _, packet in packets(frames):
                    if packet is not None:
                        table.receive(packet)
                table.close()
            locator.settle()
            with Frames(again()) as frames, FrameWriter(target, pcapng=is_pcapng(target, frames.is_pcapng)) as writer:
                count = self.write(frames, locator, writer)
        self.tell(count, frames.problem)
        return UNDECODED if self.lost else 0

    def survey(self, capture: Capture, expected: Expected) -> None:
        """Read the exchanges, and say what stands in place of their messages."""
        engine = Engine(watch=self.ends.watch)
        for exchange in engine.run(capture.blocks()):
            engine.names_then.at(exchange.names)
            self.exchanges += 1
            self.take(exchange, expected)
        self.others = engine.other_connections

    def take(self, exchange: Exchange, expected: Expected) -> None:
        """Say what stands in place of an exchange's messages."""
        for direction, half in self.ends.halves(exchange):
            made = redact(half, self.made)
            self.messages += 1
            self.lost += made.lost
            expected.add(direction, half, made.data)

    def write(self, frames: Frames, locator: Locator, writer: FrameWriter) -> int:
        """Write every packet with what stands in place of its bytes; return how many there were."""
        table, count = Table(nobody), 0
        for frame, packet in packets(frames, self.dissectors):
            payload = b""
            if packet is not None:
                table.receive(packet)
                payload = self.payload(packet, table, locator)
            data = rewritten(frame.link, frame.data, packet, payload, self.made)
            writer.add(frame._replace(data=data))
            count += 1
        return count

    def payload(self, packet: Packet, table: Table, locator: Locator) -> bytes:
        """Return what stands in place of a packet's bytes."""
        found = table.place(packet)
        if found is None or not packet[6]:
            return UNREAD * len(packet[6])
        connection, stream, start = found
        direction: Direction = connection.first_packet, stream is connection.sent
        return locator.places[direction].replaced(start, packet[6])

    def tell(self, count: int, problem: str) -> None:
        """Say what was done, and what could not be."""
        if self.lost:
            lost = number(self.lost, "compressed batch").replace("batchs", "batches")
            click.echo(f"kdbg: {lost} could not be compressed to the same size again, and are blank", err=True)
        if self.dissectors.fragments:
            blank = number(self.dissectors.fragments, "IP fragment")
            click.echo(f"kdbg: {blank} blank: packets that were sent in pieces are not kept", err=True)
        if problem:
            click.echo(f"kdbg: {printable(problem)}: what was read is redacted", err=True)
        parts = [number(count, "packet"), number(self.exchanges, "exchange"), f"{self.messages:,} messages replaced"]
        parts += [f"{number(self.others, 'other connection')} blank"] if self.others else []
        click.echo(" · ".join(parts), err=True)


@contextmanager
def _again(source: str) -> Iterator[Callable[[], str | BinaryIO]]:
    """Make a context with what opens the capture, as often as is wanted; what comes from a pipe is kept for it."""
    if source != "-":
        yield lambda: source
        return
    with tempfile.SpooledTemporaryFile(SPOOLED) as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)

        def opened() -> BinaryIO:
            kept.seek(0)
            return kept  # type: ignore[return-value]

        yield opened
