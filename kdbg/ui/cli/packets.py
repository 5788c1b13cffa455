"""Captures gone through packet by packet, and written: by `kdbg export`, `kdbg redact`, and the screens.

`kdbg export` reads each capture for the wanted exchanges, then again to write their packets.

The plain bytes of TLS connections are written as packets of TCP connections that are made up around them. Each piece
of plain bytes is a packet with the time of the one that brought it; what could not be decrypted is a gap.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from ...atomic import AtomicFile
from ...budget import Budget
from ...capture import Capture
from ...capture.frames import Dissectors, Frame, Frames, FrameWriter
from ...capture.keylog import KeyLog
from ...capture.packet import ACK, PSH, SYN, Packet
from ...capture.write import RAW_IP, TICK, CaptureWriter, MadeUp
from ...errors import CaptureError, CaptureRefused
from ...exchanges.engine.classifier import Classifier
from ...exchanges.engine.engine import Tls
from ...exchanges.filters.filter_set import Filters
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...protocol.findings.amounts import count
from ...streams.tcp.connection import Connection
from ...streams.tcp.stream import NOBODY, Receiver
from ...streams.tcp.table import ConnectionTable
from ...views.reading import Named, chosen
from ...views.redact.streams import Direction
from . import REFUSED
from .output import Sink, Writer
from .runner import Choose, OpenFile, Runner

if TYPE_CHECKING:
    from ..tui.index import Start

Takes = Callable[[Packet, Direction], bool]
"""Says whether a packet is to be written."""
Write = Callable[[Frame], None]
Place: TypeAlias = tuple[int, bool, tuple[bool, int, int] | None]
"""A connection by its number, whether it is encrypted; of some packets, whether of a request, the first, the last."""


class Ends:
    """Remembers the connections of an engine: its `watch`. They are named by their first packets."""

    def __init__(self) -> None:
        self.clients: dict[int, tuple[int, bool]] = {}
        """By a connection's number: its first packet, and whether its initiator is the client."""

    def watch(self, connection: Connection, client: int | None) -> None:
        """Take note which end of a connection is the client."""
        if client is not None:
            self.clients[connection.number] = connection.first_packet, client == 0

    def halves(self, exchange: Exchange) -> Iterator[tuple[Direction, CapturedMessage]]:
        """Yield the messages of an exchange that were captured, each with the direction that it went in."""
        first, asks = self.clients[exchange.peers.number]
        for half, sent in ((exchange.request, asks), (exchange.response, not asks)):
            if half is not None:
                yield (first, sent), half


def packets(frames: Frames, dissectors: Dissectors | None = None) -> Iterator[tuple[Frame, Packet | None]]:
    """Yield every frame, with the TCP segment in it; or in the packet that it makes whole: see `Dissectors`."""
    dissectors = dissectors or Dissectors()
    for frame in frames:
        yield frame, dissectors.packet(frame)


def is_pcapng(name: str, otherwise: bool) -> bool:
    """Return whether a file of this name is to be pcapng, or pcap; what its name does not say, `otherwise` does."""
    lower = name.lower()
    return lower.endswith((".pcapng", ".ntar")) or (otherwise and not lower.endswith((".pcap", ".cap")))


def refuse_same(source: str, target: str) -> None:
    """Raise `CaptureRefused` where a capture would be written over itself."""
    if os.path.exists(source) and os.path.exists(target) and os.path.samefile(source, target):  # noqa: PTH110, PTH121
        raise CaptureRefused(target, "is also the input; choose another output file")


def nobody(connection: Connection) -> tuple[Receiver, Receiver]:
    """Return receivers that do nothing: the table is asked for places alone."""
    return NOBODY, NOBODY


def write_exchanges(target: str, exchanges: Iterable[tuple[Exchange, int]]) -> str:
    """Write exchanges, each with a number for its connection, as a capture; return what to say of it."""
    written = 0
    with AtomicFile(target, private=True) as output, CaptureWriter(output.partial, name=target) as writer:
        for exchange, connection in exchanges:
            written += 1
            _, client, broker, *_ = exchange.peers
            for half in (exchange.request, exchange.response):
                if half is not None:
                    data = len(half.data).to_bytes(4, "big") + half.data
                    writer.tap(client, broker, half is exchange.request, data, half.first_time, connection)
    return f"wrote {count(written, 'exchange')} to {target}"


