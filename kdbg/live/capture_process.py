"""A process of its own that captures: what it hands on is a stream to read."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import BinaryIO, NoReturn, TypeAlias

from kdbg.errors import CaptureError
from kdbg.live.capture_child import CaptureOutcome

Work: TypeAlias = Callable[[int, int, int], None]
"""`capturing.capture` or `remote.relay`, but for the descriptors: of packets, of control, of what is reported."""


class CaptureProcess:
    """A context manager that captures, from when it is entered. `stream` is a pcapng file as long as it lasts.

    Raise `CaptureError` about `name` where that is not possible. `stop` has the stream end, with all that was captured
    until then.
    """

    stream: BinaryIO
    name: str
    work: Work

    def __init__(self, name: str, work: Work) -> None:
        self.name, self.work = name, work
        self._control: int | None = None

    def __enter__(self) -> CaptureProcess:
        packets, control, report = os.pipe(), os.pipe(), os.pipe()
        self._process = os.fork()
        if not self._process:
            for mine in (packets[0], control[1], report[0]):
                os.close(mine)
            _capture_in_child(self.work, packets[1], control[0], report[1])
        for other in (packets[1], control[0], report[1]):
            os.close(other)
        self._control = control[1]
        self.stream = os.fdopen(packets[0], "rb", buffering=0)
        self._report = os.fdopen(report[0], "rb")
        try:
            self._begin()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _begin(self) -> None:
        """Wait until it captures."""
        line = self._report.readline()
        if problem := json.loads(line)["problem"] if line else "the capture process ended":
            raise CaptureError(self.name, problem.removeprefix(f"{self.name}: "))

    def stop(self) -> None:
        """Capture no more. May be called more than once, also while a signal is handled."""
        control, self._control = self._control, None
        if control is not None:
            os.close(control)

    def finish(self) -> CaptureOutcome:
        """Stop, let go of the stream, whatever is still in it, and return what came of it."""
        self.stop()
        self.stream.close()
        line = self._report.readline()
        if not line:
            return CaptureOutcome(0, None, 0, [], "the capture process failed")
        return CaptureOutcome(**json.loads(line))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.stream.close()
        self._report.read()  # until it has ended
        self._report.close()
        with suppress(ChildProcessError):
            os.waitpid(self._process, 0)


def _capture_in_child(work: Work, packets: int, control: int, report: int) -> NoReturn:
    """Capture in this process, which ends behind it, and hears no signal that is meant for who shows."""
    status = 1
    try:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(each, signal.SIG_IGN)
        work(packets, control, report)
        status = 0
    except BaseException:  # nothing else would show it
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)
