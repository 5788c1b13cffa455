"""What can go wrong on an open connection, in plain words."""

from __future__ import annotations

import ssl
import struct

import pytest

from kdbg.errors import ClientError, Closed, TimedOut, WrongAnswer
from kdbg.exchanges.engine.search import REFUSED
from kdbg.live.client.frames import Incoming
from kdbg.live.client.reach import bad_length, lost, too_slow, wrong_number

from ..cases import for_each

WHERE = ("broker", 9092)


def incoming(data: bytes = b"") -> Incoming:
    found = Incoming()
    found.feed(data, 1)
    return found


@pytest.mark.parametrize(
    ("unsent", "data", "words"),
    [
        (0, b"", "no response within 2.5 s; try a longer --timeout; the broker accepted the request"),
        (7_000, b"", "the broker stopped reading: 7,000 bytes not sent within 2.5 s; check that"),
        (0, b"\0\0\x10\0abc", "incomplete response after 2.5 s: received 7 of 4,100 bytes; try a longer --timeout"),
        (7_000, b"\0\0", "incomplete response after 2.5 s: received 2 bytes"),
    ],
)
def test_too_slow(unsent: int, data: bytes, words: str) -> None:
    error = too_slow(WHERE, 2.5, unsent, incoming(data))
    assert isinstance(error, TimedOut)
    assert str(error).startswith(f"broker:9092: {words}")


@pytest.mark.parametrize(
    ("received", "waits", "words"),
    [
        (0, False, "the broker closed the connection"),
        (
            0,
            True,
            "the broker closed the connection without a response; use --tls or --sasl-mechanism if the listener "
            "requires it",
        ),
        (12_000, True, "the broker closed the connection in the middle of a response, after 12,000 bytes"),
    ],
)
def test_hung_up(received: int, waits: bool, words: str) -> None:
    assert str(lost(WHERE, None, received, waits)).startswith(f"broker:9092: {words}")


@for_each(
    ("error", "words"),
    [
        (ConnectionResetError(104, "Connection reset by peer"), "the broker reset the connection"),
        (BrokenPipeError(32, "Broken pipe"), "the broker reset the connection"),
        (TimeoutError(110, "Connection timed out"), "the connection failed: Connection timed out"),
        (OSError(113, "No route to host"), "the connection failed: No route to host"),
        (RuntimeError("what now"), "the connection failed: what now"),
        (ssl.SSLError(1, "bad record mac"), "TLS failed: bad record mac"),
    ],
)
def test_lost(error: Exception, words: str) -> None:
    found = lost(WHERE, error, 0, False)
    assert isinstance(found, Closed)
    assert str(found) == f"broker:9092: {words}"


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"HTTP/1.1", "the response is an HTTP response; check that this is a Kafka broker"),
        (b"\x15\x03\x03\0\x02", "the response is TLS (alert, TLS 1.2 or 1.3); use --tls"),
        (
            struct.pack(">i", 2000),
            "the response has a size of 2,000 bytes (0x000007d0), more than the limit of 1,000; raise --max",
        ),
        (struct.pack(">i", -7), "the response has an invalid size of -7 bytes (0xfffffff9)"),
        (struct.pack(">i", 3), "the response has an invalid size of 3 bytes (0x00000003)"),
    ],
)
def test_bad_length(head: bytes, words: str) -> None:
    assert str(bad_length(WHERE, head, 1000)).startswith(f"broker:9092: {words}")


@pytest.mark.parametrize(
    ("due", "words"),
    [
        ([], "unexpected response with correlation id 7: no request is pending"),
        ([5, 6], "response with correlation id 7, expected 5; the response does not match the request"),
        ([5, 7], "response with correlation id 7, expected 5; brokers must respond in the order"),
    ],
)
def test_wrong_number(due: list[int], words: str) -> None:
    error = wrong_number(WHERE, 7, due)
    assert isinstance(error, WrongAnswer)
    assert isinstance(error, ClientError)
    assert words in str(error)


def test_a_request_larger_than_brokers_take_is_named_as_what_made_the_broker_hang_up() -> None:
    size = REFUSED + 1
    words = "the request has 104,857,601 bytes; brokers accept 104,857,600 by default (socket.request.max.bytes)"
    assert (
        str(lost(WHERE, None, 0, size)) == f"broker:9092: the broker closed the connection without a response; {words}"
    )
    assert str(lost(WHERE, ConnectionResetError(), 0, size)) == f"broker:9092: the broker reset the connection; {words}"
    assert "socket.request.max.bytes" not in str(lost(WHERE, None, 0, REFUSED))
