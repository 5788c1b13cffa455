"""One run of `kdbg export`: each capture is read for the wanted exchanges, then again to write their packets.

What is written of an exchange is a `Choice`; another way to choose is another entry of `MODES`. Where TLS is to be
plain, `decrypting` writes packets that were never sent so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ...analysis.logs.log import ApplicationLog
from ...atomic import AtomicFile
from ...capture import Capture
from ...capture.frame_writer import FrameWriter
from ...capture.frames import Dissectors, Frame, Frames
from ...capture.packet import SYN, Packet
from ...errors import CaptureError
from ...exchanges.engine.engine import Engine
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import Exchange
from ...protocol.findings.amounts import count
from ...streams.tcp.table import ConnectionTable
from ...views.redact.streams import Direction
from .output import Writer
from .packets import Ends, is_pcapng, packets, refuse_same
from .runner import Captures
from .tls_plain import Decrypting


class Choice(Protocol):
    """What is to be written of one capture."""

    def want(self, exchange: Exchange, ends: Ends) -> None:
        """Take note of a wanted exchange."""

    def takes(self, packet: Packet, direction: Direction) -> bool:
        """Return whether a packet of a connection is to be written."""


class WholeConnections:
    """Chooses every packet of the connections in which a wanted exchange is."""

    def __init__(self) -> None:
        self._wanted: set[int] = set()

    def want(self, exchange: Exchange, ends: Ends) -> None:
        self._wanted.add(ends.first_packet(exchange))

    def takes(self, packet: Packet, direction: Direction) -> bool:
        return direction[0] in self._wanted


class ExchangesAlone:
    """Chooses the packets that hold the messages, those sent again in between too, and their connections' handshakes.

    The handshake tells who the client is, and where the sequence numbers begin.
    """

    def __init__(self) -> None:
        self._wanted: dict[Direction, set[int]] = defaultdict(set)
        self._connections: set[int] = set()

    def want(self, exchange: Exchange, ends: Ends) -> None:
        for direction, half in ends.halves(exchange):
            first, last = sorted((half.first_packet, half.last_packet))
            self._wanted[direction].update(range(first, last + 1))
            self._connections.add(direction[0])

    def takes(self, packet: Packet, direction: Direction) -> bool:
        if packet[5] & SYN:
            return direction[0] in self._connections
        return bool(packet[7]) and packet[0] in self._wanted.get(direction, ())


MODES: Mapping[str, Callable[[], Choice]] = {"connections": WholeConnections, "exchanges": ExchangesAlone}
"""What can be written, by its name."""


class ExportRun(Captures):
    """Writes what is wanted of one capture after the other."""

    fails_by_findings = False
    out: FrameWriter
    target: str
    mode: Callable[[], Choice]
    tls_plain: bool
    written: int
    selected_are = "selected"

    def __init__(self, target: str, mode: Callable[[], Choice], filters: Filters, *, tls_plain: bool = False) -> None:
        super().__init__(filters, Writer(live=False))
        self.target, self.mode, self.tls_plain = target, mode, tls_plain
        self.written = 0

    def export(self, files: Sequence[str]) -> int:
        """Write the file; return the exit status."""
        for file in files:
            refuse_same(file, self.target)
        with AtomicFile(self.target, private=True) as output:
            with FrameWriter(output, pcapng=is_pcapng(self.target, otherwise=True)) as self.out:
                self.captures(files)
            self.end_unless_complete()
        return self.status

    def read(self, capture: Capture | ApplicationLog, name: str) -> None:
        """Find the wanted exchanges of a capture, then write their packets."""
        if capture.source.pipe is not None:
            raise CaptureError(capture.name, "a pipe, which export cannot read twice", "save it to a file first")
        refuse_same(capture.name, self.target)
        assert isinstance(capture, Capture), "logs are refused"
        choice, ends, encrypted = self.mode(), Ends(), set[int]()
        with self.driven(capture, name) as drive:
            assert isinstance(drive.engine, Engine), "logs are refused"
            drive.engine.watch = ends.watch
            for exchange in drive:
                choice.want(exchange, ends)
                if exchange.peers.tls is not None:
                    encrypted.add(ends.first_packet(exchange))
        if encrypted and not self.tls_plain:
            self.say(f"{count(len(encrypted), 'TLS connection')} exported encrypted; use --tls-plain for plaintext")
        plain = Decrypting(encrypted if self.tls_plain else (), capture.keys, choice.takes, self.add)
        with Frames(capture.name) as frames:
            self.write(frames, choice, plain)

    def add(self, frame: Frame) -> None:
        """Write a packet."""
        self.out.add(frame)
        self.written += 1

    def write(self, frames: Frames, choice: Choice, plain: Decrypting) -> None:
        """Write the packets of a capture that were chosen."""
        table, dissectors = ConnectionTable(plain.accept), Dissectors()
        for frame, packet in packets(frames, dissectors):
            if packet is None:
                continue
            table.receive(packet)
            found = table.place(packet)
            if found is None or found[0].first_packet in plain.first_packets:
                continue
            if choice.takes(packet, (found[0].first_packet, found[1] is found[0].sent)):
                for each in [piece.frame for piece in dissectors.pieces] or [frame]:
                    self.add(each)
        table.close()
        if dissectors.lost:
            self.say(f"{count(dissectors.lost, 'IP fragment')} dropped: their connection is unknown")

    def other_parts(self) -> list[str]:
        return [f"{count(self.written, 'packet')} written"] if self.is_complete else ["nothing written"]
