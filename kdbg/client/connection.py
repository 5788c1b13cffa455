"""One connection to a broker: frames out, frames in, paired by the session room's Conversation.

Requests may be sent without waiting for the answers before; each `send` gives a future of its exchange. Whatever goes
wrong ends the connection with one `ClientError`, which every future that still waits gets.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import CannotConnect, ClientError, Closed, TimedOut, WrongAnswer
from ..session.conversation import Conversation
from ..session.exchange import Exchange, Half, Peers
from ..session.message import grammar_of, header_grammar
from ..session.mistaken import looks_like
from ..session.requests import RequestHeader
from ..wire import Api
from ..wire.nodes import build
from . import tls
from .settings import Address, Settings, show

Seen = Callable[[Exchange], None]
Tap = Callable[["Connection", bool, bytes, int], None]
"""Told of bytes as they go: the connection, whether the client sent them, the bytes, when (ns)."""
_size = struct.Struct(">i")
_numbers = itertools.count(1)


class Connection:
    """Open one with `Connection.open`. `seen` is told of each exchange once it is complete, `tap` of all bytes."""

    def __init__(
        self, address: Address, settings: Settings, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        seen: Seen | None, tap: Tap | None,
    ) -> None:  # fmt: skip
        self.address, self.settings = address, settings
        self._reader, self._writer = streams
        self._seen, self._tap = seen, tap
        self.client: Address = self._writer.get_extra_info("sockname")[:2]
        self.broker: Address = self._writer.get_extra_info("peername")[:2]
        peers = Peers(next(_numbers), self.client, self.broker)
        self._conversation = Conversation(peers, self._deliver, whole=True)
        self._futures: deque[asyncio.Future[Exchange]] = deque()
        self._correlation_ids = itertools.count(1)
        self._failure: ClientError | None = None
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def open(
        cls, address: Address, settings: Settings, *, seen: Seen | None = None, tap: Tap | None = None
    ) -> Connection:
        """Connect; `CannotConnect` or `TimedOut` where that fails. SASL is up to the caller (authenticate.py)."""
        where = show(address)
        secure = tls.context(settings.tls) if settings.tls is not None else None
        name = (settings.tls.server_name or address[0]) if settings.tls is not None else None
        try:
            async with asyncio.timeout(settings.timeout):
                streams = await asyncio.open_connection(*address, ssl=secure, server_hostname=name, limit=1 << 20)
        except TimeoutError:
            text = f"no connection within {settings.timeout:g} s"
            raise TimedOut(where, text, "see whether host and port are right and no firewall drops packets") from None
        except ssl.SSLError as error:
            raise tls.refused(address, error) from None
        except socket.gaierror as error:
            raise CannotConnect(where, f"no address is known for this host ({error.strerror})") from None
        except ConnectionResetError:
            hint = "the port may belong to a listener without TLS" if secure else ""
            raise CannotConnect(where, "the connection was reset at once", hint) from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise CannotConnect(where, reason.lower(), "see whether the broker runs and listens there") from None
        return cls(address, settings, streams, seen, tap)

    @property
    def open_(self) -> bool:
        """Whether it can still be used."""
        return self._failure is None

    def send(
        self, api: Api, version: int, body: Mapping[str, Any] | None = None, *, data: bytes | None = None
    ) -> asyncio.Future[Exchange]:
        """Send a request: `body` by its grammar, or `data` as the body's bytes. The future is its exchange.

        `BuildError` for a body that does not fit. A request that no answer is due to (acks=0) is done at once.
        """
        number = next(self._correlation_ids)
        written = build(grammar_of(api, version, "request"), body or {}) if data is None else data
        fields: dict[str, Any] = {"api_key": api.key, "api_version": version, "correlation_id": number}
        if api.header_version("request", version) > 0:
            fields["client_id"] = self.settings.client_id
        frame = build(header_grammar(api, version, "request"), fields) + written
        header = RequestHeader(api, version, number, self.settings.client_id, version in api.versions)
        return self._send(frame, header)

    def send_token(self, token: bytes) -> asyncio.Future[Exchange]:
        """Send a raw SASL token, as they go after SaslHandshake v0."""
        return self._send(token, None)

    def _send(self, frame: bytes, header: RequestHeader | None) -> asyncio.Future[Exchange]:
        future: asyncio.Future[Exchange] = asyncio.get_running_loop().create_future()
        if self._failure is not None:
            future.set_exception(self._failure)
            return future
        now = time.time_ns()
        self._futures.append(future)
        self.write(_size.pack(len(frame)) + frame)
        self._conversation.request(header, Half(frame, (now, time.time_ns()), (0, 0), "request"))
        return future

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)
        if self._tap is not None:
            self._tap(self, True, data, time.time_ns())

    async def answer(self, future: asyncio.Future[Exchange], *, timeout: float | None = None) -> Exchange:
        """The exchange, once it is complete; `TimedOut` where that takes too long."""
        limit = self.settings.timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(limit):
                await self._writer.drain()
                return await asyncio.shield(future)
        except TimeoutError:
            await self.close()
            text = f"no answer within {limit:g} s"
            raise TimedOut(
                show(self.address), text, "the broker took the request and kept silent; try --timeout"
            ) from None
        except (ConnectionError, ssl.SSLError):
            if self._failure is not None:
                raise self._failure from None
            raise Closed(show(self.address), "the connection broke while the request was sent") from None

    async def read_raw(self, timeout: float) -> bytes:
        """What comes back to bytes that were written as they are: one frame with its size, or what there is of it."""
        self._reading.cancel()
        data = b""
        try:
            async with asyncio.timeout(timeout):
                data = await self._reader.readexactly(4)
                data += await self._reader.readexactly(min(max(_size.unpack(data)[0], 0), self.settings.max_response))
        except asyncio.IncompleteReadError as error:
            data += error.partial
        except (TimeoutError, ConnectionError, ssl.SSLError):
            pass
        if data and self._tap is not None:
            self._tap(self, False, data, time.time_ns())
        return data

    @property
    def ended(self) -> bool:
        """Whether the broker has closed its side."""
        return self._reader.at_eof()

    async def close(self) -> None:
        """Hang up."""
        self._fail(Closed(show(self.address), "closed"))
        self._reading.cancel()
        self._writer.close()
        try:
            async with asyncio.timeout(1):
                await self._writer.wait_closed()
        except (OSError, TimeoutError, ssl.SSLError):
            pass

    async def _read(self) -> None:
        """Take frames until there are no more."""
        try:
            while True:
                await self._read_frame()
        except asyncio.IncompleteReadError as error:
            self._fail(self._hung_up(len(error.partial)))
        except ConnectionError:
            self._fail(Closed(show(self.address), "the broker reset the connection"))
        except ssl.SSLError as error:
            self._fail(Closed(show(self.address), f"TLS broke off: {error.reason or error}"))
        except ClientError as error:
            self._fail(error)

    async def _read_frame(self) -> None:
        head = await self._reader.readexactly(4)
        first = time.time_ns()
        (size,) = _size.unpack(head)
        if not 4 <= size <= self.settings.max_response and not (0 <= size < 4 and self._waits_for_token):
            raise self._bad_length(head, size)
        data = await self._reader.readexactly(size)
        last = time.time_ns()
        if self._tap is not None:
            self._tap(self, False, head + data, last)
        self._conversation.response(Half(data, (first, last), (0, 0), "response"))
        if self._conversation.early:
            number = int.from_bytes(data[:4], "big", signed=True)
            wanted = ", ".join(str(exchange.correlation_id) for exchange in list(self._conversation.waiting)[:3])
            text = f"an answer with correlation id {number} came, {wanted or 'none'} was due"
            raise WrongAnswer(
                show(self.address), text, "this is no answer to what was asked; the connection is given up"
            )

    @property
    def _waits_for_token(self) -> bool:
        waiting = self._conversation.waiting
        return bool(waiting) and waiting[0].api is not None and waiting[0].api.headerless

    def _bad_length(self, head: bytes, size: int) -> WrongAnswer:
        what = looks_like(head)
        if what.startswith("TLS"):
            return WrongAnswer(show(self.address), f"the answer is {what}", "the port speaks TLS: use --tls")
        if what:
            return WrongAnswer(show(self.address), f"the answer is {what}", "this is no Kafka broker")
        most = self.settings.max_response
        text = f"the answer says it is {size:,} bytes long (0x{head.hex()}), at most {most:,} are taken"
        return WrongAnswer(show(self.address), text, "--max-response allows more")

    def _hung_up(self, received: int) -> Closed:
        waits = len(self._conversation.waiting)
        if received:
            return Closed(show(self.address), f"the broker hung up in the middle of an answer, after {received} bytes")
        hint = "brokers do so when they do not understand a request, or want TLS or SASL" if waits else ""
        return Closed(
            show(self.address), "the broker hung up without an answer" if waits else "the broker hung up", hint
        )

    def _deliver(self, exchange: Exchange) -> None:
        """The conversation has completed an exchange: they come in the order in which they were sent."""
        if self._seen is not None:
            self._seen(exchange)
        if self._futures:
            future = self._futures.popleft()
            if not future.done():
                future.set_result(exchange)

    def _fail(self, error: ClientError) -> None:
        if self._failure is None:
            self._failure = error
        for future in self._futures:
            if not future.done():
                future.set_exception(self._failure)
                future.exception()  # seen: nobody may be waiting any more
        self._futures.clear()
