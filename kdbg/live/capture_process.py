"""The process that captures: packets of an interface go into files, and into a pipe to the process that shows them.

It waits only for the disk: while it is at work, the kernel keeps packets in a ring, and counts those that do not fit.
What is captured faster than it is shown waits in memory, then in temporary files. It ends when its line to the process
that began it is closed, for whatever reason.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from ..capture import frames
from ..capture.pcapng import Counted
from ..errors import CaptureError, KdbgError
from .bounded_pipe import LIMIT, Files, Outflow, Rotation
from .interface import ANY, HAND_OVER, OpenSocket, Ring, open_interface

AT_ONCE = 8
"""Blocks of the ring that are taken before the pipe is looked after."""
LAST = 3 * HAND_OVER
"""Milliseconds that are waited for the kernel's last block."""
PRIORITY = -10
"""The nice value of the capturing process, where the user may set it: the kernel's ring is not to fill up."""
COUNT_EVERY = 1.0
"""Seconds between two looks at what the kernel has dropped, while packets come."""


class CaptureOptions(NamedTuple):
    """What is to be captured: an interface or `ANY`, a filter, bytes of each packet, bytes of the kernel's ring."""

    interface: str
    expression: str
    snaplen: int
    buffer: int
    path: str | None = None
    """The file that is written."""
    rotation: Rotation | None = None


class CaptureOutcome(NamedTuple):
    """Packets captured, dropped by the kernel (None: not known), not handed on; the files that there are."""

    captured: int
    dropped: int | None
    unread: int
    files: list[str]
    problem: str = ""


def capture(wanted: CaptureOptions, packets: int, control: int, report: int) -> None:
    """Capture until `control` is closed; `packets` is the pipe to the reader.

    Two lines of JSON go to `report`: once all is opened, or cannot be, what the problem is; then a `CaptureOutcome`.
    """
    try:
        opened = open_interface(wanted.interface, wanted.expression, wanted.snaplen)
        files = None if wanted.path is None else Files(wanted.path, wanted.rotation)
        ring = Ring(opened.socket, wanted.buffer, ethernet=opened.link == 1)
    except (KdbgError, OSError) as error:
        tell(report, {"problem": str(error)})
        return
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    Capturing(wanted.interface, opened, ring, Outflow(packets, disk=LIMIT), files, control).run(report)


def tell(report: int, said: dict[str, Any]) -> None:
    """Write a line to whoever began this, if they are still there."""
    with suppress(BrokenPipeError):
        os.write(report, json.dumps(said).encode() + b"\n")


class PacketOutput:
    """Hands packets on, to the reader of an outflow and into files, until `control` is closed.

    `now` is the time of the latest packet.
    """

    now: int = 0
    problem: str = ""
    dropped: int | None = None
    """Packets that the kernel dropped; None if unknown."""

    def __init__(self, outflow: Outflow, files: Files | None, control: int) -> None:
        self.outflow = outflow
        self.files = files
        self.control = control
        self._numbers: dict[int, int] = {}
        if files is not None:
            files.head(frames.section())

    def run(self, report: int) -> None:
        """Hand packets on until it is over, end the files, wait for the reader, and report what came of it."""
        tell(report, {"problem": ""})
        for step in (self.until_over, self.end_files):
            try:
                step()
            except KdbgError as error:
                self.problem = str(error)
        self.outflow.drain(self.now)
        tell(report, self.outcome()._asdict())

    def until_over(self) -> None:
        """Hand on all packets; raise `CaptureError` where a file cannot be written."""
        raise NotImplementedError

    def end_files(self) -> None:
        """End the files."""
        if self.files is not None:
            self.files.close()

    def hand_on(self, interface: int, time: int, data: bytes, sent: int) -> None:
        """Hand on a packet; its interface is described before the first."""
        number = self._numbers.get(interface)
        if number is None:
            number = self.number(interface)
        self.now = time
        block = frames.enhanced(number, time, data, sent)
        if self.files is not None:
            self.files.add(block)
        self.outflow.block(block)

    def number(self, interface: int) -> int:
        """Describe an interface that has no number yet, and return its number."""
        described = self.description(interface)
        self.outflow.add(described)
        if self.files is not None:
            self.files.head(described)
        return self._numbers.setdefault(interface, len(self._numbers))

    def description(self, interface: int) -> bytes:
        """Return the block that describes an interface."""
        raise NotImplementedError

    def outcome(self) -> CaptureOutcome:
        """Return what came of it."""
        names = [str(name) for name in self.files.names] if self.files is not None else []
        return CaptureOutcome(self.outflow.captured, self.dropped, self.outflow.unread, names, self.problem)


