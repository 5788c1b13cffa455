"""One run of `kdbg redact`: the capture is read three times.

First its exchanges, to say what stands in place of every message; then its packets, to find where in their streams the
messages are; then once more, to write each packet with what stands in its place. Where IP packets were sent in pieces,
it is read once more in between: a piece can be written only when all of its packet is known.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO

import click

from ...atomic import AtomicFile
from ...capture import Capture, open_capture
from ...capture.frames import Dissectors, Frames, FrameWriter
from ...capture.packet import Packet
from ...errors import CaptureError
from ...exchanges.engine.engine import Engine
from ...protocol.findings import Kind
from ...protocol.findings.amounts import count
from ...streams.tcp.table import ConnectionTable
from ...views.redact.fill import Effort
from ...views.redact.message import redact
from ...views.redact.packets import pieces_rewritten, rewritten
from ...views.redact.search import LeakSearch
from ...views.redact.streams import UNREAD, Direction, Expected, Locator
from ...views.redact.substitutes import Replaced, Substitutes
from . import UNDECODED, printable
from .inputs import finding_parts, findings_of
from .packets import Ends, is_pcapng, nobody, packets, refuse_same

SPOOLED = 64 << 20
"""Bytes that are held before a file is taken for them."""


class Redaction:
    """Redacts one capture."""

    exchanges: int = 0
    messages: int = 0
    lost: int = 0
    others: int = 0
    encrypted: int = 0
    blank: int = 0

    def __init__(self, made: Substitutes) -> None:
        self.made = made
        self.findings: Counter[str] = Counter()
        self.ends, self.dissectors, self.effort = Ends(), Dissectors(), Effort()
        self.places: dict[int, tuple[int, int]] = {}
        """Where frames that hold pieces of IP packets are kept as they are to be written, by their numbers."""

    def run(self, source: str, target: str) -> int:
        """Write the redacted capture; return the exit status."""
        refuse_same(source, target)
        with (
            _again(source) as again,
            tempfile.SpooledTemporaryFile(SPOOLED) as file,
            tempfile.SpooledTemporaryFile(SPOOLED) as kept,
        ):
            expected = Expected(file)  # type: ignore[arg-type]  # it is read, written and sought as any other
            with open_capture(again()) as capture:
                self.survey(capture, expected)
            locator = Locator(expected, self.unread)
            with open_capture(again()) as capture:
                table = ConnectionTable(locator.accept)
                for block in capture.blocks():
                    table.receive_all(block)
                table.close()
            locator.settle()
            if capture.put_together:
                with Frames(again()) as frames:
                    self.put_together(frames, locator, kept)
            with Frames(again()) as frames, AtomicFile(target, private=True, staged=True) as output:
                with FrameWriter(output, pcapng=is_pcapng(target, frames.is_pcapng)) as writer:
                    written = self.write(frames, locator, writer, kept)
                output.flush()
                self.check(output)
        self.tell(written, frames.problem)
        return UNDECODED if self.lost else 0

    def survey(self, capture: Capture, expected: Expected) -> None:
        """Read the exchanges, and say what stands in place of their messages."""
        engine = Engine(watch=self.ends.watch)
        for exchange in engine.run(capture.blocks()):
            engine.names_then.at(exchange.names)
            self.exchanges += 1
            for direction, half in self.ends.halves(exchange):
                made = redact(half, self.made, self.effort)
                self.messages += 1
                self.lost += made.lost
                expected.add(direction, half, made.data)
            self.findings.update(finding.kind for finding in findings_of(exchange))
        self.others = engine.other_connections
        self.encrypted = sum(finding.kind is Kind.NOT_DECRYPTED for _, finding in engine.findings)
        self.findings.update(finding.kind for _, finding in engine.findings)
        self.findings.update(finding.kind for finding in capture.problems)

    def put_together(self, frames: Frames, locator: Locator, kept: IO[bytes]) -> None:
        """Keep what stands in the frames that hold pieces of IP packets."""
        table, dissectors = ConnectionTable(nobody), Dissectors()
        for _, packet in packets(frames, dissectors):
            payload = b""
            if packet is not None:
                table.receive(packet)
                payload = self.payload(packet, table, locator) if dissectors.whole else b""
            if dissectors.whole:
                for frame, data in pieces_rewritten(dissectors.pieces, dissectors.whole, packet, payload, self.made):
                    self.places[frame] = kept.seek(0, os.SEEK_END), len(data)
                    kept.write(data)

    def write(self, frames: Frames, locator: Locator, writer: FrameWriter, kept: IO[bytes]) -> int:
        """Write every packet with what stands in place of its bytes; return how many there were."""
        table, count = ConnectionTable(nobody), 0
        for frame, packet in packets(frames, self.dissectors):
            payload = b""
            if packet is not None:
                table.receive(packet)
                payload = self.payload(packet, table, locator)
            if self.dissectors.is_piece:
                packet, payload = None, b""
            place = self.places.pop(frame.number, None)
            if place is None:
                self.blank += self.dissectors.is_piece
                data = rewritten(frame.link, frame.data, packet, payload, self.made)
            else:
                kept.seek(place[0])
                data = kept.read(place[1])
            writer.add(frame._replace(data=data))
            count += 1
        return count

    def payload(self, packet: Packet, table: ConnectionTable, locator: Locator) -> bytes:
        """Return what stands in place of a packet's bytes."""
        found = table.place(packet)
        if found is None or not packet[6]:
            self.unread(packet[6])
            return UNREAD * len(packet[6])
        connection, stream, start = found
        direction: Direction = connection.first_packet, stream is connection.sent
        return locator.places[direction].replaced(start, packet[6])

    def unread(self, data: bytes) -> None:
        """Take note of bytes that no message holds."""
        self.made.replaced.add(data, Replaced.OTHER)

    def check(self, output: AtomicFile) -> None:
        """Search what was written for what was replaced. Raise `CaptureError` where something of it is left."""
        self.made.replaced.settle()
        search = LeakSearch(self.made.replaced, addresses=self.made.addresses)
        with Frames(output.partial) as frames:
            for frame, packet in packets(frames):
                kind = search.find(frame.data) or search.find_in_headers(frame.link, frame.data, packet)
                refuse_leak(output.name, kind, f"packet {frame.number}")
        with open_capture(output.partial) as capture:
            for exchange in Engine().run(capture.blocks()):
                for half in (exchange.request, exchange.response):
                    if half is not None:
                        split = search.find(half.data) if half.first_packet != half.last_packet else None
                        kind = split or search.find_in_records(half.data)
                        refuse_leak(output.name, kind, f"the message that ends in packet {half.last_packet}")

    def tell(self, written: int, problem: str) -> None:
        """Say what was done, and what could not be."""
        many = f" ({self.effort.given_up:,} would take too long)" if self.effort.given_up else ""
        for number, what, why in (
            (self.lost, "compressed batch", f": the redacted data does not compress to the original size{many}"),
            (self.blank, "IP fragment", ": the other fragments of their packets are not in the capture"),
            (self.encrypted, "TLS connection",
             "; to redact their contents, decrypt them with kdbg export --tls-plain"),
        ):  # fmt: skip
            if number:
                click.echo(f"kdbg: {count(number, what)} blanked{why}", err=True)
        if problem:
            click.echo(f"kdbg: {printable(problem)}; the packets before it are redacted", err=True)
        parts = [count(written, "packet"), count(self.exchanges, "exchange")]
        parts.append(f"{count(self.messages, 'message')} redacted")
        parts += [f"{count(self.others, 'undecoded connection')} blanked"] if self.others else []
        click.echo(" · ".join([*parts, *finding_parts(self.findings)]), err=True)


def refuse_leak(name: str, kind: Replaced | None, place: str) -> None:
    """Raise `CaptureError` where something was found that was to be replaced; it is named, and not shown."""
    if kind is not None:
        problem = f"not written, as {place} would still contain {kind.value} that is redacted elsewhere"
        raise CaptureError(name, problem, "exclude its connection with kdbg export, and report this defect of kdbg")


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
