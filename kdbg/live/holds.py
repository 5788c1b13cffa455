"""Messages that are held until a person says what becomes of them: passed on, changed or not, or dropped.

A `Desk` is that of a whole proxy, a `ConnectionHolds` that of one connection. Nothing here waits: who holds is told by
`tell`, and the connection goes on by its `wake`.
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias, cast
from uuid import UUID

from ..errors import BuildError, GrammarError, InputError, WireError
from ..exchanges.engine.names import Learner
from ..exchanges.filters.filter_set import Filters
from ..exchanges.messages.exchange import CapturedMessage, Exchange
from ..exchanges.messages.known import Known
from ..exchanges.messages.peers import Peers
from ..protocol.wire.language import Direction
from .actions import Turn, put
from .faults import Applied, exchange_of
from .frames import Hold, PendingRequest
from .relay import Relay

BOTH: frozenset[Direction] = frozenset({"request", "response"})


class Held(NamedTuple):
    """A message that is held: its number, whose connection, and the bytes of both messages, without their sizes."""

    number: int
    peers: Peers
    direction: Direction
    request: bytes
    response: bytes | None

    def exchange(self, topics: dict[UUID, str], data: bytes | None = None) -> Exchange:
        """Return the exchange, with `data` in place of what is held; of no API where its request is none any more."""
        asked = PendingRequest(None, True, None)
        asked.data = data if data is not None and self.direction == "request" else self.request
        response = data if data is not None and self.direction == "response" else self.response
        found = exchange_of(asked, self.direction, response or b"", self.peers, Known.nothing(topics))
        if found is None:
            found, now = Exchange(self.peers, None, 0, 0, None), time.time_ns()
            found.request = CapturedMessage(asked.data, (now, now), (0, 0), "request")
        return found

    @property
    def data(self) -> bytes:
        """The bytes that are held."""
        return self.request if self.direction == "request" else self.response or b""


class Desk:
    """What is held of all connections, `held` by its numbers, and who holds it, by clients.

    `filters` say which messages are held, None for none, `sides` of which kind.
    """

    def __init__(self, tell: Office) -> None:
        self.tell = tell
        self.topics: dict[UUID, str] = {}
        self.filters: Filters | None = None
        self.sides: frozenset[Direction] = BOTH
        self._check: Callable[[Exchange], bool] | None = None
        self.learner = Learner(self.topics)
        self.numbers = itertools.count(1)
        self.held: dict[int, tuple[ConnectionHolds, Hold]] = {}
        self.holders: dict[tuple[str, int], ConnectionHolds] = {}

    def want(self, filters: Filters | None, sides: frozenset[Direction] = BOTH) -> None:
        """Hold what fits from now on; what is held already stays so."""
        self.filters, self.sides = filters, sides
        self._check = None if filters is None else filters.check(self.topics) or (lambda exchange: True)

    def fits(self, exchange: Exchange, direction: Direction) -> bool:
        """Return whether a message is to be held."""
        return self._check is not None and direction in self.sides and self._check(exchange)

    def resume(self, number: int, data: bytes | None = None) -> None:
        """Pass a message on, with other bytes if any are given; do nothing for one that is not held."""
        if number in self.held:
            holder, hold = self.held.pop(number)
            holder.release(hold, hold.data if data is None else data)

    def drop(self, number: int) -> None:
        """Let a message vanish; its connection gives no answers from there on."""
        if number in self.held:
            holder, hold = self.held.pop(number)
            holder.release(hold, None)

    def repeat(self, client: tuple[str, int], data: bytes) -> bool:
        """Send a request once more over its client's connection; return False where that is closed."""
        holder = self.holders.get(client)
        if holder is None:
            return False
        holder.repeat(data)
        return True

    def ended(self, holder: ConnectionHolds, client: tuple[str, int]) -> None:
        """Take note that a connection has ended: nothing of it is held any more."""
        if self.holders.get(client) is holder:
            del self.holders[client]
        for number in [number for number, (of, _) in self.held.items() if of is holder]:
            del self.held[number]
            self.tell.gone(number)


