"""A proxy or a mock in a thread of this process, for programs and tests: started, used, asked what it saw, closed."""

from __future__ import annotations

import asyncio
import io
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from ..budget import MEMORY
from ..capture.packet import Endpoint
from ..capture.pcap import file_header, packet_record
from ..capture.write import RAW_IP, Buffer, Talks
from ..errors import CaptureError, InputError
from ..library import read_capture
from .client.settings import Settings, addresses, show
from .faults import Applied, Faults
from .listeners import Address, Listening
from .mocking.answers import Answers
from .mocking.recording import NOTHING, Recording
from .mocking.serve import Mock
from .proxy import Proxy

if TYPE_CHECKING:
    from ..views.reading.exchange import Exchange

STARTED = 10.0
"""Seconds that starting and closing may take; they take milliseconds."""
MOST_PROBLEMS = 10_000
"""Lines of `problems` that are kept."""


class LoopThread:
    """An event loop in a thread: runs coroutines from `start` to `close`."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    def start(self) -> None:
        """Begin to run."""
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return what a coroutine returns, or raise what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(STARTED)

    def close(self) -> None:
        """End the loop, with all that it is still at, and the thread."""

        async def settle() -> None:
            """Give up what is left, such as a connection just accepted, and let the loop close its sockets."""
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            await asyncio.sleep(0.01)

        if self._thread.is_alive():
            self.do(settle())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STARTED)
            self._loop.close()


class Recorded:
    """What a proxy or a mock relayed, as a pcap file in memory, and the exchanges in it."""

    def __init__(self) -> None:
        self._talks, self._data = Talks(), bytearray(file_header(RAW_IP))
        self._lock = threading.Lock()

    def tap(
        self, client: Endpoint, broker: Endpoint, from_client: bool, data: Buffer, time_ns: int, connection: int
    ) -> None:
        """Take bytes that went over a connection."""
        self._add(self._talks.packets(client, broker, from_client, data, time_ns, connection), time_ns)

    def ended(self, client: Endpoint, broker: Endpoint, time_ns: int, connection: int) -> None:
        """Take note that a connection has ended."""
        self._add(self._talks.ended(client, broker, connection), time_ns)

    @property
    def capture(self) -> bytes:
        """The file so far."""
        with self._lock:
            return bytes(self._data)

    def _add(self, packets: Iterator[bytes], time_ns: int) -> None:
        with self._lock:
            for packet in packets:
                self._data += packet_record(time_ns, packet)

    def exchanges(self, **filters: Any) -> list[Exchange]:
        """Return the exchanges so far, with the filters of `kdbg.read`."""
        with read_capture(io.BytesIO(self.capture), **filters) as reading:
            return list(reading)


class RunningServer(ABC):
    """A proxy or a mock in a thread, as a context manager that listens inside.

    `address` is what clients take as bootstrap.servers.
    """

    def __init__(self, name: str, listen: Address) -> None:
        self.address: str = ""
        self._recorded, self._thread = Recorded(), LoopThread(name)
        self._listening = Listening(*listen)
        self._server: Proxy | Mock | None = None

    @property
    def capture(self) -> bytes:
        """All that was said so far, as a pcap file."""
        return self._recorded.capture

    def exchanges(self, **filters: Any) -> list[Exchange]:
        """Return what was said so far, with the filters of `kdbg.read`."""
        return self._recorded.exchanges(**filters)

    def start(self) -> Self:
        """Begin to listen; raise `InputError` where that cannot be."""
        self._thread.start()
        try:
            self.address = ",".join(map(show, self._thread.do(self._listen())))
        except InputError:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End all connections, and the thread."""
        server, self._server = self._server, None
        if server is not None:
            self._thread.do(server.close())
        self._thread.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    async def _listen(self) -> list[Address]:
        """Make the server, and return where it listens."""


