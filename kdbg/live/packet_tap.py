"""What went through the proxy, as packets for whoever shows or saves them: a connection is never held up by that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence

from ..capture.packet import Endpoint
from ..capture.write import RAW_IP, Buffer, CaptureWriter, Talks
from ..errors import CaptureError
from .bounded_pipe import Outflow
from .session import Tap

LARGE = 1 << 14
"""Bytes from which on it costs less to give them to the pipe at once than to copy them."""


class Taps:
    """Several who are told of the same."""

    def __init__(self, taps: Sequence[Tap]) -> None:
        self._taps = taps

    def tap(
        self, client: Endpoint, broker: Endpoint, from_client: bool, data: Buffer, time_ns: int, connection: int
    ) -> None:
        """Tell all of bytes that went over a connection."""
        for one in self._taps:
            one.tap(client, broker, from_client, data, time_ns, connection)

    def ended(self, client: Endpoint, broker: Endpoint, time_ns: int, connection: int) -> None:
        """Tell all that a connection has ended."""
        for one in self._taps:
            one.ended(client, broker, time_ns, connection)


class SavingTap(CaptureWriter):
    """Writes a capture until the system takes no more, which it says once: connections go on."""

    failed: bool = False

    def __init__(self, path: str, say: Callable[[str], None]) -> None:
        super().__init__(path)
        self._say = say

    def _write(self, packets: Iterator[bytes], time_ns: int) -> None:
        try:
            super()._write(packets, time_ns)
        except CaptureError as error:
            self.failed = True
            self._say(f"{error}; kdbg does not save later packets")


class PipeTap:
    """Told of bytes as they go; gives packets to an outflow, which belongs to the event loop from then on."""

    def __init__(self, out: Outflow) -> None:
        self._out, self._talks = out, Talks(plain=True)
        self._loop = asyncio.get_running_loop()
        self._waits = self._soon = self._closed = False
        out.interface(RAW_IP, "proxy")
        self._pump()

    def tap(
        self, client: Endpoint, broker: Endpoint, from_client: bool, data: Buffer, time_ns: int, connection: int
    ) -> None:
        """Take note of bytes that went over a connection."""
        passed = client, broker, from_client, data, time_ns, connection
        if len(data) < LARGE:
            self._give(self._talks.packets(*passed), time_ns)
        elif not self._closed:
            self._out.borrow(0, time_ns, self._talks.parted(*passed))
            self._pump()

    def ended(self, client: Endpoint, broker: Endpoint, time_ns: int, connection: int) -> None:
        """Take note that a connection has ended."""
        self._give(self._talks.ended(client, broker, connection), time_ns)

    async def close(self, patience: float) -> int:
        """End all connections, and wait for the reader to take what is left, as long as it takes some of it.

        Return how many bytes are left of a reader that has taken none for `patience` seconds.
        """
        self._give(self._talks.all_ended(), time.time_ns())
        left, end = self._out.size, self._loop.time() + patience
        while (self._waits or self._soon) and self._loop.time() < end:
            await asyncio.sleep(0.01)
            if self._out.size < left:
                left, end = self._out.size, self._loop.time() + patience
        self._closed = True
        self._wait(False)
        return self._out.size

    def _give(self, packets: Iterator[bytes], time_ns: int) -> None:
        """Take packets; the pipe gets them as soon as the event loop has passed on what it has in hand."""
        if self._closed:
            return
        for packet in packets:
            self._out.packet(0, time_ns, packet, len(packet))
        if not (self._waits or self._soon):
            self._soon = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        """Write what the pipe takes, and what is missing by now; go on when it takes more."""
        self._soon = False
        if self._closed:
            return
        waits = self._out.pump()
        self._out.tell(time.time_ns())
        self._wait(waits or self._out.pump())

    def _wait(self, wanted: bool) -> None:
        if wanted != self._waits:
            self._waits = wanted
            if wanted:
                self._loop.add_writer(self._out.pipe, self._pump)
            else:
                self._loop.remove_writer(self._out.pipe)