class WantedPackets(Sink):
    """Which packets of a capture are wanted: all of the connections of the wanted exchanges, or, not `whole`, some."""

    def __init__(self, runner: Runner, *, whole: bool) -> None:
        self._runner, self._whole = runner, whole
        self.ends, self.encrypted = Ends(), set[int]()
        self._connections = set[int]()
        self._numbers: dict[Direction, set[int]] = defaultdict(set)

    def show(self, exchanges: Sequence[Exchange]) -> None:
        """Take exchanges."""
        self.take(self.make(exchanges, len))

    def make(self, exchanges: Sequence[Exchange], show: Callable[[bytes], Any]) -> set[Place]:
        """Return where exchanges are."""
        self._runner.findings.take(exchanges)
        return {
            (one.peers.number, one.peers.tls is not None,
             None if self._whole else (half is one.request, half.first_packet, half.last_packet))
            for one in exchanges for half in (one.request, one.response) if half is not None
        }  # fmt: skip

    def take(self, result: set[Place]) -> None:
        """Take where exchanges are."""
        for number, is_encrypted, packets in result:
            first_packet, asks = self.ends.clients[number]
            self._connections.add(first_packet)
            if is_encrypted:
                self.encrypted.add(first_packet)
            if packets is not None:
                first, last = sorted(packets[1:])
                self._numbers[first_packet, packets[0] == asks].update(range(first, last + 1))

    def takes(self, packet: Packet, direction: Direction) -> bool:
        """Return whether a packet of a connection is wanted."""
        if self._whole or packet[5] & SYN:
            return direction[0] in self._connections
        return bool(packet[7]) and packet[0] in self._numbers.get(direction, ())


class PacketExport:
    """Writes what is wanted of captures to a file: every packet of the connections in which a wanted exchange is.

    Or, not `whole`, the packets that hold the messages, those sent again in between too, and their connections'
    handshakes: these tell who the client is, and where the sequence numbers begin. `written` counts packets.
    """

    out: FrameWriter
    written: int = 0

    def __init__(self, runner: Runner, target: str, *, whole: bool, tls_plain: bool = False) -> None:
        self._runner, self._target, self._whole, self._tls_plain = runner, target, whole, tls_plain

    def write(self, files: Sequence[str], choose: Choose | None = None) -> None:
        """Write the file; end the command where it would lack what could not be read."""
        runner = self._runner
        for source in files:
            refuse_same(source, self._target)
        with AtomicFile(self._target, private=True) as output:
            with FrameWriter(output, pcapng=is_pcapng(self._target, otherwise=True)) as self.out:
                for file in runner.open(files, choose):
                    with file:
                        self._read(file)
                what = f"{count(self.written, 'packet')} written" if runner.is_complete else "nothing written"
                runner.close(runner.closing(what, selected="selected"))
            runner.end_unless_complete()

    def _read(self, file: OpenFile) -> None:
        """Find the wanted exchanges of a capture, then write their packets."""
        capture, runner = file.capture, self._runner
        if capture.source.pipe is not None:
            raise CaptureError(capture.name, "a pipe, which export cannot read twice", "save it to a file first")
        refuse_same(capture.name, self._target)
        assert isinstance(capture, Capture), "logs are refused"
        wanted = WantedPackets(runner, whole=self._whole)
        with runner.drive(file, met=wanted.ends.watch, counted=True) as drive:
            runner.show(file, drive, wanted)
        takes, encrypted = wanted.takes, wanted.encrypted
        if encrypted and not self._tls_plain:
            runner.say(f"{count(len(encrypted), 'TLS connection')} exported encrypted; use --tls-plain for plaintext")
        plain = Decrypting(encrypted if self._tls_plain else (), capture.keys, takes, self._add)
        table, dissectors = ConnectionTable(plain.accept), Dissectors()
        with Frames(capture.name) as frames:
            for frame, packet in packets(frames, dissectors):
                if packet is None:
                    continue
                table.receive(packet)
                found = table.place(packet)
                if found is None or found[0].first_packet in plain.first_packets:
                    continue
                if takes(packet, (found[0].first_packet, found[1] is found[0].sent)):
                    for each in [piece.frame for piece in dissectors.pieces] or [frame]:
                        self._add(each)
            table.close()
        if dissectors.lost:
            runner.say(f"{count(dissectors.lost, 'IP fragment')} dropped: their connection is unknown")

    def _add(self, frame: Frame) -> None:
        """Write a packet."""
        self.out.add(frame)
        self.written += 1


