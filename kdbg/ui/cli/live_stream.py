"""A stream of packets that is read while it comes: what `kdbg watch`, the proxy and their screens have in common.

    stream = LiveStream(runner, "lo", stop)
    stream.watch(pipe, lambda file: stream.write(file, output))   # until it ends; returns the exit status

The stream is a pcap or pcapng file without an end, such as `live.outflow` writes into a pipe. Exchanges are shown as
`kdbg decode -` shows them, as soon as they are complete; one of which more might come, a short time later, by the clock
on the wall. What was left out of the stream, because it came faster than it is shown, is said where it is missing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO

from ...analysis.ledgers.latency import Timed
from ...analysis.logs.log import ApplicationLog
from ...capture import Capture, Lost
from ...capture.source import open_source
from ...exchanges.engine.driver import Drive, Pairing
from ...exchanges.engine.engine import Engine
from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.peers import Process, endpoint
from ...protocol.findings.amounts import count
from ...streams.tcp.connection import Connection
from ...views.render.values import escape
from . import INTERRUPTED, drop_output
from .inputs import LOST
from .runner import Blocks, OpenFile, Runner, Through

if TYPE_CHECKING:
    from ...live.key_sources import KeySource
    from ...live.process_keys import ProcessKeys
    from ...live.socket_processes import Owners
    from .exchange_output import ExchangeOutput

PAUSE = 0.025
"""Seconds of silence after which what is complete is shown."""
SELDOM = 1.0
"""Seconds between two lines on what was left out."""
MOST = 1 << 16
"""Connections that are remembered."""
AGAIN = 3
"""How often it is looked for the processes of a connection that are not found."""


ENDING = (signal.SIGINT, signal.SIGTERM)


def hear_signals(*, hold: bool = False) -> None:
    """Have Ctrl-C and SIGTERM wait no longer; or `hold` them, until `LiveStream.signals` hears them.

    Whoever reads that a proxy listens may press Ctrl-C at once, while this process is still importing.
    """
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK if hold else signal.SIG_UNBLOCK, ENDING)


class LiveStream:
    """A stream of packets that a runner reads, called `name` in what is said about it.

    `stop` is called when the first Ctrl-C, or SIGTERM, comes: it has the stream end, of which all is shown that is in
    it by then. The second one ends at once, whatever is still to be shown. `processes` finds the processes at the ends
    of connections, None where nobody does.
    """

    def __init__(
        self,
        runner: Runner,
        name: str,
        stop: Callable[[], object] = lambda: None,
        processes: ProcessFilter | None = None,
    ) -> None:
        self.runner, self.name, self.stop, self.processes = runner, name, stop, processes
        self._stopped = False
        self._lost, self._lost_told = Lost(), -SELDOM

    def write(self, file: OpenFile, output: ExchangeOutput) -> None:
        """Show the exchanges of the stream, once it is open."""
        with self.drive(file, output) as drive:
            output.write(file, drive)

    def watch(
        self, stream: BinaryIO, read: Callable[[OpenFile], None], ended: Callable[[], object] = lambda: None
    ) -> int:
        """Have all of the stream read; print the closing line, and return the exit status.

        It must have a descriptor, and hold nothing back: `os.fdopen(fd, "rb", buffering=0)`. Raise `CaptureError` for
        one that ends before it has begun. `ended` is called before the closing line.
        """
        runner = self.runner
        with self.signals():
            try:
                with self.opened(stream) as file:
                    read(file)
            except KeyboardInterrupt:
                runner.status = INTERRUPTED
            if self._stopped:
                runner.status = INTERRUPTED
            ended()
            is_whole = all(runner.counts.get(noun) == 0 for noun in LOST)  # which is said, too, if it is known
            runner.close([*runner.closing(), *["no packets lost"] * is_whole])
        return runner.status

    @contextmanager
    def opened(self, stream: BinaryIO) -> Iterator[OpenFile]:
        """Make a context with the stream as a file that is open."""
        with Capture(open_source(stream)) as capture:
            self.runner.files += 1
            yield OpenFile(self.runner, capture, self.name, name=self.name)

    def drive(
        self, file: OpenFile, output: ExchangeOutput | None = None, *, through: Through | None = None,
        hear: Callable[[Exchange], None] | None = None,
    ) -> AbstractContextManager[Drive]:  # fmt: skip
        """Make a context with what drives the stream through an engine, for an output: see `Runner.drive`."""
        return self.runner.drive(
            file,
            blocks=partial(self._blocks, file.capture),
            through=through,
            met=self.processes.met if self.processes is not None else None,
            wants=self.processes.wants if self.processes is not None and self.processes.owners.narrowed else None,
            hear=hear,
            attempts=output.attempts() if output is not None else None,
            counted=output is not None,
        )

    def _blocks(self, capture: Capture | ApplicationLog, engine: Pairing) -> Blocks:
        """Yield the packets, and say what is odd about connections, and missing, as soon as it is known."""
        runner, processes = self.runner, self.processes
        keys = processes.keys_of(engine) if processes is not None else None
        for packets in capture.blocks(pause=PAUSE, singly=runner.left is not None):
            yield packets
            while keys is not None and keys.is_busy:
                if keys.look():
                    yield []
                elif packets or not (isinstance(capture, Capture) and capture.source.is_silent(PAUSE)):
                    break
            if engine.findings:
                runner.tell(engine, self.name)
            lost = capture.lost
            if lost is not None and lost != self._lost and monotonic() - self._lost_told >= SELDOM:
                for noun, missing in lost._asdict().items():
                    if more := missing - self._lost._asdict()[noun]:
                        what = f"{count(more, 'packet')} {LOST[noun]}"
                        runner.say(f"{self.name}: {what}: they arrived faster than kdbg processed them")
                self._lost, self._lost_told = lost, monotonic()
            if runner.outlet is not None:
                runner.outlet.tick(idle=not packets)
            if processes is not None:
                processes.look(idle=not packets)
        if keys is not None:
            keys.finish()
            if keys.opened or keys.closed:
                runner.say(f"TLS keys found for {keys.opened} of {count(keys.opened + keys.closed, 'connection')}")

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Make a context in which Ctrl-C and SIGTERM are heard as the class says; in a thread they are not."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = [signal.signal(number, self._hear) for number in ENDING]
        hear_signals()
        try:
            yield
        finally:
            for each, was in zip(ENDING, before, strict=True):
                signal.signal(each, was)

    def _hear(self, number: int, frame: Any) -> None:
        if not self._stopped:
            self._stopped = True
            self.stop()
        else:
            drop_output()  # which may be what does not take any more
            raise KeyboardInterrupt


class ProcessFilter:
    """Finds the processes at the ends of connections, and tells `say` of them; `wants` is a filter of exchanges.

    `keys` gets the lines of TLS keys that are found in the memory of processes, and those of `sources`. A connection is
    looked up when it proves to be Kafka, by which time its broker has accepted it.
    """

    def __init__(
        self, owners: Owners, say: Callable[[str], None], keys: Callable[[str], object] | None = None,
        sources: Sequence[KeySource] = (),
    ) -> None:  # fmt: skip
        self.owners, self.say, self._sources = owners, say, sources
        self._lines = keys
        self._keys: ProcessKeys | None = None
        self._proves = False
        """Whether all that is decrypted is the processes' own."""
        self._found: dict[int, tuple[Process | None, Process | None] | None] = {}
        self._waiting: list[tuple[Connection, int, int]] = []

    def keys_of(self, engine: Pairing) -> ProcessKeys | None:
        """Have an engine use the TLS keys in the memory of the processes that are wanted; None for any process."""
        engine = engine.engine if isinstance(engine, Timed) else engine
        if not self.owners.narrowed or not isinstance(engine, Engine):
            return None
        from ...live.process_keys import ProcessKeys

        self._keys = ProcessKeys(lambda: list(self.owners.processes()), self.say, self._lines, self._sources)
        self._proves = bool(self._sources) and not engine.keys
        self._keys.log, engine.keys = engine.keys, self._keys
        return self._keys

    def met(self, connection: Connection, client: int | None) -> None:
        """Take notice of a connection once it is Kafka; `client` is 0 if its initiator sends the requests, else 1."""
        if client is None:
            return
        while len(self._found) >= MOST:
            del self._found[next(iter(self._found))]
        self._found[connection.number] = None
        if len(self._waiting) < MOST:
            self._waiting.append((connection, client, AGAIN))
        self.look()

    def look(self, *, idle: bool = False) -> None:
        """Find the processes of connections that wait for it, unless it was looked a moment ago; `idle`: even then."""
        if not self._waiting or not self.owners.look(at_once=idle):
            return
        waiting, self._waiting = self._waiting, []
        for connection, client, tries in waiting:
            ends = [connection.initiator, connection.acceptor]
            if client:
                ends.reverse()
            found = self.owners.find(ends[0], ends[1]), self.owners.find(ends[1], ends[0])
            if any(found):
                self._found[connection.number] = found
                from ...live.socket_processes import process_text

                said = [
                    endpoint(end) + ("" if owner is None else f" {escape(process_text(owner))}")
                    for end, owner in zip(ends, found, strict=True)
                ]
                self.say(f"c{connection.number}: {said[0]} → {said[1]}")
            elif tries > 1:
                self._waiting.append((connection, client, tries - 1))

    def name(self, exchanges: Sequence[Exchange]) -> None:
        """Note in exchanges which processes are at the ends of their connections, as far as that is known."""
        for exchange in exchanges:
            found = self._found.get(exchange.peers.number)
            if found is not None:
                exchange.peers = exchange.peers._replace(processes=found)

    def wants(self, exchange: Exchange) -> bool:
        """Return whether an exchange is one of the processes that are wanted."""
        client, broker = exchange.peers.client, exchange.peers.broker
        return (
            not self.owners.narrowed
            or self._found.get(exchange.peers.number) is not None
            or (self._keys is not None and self._keys.owns(client, broker))
            or (self._proves and exchange.peers.tls is not None)  # it was closed before its process was looked for
        )
