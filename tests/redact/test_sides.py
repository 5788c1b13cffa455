"""Where the messages of one direction are found in its bytes, packet by packet, and which bytes are held for that."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from kdbg.exchanges.messages.exchange import CapturedMessage
from kdbg.streams.tcp.stream import Stream
from kdbg.views.redact.fronts import Fronts
from kdbg.views.redact.streams import Expected, Locator, Places, RedactDirection

from ..cases import for_each

FIRST = 100
"""The position of the first byte."""


class Case(NamedTuple):
    """Packets, numbered from 1, a number where bytes are missing; messages by text, first and last packet."""

    packets: tuple[bytes | int, ...]
    messages: tuple[tuple[bytes, int, int], ...]
    held: list[int]
    """Bytes that are held after each packet."""
    made: bytes
    """What stands in place of all bytes; a dot for what is blank."""


CASES = {
    "one message in a packet": Case((b"junk....one", b"more"), ((b"one", 1, 1),), [0, 0], b"....SIZEONE...."),
    "a message in three packets": Case(
        (b"junk", b"....o", b"n", b"e...."), ((b"one", 2, 4),), [0, 5, 6, 0], b"....SIZEONE...."
    ),
    "two alike": Case((b"....one....one",), ((b"one", 1, 1), (b"one", 1, 1)), [0], b"SIZEONESIZEONE"),
    "told in another order": Case((b"....one....two",), ((b"two", 1, 1), (b"one", 1, 1)), [0], b"SIZEONESIZETWO"),
    "one ends where another begins": Case(
        (b"....o", b"ne....tw", b"o....x"), ((b"one", 1, 2), (b"two", 2, 3)), [5, 8, 0], b"SIZEONESIZETWO....."
    ),
    "a size in the packet before": Case((b"....", b"one"), ((b"one", 1, 2),), [4, 0], b"SIZEONE"),
    "a text in front of its size": Case((b"one.....one",), ((b"one", 1, 1),), [0], b"....SIZEONE"),
    "behind missing bytes": Case((b"....one", 5, b"....two"), ((b"one", 1, 1), (b"two", 3, 3)), [0, 0, 0],
        b"SIZEONE.....SIZETWO"),
    "a packet before missing bytes": Case((b"....on", 3, b"e....two"), ((b"one", 1, 3), (b"two", 3, 3)), [6, 0, 0],
        b"............." [:10] + b"SIZETWO"),
    "a text that is not there": Case((b"....one", b"....two"), ((b"six", 1, 1), (b"two", 2, 2)), [0, 0],
        b".......SIZETWO"),
}  # fmt: skip


def side_of(
    *messages: tuple[bytes, int, int], missing: int = 0, fronts: Fronts | None = None
) -> tuple[RedactDirection, Places]:
    """What finds these messages, and what it notes."""
    expected = Expected(io.BytesIO())
    for text, first, last in messages:
        half = CapturedMessage(text, (0, 0), (first, last), "request", missing)
        expected.add((1, True), half, text.upper())
    stream = Stream()
    stream.first = FIRST
    places = Places(expected.file, lambda data: None)
    return RedactDirection(stream, expected, places, fronts, expected.messages[1, True]), places


def shown(data: bytes) -> bytes:
    """Bytes as a case has them: a dot for each that is blank, and SIZE for the size of three bytes."""
    return data.replace(b"\0\0\0\3", b"SIZE").replace(b"\xff", b".")


@for_each("name", CASES)
def test_messages_are_found_where_they_stand(name: str) -> None:
    case = CASES[name]
    side, places = side_of(*case.messages)
    held, position = [], FIRST
    for number, packet in enumerate(case.packets, 1):
        if isinstance(packet, int):
            side.gap(packet, 0, number)
        else:
            side.data(packet, 0, number)
        position += packet if isinstance(packet, int) else len(packet)
        held.append(len(side._data))
        assert side._start + len(side._data) == position or not side._data
    side.end(0, 99)
    places.settle()
    assert (held, shown(places.replaced(FIRST, bytes(position - FIRST)))) == (case.held, case.made)


FRAME = b"\0\0\0\x20\0\3\0\1\0\0\0\7\0\4"
"""The front of a request that is no message."""


@for_each("cut", range(22))
@for_each("missing", [0, 5])
def test_the_fronts_of_frames_behind_a_message_stay_however_they_are_cut(cut: int, missing: int) -> None:
    side, places = side_of((b"one", 1, 1), missing=missing, fronts=Fronts(requests=True))
    behind = (FRAME + bytes(8))[:22]
    side.data(b"....one", 0, 1)
    if missing:
        side.gap(missing, 0, 2)
    side.data(behind[:cut], 0, 3)
    side.data(behind[cut:], 0, 4)
    side.end(0, 5)
    places.settle()
    size = (3 + missing).to_bytes(4)
    assert places.replaced(FIRST, bytes(29 + missing)) == size + b"ONE" + b"\xff" * missing + FRAME + b"\xff" * 8


def test_a_stream_that_began_nowhere_begins_at_zero() -> None:
    side, places = side_of((b"one", 1, 1))
    side._stream.first = None
    side.data(b"....one", 0, 1)
    places.settle()
    assert places.replaced(0, bytes(7)) == b"\0\0\0\3ONE"


@pytest.mark.parametrize("asking", [True, False])
def test_each_direction_has_its_messages_and_the_fronts_of_its_kind(asking: bool) -> None:
    expected, unread = Expected(io.BytesIO()), list[bytes]()
    expected.add((1, asking), CapturedMessage(b"one", (0, 0), (1, 1), "request"), b"ONE")
    expected.add((1, not asking), CapturedMessage(b"two", (0, 0), (1, 1), "response"), b"TWO")
    locator = Locator(expected, unread.append)
    for first_packet in (1, 7):
        connection: Any = SimpleNamespace(first_packet=first_packet, sent=Stream(), answered=Stream())
        for side, text in zip(
            locator.accept(connection), (b"one", b"two") if asking else (b"two", b"one"), strict=True
        ):
            side.data(b"...." + text + FRAME + bytes(8), 0, 1)
            side.end(0, 2)
    locator.settle()
    request, response = (locator.places[1, sent].replaced(0, bytes(29)) for sent in (asking, not asking))
    assert request == b"\0\0\0\3ONE" + FRAME + b"\xff" * 8
    assert response == b"\0\0\0\3TWO" + FRAME[:8] + b"\xff" * 14
    assert unread == [bytes(22)] * 2
    assert [locator.places[7, sent].replaced(0, b"what was said") for sent in (True, False)] == [b"\xff" * 13] * 2
    assert unread[2:] == [b"what was said"] * 2