def export_marked(
    files: Sequence[str], filters: Filters, spool: int, start: Start, target: str, wanted: Mapping[int, Sequence[int]]
) -> Iterator[str]:
    """Write what was marked on the screen of `kdbg browse`: exchanges by their numbers; yield what to say of it."""
    numbers = {files[file]: marked for file, marked in wanted.items()}
    said = list[str]()

    def choose(file: str) -> tuple[Named, Filters]:
        name, others = chosen(file, filters)
        return name, others.but(exchange=numbers[file])

    runner = Runner(filters, Writer(live=False), fails=False, say=said.append)
    export = PacketExport(runner, target, whole=False)
    with suppress(click.exceptions.Exit):  # it said why
        export.write([files[file] for file in wanted], choose)
    yield f"wrote {count(export.written, 'packet')} to {target}" if runner.status != REFUSED else "; ".join(said)


class PlainTalk:
    """One connection: its sides take the plain bytes, `write` what is to be written of them."""

    def __init__(self, tls: Tls, takes: Takes, write: Write) -> None:
        ends = tls.initiator, tls.acceptor
        self.made = MadeUp(ends[tls.client], ends[1 - tls.client], first=tls.tcp.start // TICK)
        self._first, self._takes, self._write = tls.first_packet, takes, write
        self._open, self._left = False, 2
        self.sides = PlainSide(self, tls.client, sent=True), PlainSide(self, 1 - tls.client, sent=False)

    def data(self, side: PlainSide, payload: bytes, time: int, number: int) -> None:
        """Write a packet with these bytes, after the handshake if they are the first."""
        if not self._open:
            self._open = True
            self._packets(side, SYN, b"", time, number, self.made.opening())
        if self._is_selected(side, PSH | ACK, payload, time, number):
            made = (head + body for head, body in self.made.parted(side.end_of, payload))
            self._packets(side, PSH | ACK, payload, time, number, made)
        else:
            self.made.pass_over(side.end_of, len(payload))

    def end(self, side: PlainSide, time: int, number: int) -> None:
        """Hang up, once both sides have."""
        self._left -= 1
        if not self._left and self._open:
            self._packets(side, SYN, b"", time, number, self.made.ending())

    def _packets(
        self, side: PlainSide, flags: int, payload: bytes, time: int, number: int, made: Iterable[bytes]
    ) -> None:
        if self._is_selected(side, flags, payload, time, number):
            for data in made:
                self._write(Frame(number, time, RAW_IP, data, len(data)))

    def _is_selected(self, side: PlainSide, flags: int, payload: bytes, time: int, number: int) -> bool:
        return self._takes((number, time, b"", 0, 0, flags, payload, len(payload)), (self._first, side.sent))


class PlainSide:
    """A tcp.Receiver of the plain bytes of one direction."""

    def __init__(self, talk: PlainTalk, end_of: int, *, sent: bool) -> None:
        self.end_of = end_of
        self.sent = sent
        self._talk = talk

    def data(self, payload: bytes, time: int, number: int) -> None:
        self._talk.data(self, payload, time, number)

    def gap(self, length: int, time: int, number: int) -> None:
        self._talk.made.pass_over(self.end_of, length)

    def end(self, time: int, number: int) -> None:
        self._talk.end(self, time, number)


class Decrypting:
    """Decrypts the connections with these first packets; `accept` says who takes their bytes, as a Table asks."""

    def __init__(self, first_packets: Iterable[int], keys: KeyLog, takes: Takes, write: Write) -> None:
        self.first_packets = frozenset(first_packets)
        self._keys, self._budget = keys, Budget()
        self._takes, self._write = takes, write

    def accept(self, connection: Connection) -> tuple[Receiver, Receiver]:
        """Return the receivers of a connection's directions."""
        if connection.first_packet not in self.first_packets:
            return NOBODY, NOBODY

        def plain(tls: Tls) -> None:
            sent, answered = PlainTalk(tls, self._takes, self._write).sides
            tls.sent.attach(sent)
            tls.answered.attach(answered)

        def decrypt(connection: Connection, classifier: Classifier) -> None:
            Tls(connection, classifier, self._keys, plain, _ignore).take_over(classifier)

        return Classifier(connection, self._budget, _ignore, _ignore, decrypt).sides


def _ignore(*what: object) -> None:
    """Do nothing: a connection that was decrypted once speaks TLS, and has keys."""
