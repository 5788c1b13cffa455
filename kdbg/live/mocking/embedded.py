"""A mock in a thread of this process, for programs and tests: started, used, asked what it could not answer, closed."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...budget import MEMORY
from ...errors import CaptureError, InputError
from ...library import read_capture
from ..client.settings import show
from ..listeners import Address, Listening
from ..recording import Recorded
from ..threads import LoopThread
from .recording import NOTHING, Recording
from .serve import Mock

if TYPE_CHECKING:
    from ...views.reading.exchange import Exchange

MOST_PROBLEMS = 10_000
"""Lines of `problems` that are kept."""


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
    return RunningMock(recording.order(names), list(brokers), Listening(*listen))


class RunningMock:
    """A mock of brokers, as a context manager; see `kdbg.mock`.

    `address` is what clients take as bootstrap.servers. `problems` says what is wrong in requests and what a broker
    does then, which the mock does too. `unanswered` says what the captures had no answer to, `answered` counts the
    requests that were answered.
    """

    address: str
    problems: list[str]
    unanswered: list[str]

    def __init__(self, recording: Recording, brokers: list[Address], listening: Listening) -> None:
        self.address, self.problems, self.unanswered = "", [], []
        self._recorded = Recorded()
        self._recording, self._brokers, self._listening = recording, brokers, listening
        self._thread = LoopThread("kdbg mock")
        self._mock: Mock | None = None
        self._answered = 0

    @property
    def answered(self) -> int:
        """The requests that were answered so far."""
        return self._mock.answers.answered if self._mock is not None else self._answered

    @property
    def capture(self) -> bytes:
        """All that was said so far, as a pcap file."""
        return self._recorded.capture

    def exchanges(self, **filters: Any) -> list[Exchange]:
        """Return what was said so far, with the filters of `kdbg.read`."""
        return self._recorded.exchanges(**filters)

    def start(self) -> RunningMock:
        """Begin to listen; raise `InputError` where that cannot be."""
        self._thread.start()
        try:
            self.address = self._thread.do(self._listen())
        except InputError:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End all connections, and the thread."""
        self._answered = self.answered
        mock, self._mock = self._mock, None
        if mock is not None:
            self._thread.do(mock.close())
        self._thread.close()

    def __enter__(self) -> RunningMock:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    async def _listen(self) -> str:
        self._mock = Mock(self._recording, self._listening, tap=self._recorded, tell=self._note)
        self._mock.answers.say = self.unanswered.append
        return ",".join(map(show, self._mock.listen(self._brokers)))

    def _note(self, line: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(line)
