"""One connection to a broker: frames out, frames in, paired by the session room's Pairing.

Requests may be sent without waiting for the answers before; each `send` gives a future of its exchange. Whatever goes
wrong ends the connection with one error, nearly always a `ClientError`, which every future that still waits gets.
"""

from __future__ import annotations

import asyncio
import itertools
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast
from uuid import UUID

from ...errors import ClientError, Closed, WrongAnswer
from ...exchanges.engine.in_flight import InFlight
from ...exchanges.engine.pairing import Pairing
from ...exchanges.engine.requests import RequestHeader
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.known import Known
from ...exchanges.messages.message import header_grammar
from ...exchanges.messages.peers import Peers
from ...protocol.findings import Kind
from ...protocol.wire import Api
from ...protocol.wire.nodes import build
from .bodies import body_bytes
from .frames import Incoming, Outgoing, Sending, TimedSocket
from .reach import bad_length, lost, reach, too_slow, wrong_number
from .settings import Address, Settings, show

Seen = Callable[[Exchange], None]
Tap = Callable[["Connection", bool, bytes, int], None]
"""Told of bytes as they go: the connection, whether the client sent them, the bytes, when (ns)."""
GRACE = 1.0
"""Seconds that a connection has to send what it still holds and to end politely."""
_size = struct.Struct(">i")
_numbers = itertools.count(1)


class _Unbounded(InFlight):
    """Gives no request up for want of room: how many may wait is up to whoever sends them."""

    def surplus(self) -> Iterator[Exchange]:
        """Keep them all."""
        return iter(())