def proxy(
    brokers: str, *, faults: Iterable[str] = (), seed: int | None = None, listen: Address = ("127.0.0.1", 0),
    keep_addresses: bool = False,
) -> RunningProxy:  # fmt: skip
    """Make a proxy before a cluster, in a thread of this process: a context manager, listening while it is entered.

    `brokers` is `host:port`, several with commas between. Clients take its `address` as bootstrap.servers; the
    addresses that brokers tell them are rewritten, unless `keep_addresses`, so that they stay inside. `faults` are
    rules as `kdbg proxy --fault` takes them; `seed` makes their chances the same again. `exchanges(**filters)` returns
    what was said so far, `applied` are the faults that were done.

    Raises `InputError` for what is no address or no rule, and where `listen` cannot be listened on.
    """
    return RunningProxy(addresses(brokers), faults, seed, listen=listen, change=not keep_addresses)


class RunningProxy(RunningServer):
    """A proxy before a cluster, as a context manager; see `kdbg.proxy`.

    `address` is what clients take as bootstrap.servers. `applied` are the faults that were done so far, `seed` makes
    their chances the same again. `said` are lines that a person would be shown.
    """

    def __init__(
        self, brokers: list[Address], faults: Iterable[str], seed: int | None, *, listen: Address, change: bool
    ) -> None:
        self.applied: list[Applied] = []
        self.said: list[str] = []
        self._rules = Faults(list(faults), seed=seed, tell=self.applied.append)
        super().__init__("kdbg proxy", listen)  # makes an event loop, which a wrong rule would leave open
        self._brokers, self._change = brokers, change
        self._told: Mapping[Address, Address] = {}

    @property
    def seed(self) -> int:
        """The seed of the faults' chances."""
        return self._rules.seed

    @property
    def addresses(self) -> dict[Address, Address]:
        """The brokers that were met so far, each with what clients are told in its place."""
        return dict(self._told)

    async def _listen(self) -> list[Address]:
        faults = self._rules if self._rules.rules else None
        self._server = made = Proxy(
            self._listening, Settings(), taps=(self._recorded,), change=self._change, faults=faults,
            say=self.said.append,
        )  # fmt: skip
        self._told = made.addresses.stand_ins
        return made.listen(self._brokers)


def mock(*captures: str | os.PathLike[str], listen: Address = ("127.0.0.1", 0), **filters: Any) -> RunningMock:
    """Make a mock of the brokers in captures, in a thread of this process: a context manager, listening inside.

    Clients take its `address` as bootstrap.servers, and are answered as the closest recorded request was; `filters`,
    those of `kdbg.read`, choose which are. `problems` are lines on mistakes in requests, `unanswered` on what the
    captures had no answer to; `exchanges(**filters)` returns what was said so far.

    Raises `CaptureError` for a capture that cannot be read or has no answers, `InputError` where `listen` cannot be
    listened on.
    """
    recording, brokers, names = Recording(MEMORY.connections), dict[Address, None](), dict[UUID, str]()
    for capture in captures:
        with read_capture(capture, **filters) as reading:
            for exchange in reading:
                recording.add(exchange)
                brokers[exchange.peers.broker] = None
            names.update(reading.topic_names)
    if not recording:
        raise CaptureError(", ".join(map(str, captures)), NOTHING)
    return RunningMock(recording.order(names), list(brokers), listen)


class RunningMock(RunningServer):
    """A mock of brokers, as a context manager; see `kdbg.mock`.

    `address` is what clients take as bootstrap.servers. `problems` says what is wrong in requests and what a broker
    does then, which the mock does too. `not_recorded` has a line for each request without a recorded response;
    `unanswered` is its former name. `answered` counts the requests that got a response.
    """

    def __init__(self, recording: Recording, brokers: list[Address], listen: Address) -> None:
        super().__init__("kdbg mock", listen)
        self.problems: list[str] = []
        self.not_recorded: list[str] = []
        self._recording, self._brokers = recording, brokers
        self._answers: Answers | None = None

    @property
    def unanswered(self) -> list[str]:
        """The former name of `not_recorded`."""
        return self.not_recorded

    @property
    def answered(self) -> int:
        """The requests that got a response so far."""
        return self._answers.answered if self._answers is not None else 0

    async def _listen(self) -> list[Address]:
        self._server = made = Mock(self._recording, self._listening, tap=self._recorded, tell=self._note)
        self._answers = made.answers
        made.answers.say = self.not_recorded.append
        return made.listen(self._brokers)

    def _note(self, line: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(line)
