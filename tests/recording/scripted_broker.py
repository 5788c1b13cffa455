"""A broker that says what it's told to: for what librdkafka's mock cluster doesn't know, above all long-gone versions.

It reads frames and request headers, looks the answer up by API and version, and puts size and correlation id in front
of it. After SaslHandshake v0 the next frame is a bare SASL/PLAIN token, answered by a bare empty one, as brokers of
0.10 did. It keeps no state but what the answers keep.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from recording.api_keys import API_VERSIONS, CONTROLLED_SHUTDOWN, SASL_HANDSHAKE
from recording.wire_bytes import Reader, array, sized

UNSUPPORTED_VERSION = 35


@dataclass(frozen=True)
class Request:
    """A request as an answer sees it; body reads what follows the header."""

    api_key: int
    version: int
    body: Reader


class HangUpError(Exception):
    """Raised by an answer that closes the connection instead."""


class SilentError(Exception):
    """Raised by an answer that never comes."""


Answer = Callable[[Request], bytes]
Answers = Mapping[tuple[int, int], Answer]


def api_versions(*ranges: tuple[int, int, int], error: int = 0) -> bytes:
    """The body of an ApiVersions response v0: (API key, lowest, highest) for each API."""
    return struct.pack(">h", error) + array(struct.pack(">hhh", *each) for each in ranges)


@contextmanager
def scripted_broker(port: int, answers: Answers, credentials: tuple[str, str] | None = None) -> Iterator[None]:
    """Answer on this port until the end of the block, from a thread of its own."""
    loop = asyncio.new_event_loop()
    broker = _Broker(answers, credentials)
    server = loop.run_until_complete(asyncio.start_server(broker.serve, "127.0.0.1", port))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


class _Broker:
    def __init__(self, answers: Answers, credentials: tuple[str, str] | None) -> None:
        self._answers = answers
        self._login = [] if credentials is None else [part.encode() for part in credentials]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await self._exchange(reader, writer)
        except (HangUpError, EOFError, ConnectionError):
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request, correlation_id = _parse(await _frame(reader))
        try:
            answer = self._answer(request)
        except SilentError:
            return
        writer.write(sized(struct.pack(">i", correlation_id) + answer))
        if (request.api_key, request.version) == (SASL_HANDSHAKE, 0):
            if (await _frame(reader)).split(b"\0")[1:] != self._login:  # in front of it: who to act as
                raise HangUpError
            writer.write(sized(b""))

    def _answer(self, request: Request) -> bytes:
        answer = self._answers.get((request.api_key, request.version))
        if answer is not None:
            return answer(request)
        if request.api_key == API_VERSIONS:
            return api_versions((API_VERSIONS, 0, 0), error=UNSUPPORTED_VERSION)  # always in v0, see KIP-511
        raise HangUpError


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def _parse(frame: bytes) -> tuple[Request, int]:
    body = Reader(frame)
    api_key, version, correlation_id = body.number("h"), body.number("h"), body.number("i")
    if (api_key, version) != (CONTROLLED_SHUTDOWN, 0):  # the one request without a client id
        body.string()
    return Request(api_key, version, body), correlation_id
