"""Between the process that relays and the one with the screen: what is held goes one way, what becomes of it the other.

Both ends belong to one run of kdbg. The relay never waits for the screen: what does not fit in between is not held.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias, cast

from ..exchanges.filters.filter_set import Filters
from ..protocol.wire.language.api import Direction
from .addresses import Address
from .faults import Applied
from .holds import BOTH, Desk, Held

End: TypeAlias = socket.socket
"""An end of a channel."""
SIZE = struct.Struct("<I")
MOST = 64 << 20
"""Bytes of held messages that wait for the screen to take them, at most."""


def channel() -> tuple[End, End]:
    """Return the two ends: the screen's, and the relay's."""
    return socket.socketpair()


class Office(asyncio.Protocol):
    """The relay's end: tells the screen what is held, and does with it what the screen asks for."""

    desk: Desk

    def __init__(self, done: Callable[[Applied], None]) -> None:
        self.desk = Desk(self)
        self._done = done
        self._transport: asyncio.Transport | None = None
        self._taken = bytearray()

    async def open(self, end: End) -> None:
        """Take this end of a channel."""
        await asyncio.get_running_loop().create_connection(lambda: self, sock=end)

    def close(self) -> None:
        """Let go of the channel."""
        if self._transport is not None:
            self._transport.close()

    # What the desk tells

    def held(self, held: Held) -> bool:
        transport = self._transport
        if transport is None or transport.is_closing() or transport.get_write_buffer_size() > MOST:
            return False
        self._write(held)
        return True

    def gone(self, number: int) -> None:
        self._write(number)

    def done(self, applied: Applied) -> None:
        self._done(applied)

    # What the screen asks for

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Hold nothing without a screen: what is held goes on."""
        self._transport = None
        self.desk.want(None)
        for number in list(self.desk.held):
            self.desk.resume(number)

    def data_received(self, data: bytes) -> None:
        self._taken += data
        while len(self._taken) >= SIZE.size:
            end = SIZE.size + SIZE.unpack_from(self._taken)[0]
            if len(self._taken) < end:
                return
            name, *given = pickle.loads(self._taken[SIZE.size : end])  # what this program wrote
            del self._taken[:end]
            self._do(name, given)

    def _do(self, name: str, given: list[Any]) -> None:
        if name == "want":
            self.desk.want(*given)
        elif name == "resume":
            self.desk.resume(*given)
        elif name == "drop":
            self.desk.drop(*given)
        elif not self.desk.repeat(*given):
            self._write(
                "the connection of this exchange is closed; press u to copy a command that sends the request again"
            )

    def _write(self, what: Held | int | str) -> None:
        if self._transport is not None and not self._transport.is_closing():
            data = pickle.dumps(what)
            self._transport.write(SIZE.pack(len(data)) + data)


class Hand:
    """The screen's end: `hear` is called, in a thread, with what is held, the number of what is gone, or a line."""

    def __init__(self, end: End) -> None:
        self._end = end
        self._thread: threading.Thread | None = None

    def listen(self, hear: Callable[[Held | int | str], None]) -> None:
        """Take what comes."""
        self._thread = threading.Thread(target=self._take, args=(hear,), daemon=True)
        self._thread.start()

    def want(self, filters: Filters | None, sides: frozenset[Direction] = BOTH) -> None:
        """Have messages held that fit; None for no more."""
        self._ask("want", filters, sides)

    def resume(self, number: int, data: bytes | None = None) -> None:
        """Have a message passed on, with other bytes if any are given."""
        self._ask("resume", number, data)

    def drop(self, number: int) -> None:
        """Have a message dropped."""
        self._ask("drop", number)

    def repeat(self, client: Address, data: bytes) -> None:
        """Have a request sent once more."""
        self._ask("repeat", client, data)

    def close(self) -> None:
        """Let go of the channel: what is held goes on."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        if self._thread is not None:
            self._thread.join()
        self._end.close()

    def _ask(self, *what: Any) -> None:
        data = pickle.dumps(what)
        with suppress(OSError):  # the relay has ended, which the screen is told otherwise
            self._end.sendall(SIZE.pack(len(data)) + data)

    def _take(self, hear: Callable[[Held | int | str], None]) -> None:
        with suppress(OSError), self._end.makefile("rb") as file:
            while len(head := file.read(SIZE.size)) == SIZE.size:
                hear(pickle.loads(file.read(*SIZE.unpack(head))))  # what this program wrote