class Capturing(PacketOutput):
    """Takes packets out of a ring, and hands them on."""

    def __init__(
        self, name: str, opened: OpenSocket, ring: Ring, outflow: Outflow, files: Files | None, control: int
    ) -> None:
        super().__init__(outflow, files, control)
        self.name = name
        self.opened = opened
        self.ring = ring
        self.now, self.dropped = time.time_ns(), 0
        self._counted = 0.0
        if name != ANY:
            self.number(socket.if_nametoindex(name))

    def until_over(self) -> None:
        """Hand packets on until `control` is closed, or the reader has gone; then what the kernel still has."""
        waiting, pumping = select.poll(), False
        waiting.register(self.opened.socket, select.POLLIN)
        waiting.register(self.control, select.POLLIN)
        waiting.register(self.outflow.pipe, 0)  # which tells when the reader has gone
        while True:
            ready = dict(waiting.poll())
            if self.opened.socket.fileno() in ready:
                self.take(AT_ONCE)
            if (left := self.outflow.pump()) != pumping:
                pumping = left
                waiting.register(self.outflow.pipe, select.POLLOUT if left else 0)
            if self.control in ready or self.outflow.closed or ready.get(self.outflow.pipe, 0) & select.POLLERR:
                break
        last = select.poll()
        last.register(self.opened.socket, select.POLLIN)
        while last.poll(LAST) and self.take(AT_ONCE):
            self.outflow.pump()
        self._look_after(at_once=True)

    def end_files(self) -> None:
        """Write what was counted, and end the files."""
        flow = self.outflow
        if self.files is not None and not self.problem:
            counted = Counted(flow.dropped, flow.captured + flow.dropped, flow.captured)
            self.files.add(frames.statistics(0, self.now, counted))
        super().end_files()

    def take(self, most: int) -> bool:
        """Hand on the packets of the next blocks of the ring; return whether there were any."""
        handed = False
        for _ in range(most):
            batch = self.ring.take()
            if batch is None:
                break
            handed = True
            for packet in batch:
                self.hand_on(packet.interface, packet.time, packet.data, packet.sent)
        if handed and self.files is not None:
            self.files.flush()
        self._look_after()
        return handed

    def description(self, interface: int) -> bytes:
        try:
            name = socket.if_indextoname(interface)
        except OSError:  # it has gone since
            name = ""
        return frames.interface(self.opened.link, name)

    def _look_after(self, *, at_once: bool = False) -> None:
        """Tell the reader what is missing."""
        if at_once or time.monotonic() - self._counted >= COUNT_EVERY:
            self.outflow.dropped = self.dropped = self.ring.count()
            self._counted = time.monotonic()
        self.outflow.tell(self.now)


Work: TypeAlias = Callable[[int, int, int], None]
"""`capturing.capture` or `remote.relay`, but for the descriptors: of packets, of control, of what is reported."""


class CaptureProcess:
    """A context manager that captures, from when it is entered. `stream` is a pcapng file as long as it lasts.

    Raise `CaptureError` about `name` where that is not possible. `stop` has the stream end, with all that was captured
    until then.
    """

    stream: BinaryIO

    def __init__(self, name: str, work: Work) -> None:
        self.name = name
        self.work = work
        self._control: int | None = None

    def __enter__(self) -> CaptureProcess:
        packets, control, report = os.pipe(), os.pipe(), os.pipe()
        self._process = os.fork()
        if not self._process:  # it hears no signal that is meant for who shows
            status = 1
            try:
                for mine in (packets[0], control[1], report[0]):
                    os.close(mine)
                for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
                    signal.signal(each, signal.SIG_IGN)
                self.work(packets[1], control[0], report[1])
                status = 0
            except BaseException:  # nothing else would show it
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(status)
        for other in (packets[1], control[0], report[1]):
            os.close(other)
        self._control = control[1]
        self.stream = os.fdopen(packets[0], "rb", buffering=0)
        self._report = os.fdopen(report[0], "rb")
        try:
            line = self._report.readline()
            if problem := json.loads(line)["problem"] if line else "the capture process ended":
                raise CaptureError(self.name, problem.removeprefix(f"{self.name}: "))
        except BaseException:
            self.__exit__()
            raise
        return self

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

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.stream.close()
        self._report.read()  # until it has ended
        self._report.close()
        with suppress(ChildProcessError):
            os.waitpid(self._process, 0)
