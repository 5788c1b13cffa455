"""Bytes as they come, cut into frames."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from kdbg.live.client.frames import Incoming


def framed(*messages: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(message)) + message for message in messages)


def drain(incoming: Incoming) -> list[bytes]:
    found = []
    while (frame := incoming.take()) is not None:
        found.append(frame)
    return found


def test_a_frame_in_one_piece() -> None:
    incoming = Incoming()
    incoming.feed(framed(b"abc"), 7)
    assert (incoming.take(), incoming.times) == (b"abc", (7, 7))
    assert incoming.take() is None
    assert incoming.received == 0


def test_times_are_of_the_first_and_the_last_byte() -> None:
    incoming = Incoming()
    incoming.feed(b"\0", 1)
    incoming.feed(b"\0\0\3a", 2)
    assert incoming.take() is None
    incoming.feed(b"bc\0", 3)
    assert (incoming.take(), incoming.times) == (b"abc", (1, 3))
    incoming.feed(b"\0\0\1", 4)
    incoming.feed(b"d" + framed(b"e"), 5)
    assert (incoming.take(), incoming.times) == (b"d", (3, 5))
    assert (incoming.take(), incoming.times) == (b"e", (5, 5))
    incoming.feed(framed(b"f"), 6)
    assert (incoming.take(), incoming.times) == (b"f", (6, 6))


def test_what_is_there_of_a_frame() -> None:
    incoming = Incoming()
    assert (incoming.received, incoming.size, incoming.head) == (0, None, b"")
    incoming.feed(b"\0\0\0", 1)
    assert (incoming.received, incoming.size, incoming.head) == (3, None, b"\0\0\0")
    incoming.feed(b"\x20" + b"a" * 20, 1)
    assert (incoming.received, incoming.size, len(incoming.head)) == (24, 32, 16)


def test_a_negative_size_is_no_frame() -> None:
    incoming = Incoming()
    incoming.feed(b"\xff\xff\xff\xff" + bytes(100), 1)
    assert incoming.size == -1
    assert incoming.take() is None


def test_raw_bytes_one_frame_at_a_time() -> None:
    incoming = Incoming()
    incoming.feed(framed(b"abc", b"") + b"\0\0", 1)
    assert [incoming.take_raw() for _ in range(4)] == [framed(b"abc"), framed(b""), b"\0\0", b""]


def test_raw_bytes_that_are_no_frame_come_whole() -> None:
    incoming = Incoming()
    incoming.feed(b"HTTP/1.1 400 Bad Request\r\n", 1)
    assert incoming.take_raw() == b"HTTP/1.1 400 Bad Request\r\n"
    incoming.feed(b"\xff\xff\xff\xff rubbish", 1)
    assert incoming.take_raw() == b"\xff\xff\xff\xff rubbish"


@given(st.lists(st.binary(max_size=20), max_size=10), st.lists(st.integers(1, 12)))
def test_however_the_bytes_come(messages: list[bytes], sizes: list[int]) -> None:
    incoming, data, found = Incoming(), framed(*messages), []
    for size in [*sizes, len(data)]:
        piece, data = data[:size], data[size:]
        incoming.feed(piece, 1)
        found += drain(incoming)
    assert found == messages
    assert incoming.received == 0