class Connection(asyncio.Protocol):
    """Open one with `Connection.open`.

    `seen` is told of each exchange once it is complete, and of those that stay unanswered when the connection ends;
    `tap` of all bytes. What either raises ends the connection. `topics` are the names of topic ids.
    """

    number: int

    def __init__(
        self, address: Address, settings: Settings, seen: Seen | None, tap: Tap | None, known: Known | None = None
    ) -> None:
        self.address: Address = address
        self.settings: Settings = settings
        self.number = 0
        self.client: Address = ("", 0)
        self.broker: Address = address
        self.versions: Mapping[int, tuple[int, int]] | None = None
        """What the broker told on this connection that it understands, {} if it does not tell; None: not asked."""
        self._seen, self._tap, self._known = seen, tap, known
        self._conversation: Pairing
        self._transport: asyncio.Transport
        self._socket: TimedSocket
        self._incoming = Incoming()
        self._outgoing: Outgoing
        self._raw = False
        self._futures: dict[CapturedMessage, asyncio.Future[Exchange]] = {}
        self._correlation_ids = itertools.count(1)
        self._failure: Exception | None = None
        self._news, self._lost = asyncio.Event(), asyncio.Event()

    @classmethod
    async def open(
        cls, address: Address, settings: Settings, *, seen: Seen | None = None, tap: Tap | None = None,
        topics: dict[UUID, str] | None = None,
    ) -> Connection:  # fmt: skip
        """Connect (TCP, then TLS if set); `CannotConnect` or `TimedOut` where that fails. SASL is up to the caller."""
        connection = cls(address, settings, seen, tap, Known.nothing(topics) if topics is not None else None)

        def make(family: int) -> TimedSocket:
            connection._socket = TimedSocket(family)
            return connection._socket

        transport = await reach(address, settings, connection, make)
        if transport is not connection._transport:
            connection._outgoing.layers = (transport, connection._transport)
            connection._transport = transport
        return connection

    def hand_over(self, protocol: asyncio.BaseProtocol) -> asyncio.Transport:
        """Give the connection to another owner, who reads and writes it from now on; return its transport."""
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        return self._transport

    @property
    def open_(self) -> bool:
        """Whether it can still be used."""
        return self._failure is None

    # What the client does

    def send(
        self, api: Api, version: int, body: Mapping[str, Any] | None = None, *, data: bytes | None = None
    ) -> asyncio.Future[Exchange]:
        """Send a request: `body` by its grammar, or `data` as the body's bytes. The future is its exchange.

        `BuildError` for a body that does not fit. A request that no answer is due to (acks=0) is done at once.
        """
        number = next(self._correlation_ids)
        written = body_bytes(api, version, body or {}) if data is None else data
        fields: dict[str, Any] = {"api_key": api.key, "api_version": version, "correlation_id": number}
        if api.header_version("request", version) > 0:
            fields["client_id"] = self.settings.client_id
        frame = build(header_grammar(api, version, "request"), fields) + written
        header = RequestHeader(api, version, number, self.settings.client_id, version in api.versions)
        return self.send_frame(frame, header)

    def send_frame(self, frame: bytes, header: RequestHeader | None = None) -> asyncio.Future[Exchange]:
        """Send a request that is written: with its header, or a raw SASL token, as they go after SaslHandshake v0."""
        future: asyncio.Future[Exchange] = asyncio.get_running_loop().create_future()
        # an error counts as seen: asyncio would log it where nobody waits for the future any more
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self._failure is not None:
            future.set_exception(self._failure)
            return future
        now = time.time_ns()
        half = CapturedMessage(frame, (now, now), (0, 0), "request")
        self._futures[half] = future
        self._write(_size.pack(len(frame)) + frame, half)
        if self._failure is None:
            self._conversation.request(header, half)
        return future

    async def answer(self, future: asyncio.Future[Exchange], *, timeout: float | None = None) -> Exchange:
        """Wait for an exchange to be complete and return it; `TimedOut` after `timeout` seconds ends the connection.

        One that no answer is due to is complete once all of it has left.
        """
        limit = self.settings.timeout if timeout is None else timeout
        await asyncio.wait({future}, timeout=limit)
        if not future.done():
            self._fail(too_slow(self.address, limit, self._outgoing.unsent, self._incoming))
        exchange = future.result()
        if exchange.answered:
            return exchange
        try:
            async with asyncio.timeout(limit):
                await self._outgoing.empty.wait()
        except TimeoutError:
            error = too_slow(self.address, limit, self._outgoing.unsent, self._incoming)
            self._fail(error)
            raise error from None
        if self._failure is not None and self._outgoing.lost:
            raise self._failure
        return exchange

    async def ask(self, api: Api, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request of the client's own and return the body of the answer; `WrongAnswer` if it cannot be read."""
        exchange = await self.answer(self.send(api, version, body))
        message = exchange.response.message() if exchange.response is not None else None
        assert message is not None, "only an exchange with acks=0 lacks a response"
        for finding in message.findings:
            if finding.kind.breaks or finding.kind is Kind.UNEXPECTED_NULL:
                text = f"the response to {api.name} v{version} cannot be decoded: {finding.text}"
                raise WrongAnswer(show(self.address), text, "check that this is a Kafka broker")
        return message.body

    def write(self, data: bytes) -> Sending | None:
        """Send bytes as they are; return the `Sending` that has their times, None on a connection that has ended.

        From now on what comes back is not paired with requests but left to `read_raw`.
        """
        self._raw = True
        return self._write(data) if self._failure is None else None

    def _write(self, data: bytes, half: CapturedMessage | None = None) -> Sending:
        """Write bytes; the times of their request are set once they have left, and the tap is told."""

        def gone(sending: Sending) -> None:
            if half is not None and half in self._futures:  # otherwise its exchange was delivered before
                half.first_time, half.last_time = sending.first_time, sending.last_time
            self._tell_tap(sending)

        return self._outgoing.write(data, gone)

    def _tell_tap(self, sending: Sending) -> None:
        """Tell the tap of bytes that have left."""
        try:
            if self._tap is not None:
                self._tap(self, True, sending.data, sending.last_time)
        except Exception as error:
            self._fail(error)

    async def read_raw(self, timeout: float) -> bytes:
        """Return the next frame, its size included, or what has come of it after `timeout` seconds or at the end.

        This is for what comes back to bytes that `write` sent. Without a valid length, up to `max_response` bytes are
        read.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self._failure is None:
                    size, most = self._incoming.size, self.settings.max_response
                    if self._incoming.received >= 4 + (most if size is None or not 0 <= size <= most else size):
                        break
                    self._news.clear()
                    await self._news.wait()
        return self._incoming.take_raw()

    @property
    def came(self) -> tuple[int, int]:
        """When the first and the last byte of the latest answer came (ns)."""
        return self._incoming.times

    async def close(self) -> None:
        """Hang up; what was sent before still goes out."""
        self._give_up(Closed(show(self.address), "closed"))
        self._transport.close()
        try:
            async with asyncio.timeout(GRACE):
                await self._lost.wait()
        except TimeoutError:
            pass
        finally:
            self._abort()
        await self._lost.wait()

    # What the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._outgoing = Outgoing(self._socket, self._transport)
        self.client = (transport.get_extra_info("sockname") or self.client)[:2]
        self.broker = (transport.get_extra_info("peername") or self.broker)[:2]
        self.number = next(_numbers)
        peers = Peers(self.number, self.client, self.broker)
        known = self._known or Known.nothing()
        self._conversation = Pairing(peers, self._deliver, whole=True, known=known, in_flight=_Unbounded())

    def data_received(self, data: bytes) -> None:
        if self._failure is not None:
            return
        now = time.time_ns()
        try:
            if self._tap is not None:
                self._tap(self, False, data, now)
            self._incoming.feed(data, now)
            self._news.set()
            if not self._raw:
                self._take_frames()
        except Exception as error:
            self._fail(error)

    def eof_received(self) -> None:
        self._fail_lost(None)

    def connection_lost(self, error: Exception | None) -> None:
        for sending in self._outgoing.abandon():
            self._tell_tap(sending)
        self._lost.set()
        self._fail_lost(error)

    def _fail_lost(self, error: Exception | None) -> None:
        waiting = [exchange.request for exchange in self._conversation.in_flight]
        largest = max((len(half.data) for half in waiting if half is not None), default=0)
        self._fail(lost(self.address, error, self._incoming.received, largest))

    # Answers

    def _take_frames(self) -> None:
        """Give each frame to the request it answers: the oldest, as brokers answer in order."""
        while self._failure is None:
            waiting, most = self._conversation.in_flight, self.settings.max_response
            for_token = bool(waiting) and waiting[0].api is not None and waiting[0].api.headerless
            size = self._incoming.size
            if size is not None and not (0 if for_token else 4) <= size <= most:
                raise bad_length(self.address, self._incoming.head, most)
            frame = self._incoming.take()
            if frame is None:
                return
            half = CapturedMessage(frame, self._incoming.times, (0, 0), "response")
            number = 0 if for_token else _size.unpack_from(frame)[0]
            if not for_token and (not waiting or waiting[0].correlation_id != number):
                due = [exchange.correlation_id for exchange in waiting]
                self._conversation.orphan(half)
                raise wrong_number(self.address, number, due)
            self._conversation.response(half)

    def _deliver(self, exchange: Exchange) -> None:
        """Tell `seen` of an exchange that is complete or given up, and hand it to whoever waits for it."""
        if self._seen is not None:
            self._seen(exchange)
        future = self._futures.pop(exchange.request, None) if exchange.request is not None else None
        if future is not None and not future.done():
            future.set_result(exchange)

    def _fail(self, error: Exception) -> None:
        """End the connection with this error at once: nothing more is sent, and all who wait get the error."""
        self._give_up(error)
        self._abort()

    def _abort(self) -> None:
        if not self._lost.is_set():  # asyncio loses what has been flushed and closed a second time
            self._transport.abort()

    def _give_up(self, error: Exception) -> None:
        """Give the error to all who wait and report their requests as unanswered; only the first error counts."""
        if self._failure is not None:
            return
        self._failure = error
        self._news.set()
        for future in self._futures.values():
            if not future.done():
                future.set_exception(error)
        self._futures.clear()
        waiting = self._conversation.in_flight
        while waiting and isinstance(error, ClientError):  # otherwise it may be `seen` that broke
            self._conversation.give_up(waiting.pop(0))