class ConnectionHolds:
    """What holds the messages of one connection, as its relay asks."""

    def __init__(self, desk: Desk, peers: Callable[[], Peers], relay: Relay, wake: Callable[[], None]) -> None:
        self._desk, self._peers, self._relay, self._wake = desk, peers, relay, wake
        self._known = Known.nothing(desk.topics)

    @property
    def wants(self) -> bool:
        """Whether any message may be held."""
        return self._desk.filters is not None

    def hold(self, asked: PendingRequest, direction: Direction, data: bytes) -> Hold | None:
        """Return what stands in the queue for a message that is held; None for one that is not."""
        if not self.wants:
            return None
        exchange = exchange_of(asked, direction, data, self._peers(), self._known)
        if exchange is not None and direction == "response":
            self._desk.learner.learn_from(exchange)
        if exchange is None or not self._desk.fits(exchange, direction):
            return None
        assert asked.data is not None
        hold = Hold(asked, direction, data, time.monotonic())
        response = data if direction == "response" else None
        held = Held(next(self._desk.numbers), self._peers(), direction, asked.data, response)
        if not self._desk.tell.held(held):
            return None
        self._desk.held[held.number] = self, hold
        return hold

    def release(self, hold: Hold, data: bytes | None) -> None:
        """Pass on what was held with these bytes; let it vanish for None."""
        seconds = time.monotonic() - hold.since
        what = "dropped, " if data is None else "changed, " if data != hold.data else ""
        self._tell(hold.asked, f"{hold.direction} {what}held for {seconds:.1f} s")
        self._relay.release(hold, data)
        self._wake()

    def repeat(self, data: bytes) -> None:
        """Send a request once more."""
        self._relay.repeat(data)
        self._wake()

    def repeated(self, asked: PendingRequest) -> None:
        """Take note that a request of kdbg's own goes out now."""
        self._tell(asked, "sent manually")

    def opened(self) -> None:
        """Take note of the connection, whose peers are known now."""
        self._desk.holders[self._peers().client] = self

    def ended(self) -> None:
        """Take note that the connection has ended."""
        self._desk.ended(self, self._peers().client)

    def _tell(self, asked: PendingRequest, what: str) -> None:
        name = asked.api.name if asked.api is not None else ""
        self._desk.tell.done(Applied(time.time_ns(), self._peers().client, name, asked.correlation_id or 0, what))


def with_field(held: Held, data: bytes, text: str, topics: dict[UUID, str]) -> bytes:
    """Return the bytes of a message with a value put at a path, `PATH=VALUE` as `--set` takes it: built anew by the
    grammar of its version. Raise `InputError` where that cannot be."""
    exchange = held.exchange(topics, data)
    if exchange.api is None:
        raise InputError("these bytes are no longer a message; edit them as bytes")
    turn = Turn(exchange, held.direction, data)
    try:
        changed = put(turn, text)
    except (BuildError, GrammarError, WireError) as error:
        raise InputError(str(error)) from None
    if not changed:
        raise InputError(f"{text!r} does not fit this message: unknown field, or wrong type")
    return turn.data


def with_bytes(data: bytes, start: int, end: int, text: str) -> bytes:
    """Return bytes with those from `start` to `end` replaced by others, in hex; raise `InputError` for what is none."""
    try:
        return data[:start] + bytes.fromhex(text) + data[end:]
    except ValueError:
        raise InputError(f"invalid hex {text!r}; use two digits per byte") from None


End: TypeAlias = socket.socket
"""An end of a channel."""
SIZE = struct.Struct("<I")
CLOSED = "the connection of this exchange is closed; press u to copy a command that sends the request again"
MOST = 64 << 20
"""Bytes of held messages that wait for the screen to take them, at most."""


def channel() -> tuple[End, End]:
    """Return the two ends: the screen's, and the relay's."""
    return socket.socketpair()


class Office(asyncio.Protocol):
    """The relay's end: tells the screen what is held, and does with it what the screen asks for."""

    desk: Desk
    done: Callable[[Applied], None]
    """Gets what was done to an exchange."""

    def __init__(self, done: Callable[[Applied], None]) -> None:
        self.desk, self.done = Desk(self), done
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
        """Tell of a message that is to be held; return False where that cannot be told, and nothing is held then."""
        transport = self._transport
        if transport is None or transport.is_closing() or transport.get_write_buffer_size() > MOST:
            return False
        self._write(held)
        return True

    def gone(self, number: int) -> None:
        """Tell that the connection of a message has ended."""
        self._write(number)

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
            if getattr(self.desk, name)(*given) is False:
                self._write(CLOSED)

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

    def ask(self, *what: Any) -> None:
        """Have something done by the relay's desk: the name of its method, `want` or `resume`, and what that takes."""
        data = pickle.dumps(what)
        with suppress(OSError):  # the relay has ended, which the screen is told otherwise
            self._end.sendall(SIZE.pack(len(data)) + data)

    def close(self) -> None:
        """Let go of the channel: what is held goes on."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        if self._thread is not None:
            self._thread.join()
        self._end.close()

    def _take(self, hear: Callable[[Held | int | str], None]) -> None:
        with suppress(OSError), self._end.makefile("rb") as file:
            while len(head := file.read(SIZE.size)) == SIZE.size:
                hear(pickle.loads(file.read(*SIZE.unpack(head))))  # what this program wrote
