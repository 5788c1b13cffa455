"""Where messages are found in the bytes of a direction, what stands at each position, what stays of other frames."""

from __future__ import annotations

import io
import struct
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.exchanges.messages.exchange import CapturedMessage
from kdbg.streams.tcp.stream import Stream
from kdbg.ui.cli import run
from kdbg.views.redact.streams import Expected, Fronts, Locator, Places, RedactDirection

from ..cases import for_each
from ..traffic import Talk, pcap
from .seen import seen

MESSAGES = ((104, b"first", 0), (113, b"behind it", 0), (140, b"last", 3))
"""Where messages begin, what stands in place of their bytes, and how many of them are missing."""
FRONTS = [(90, b"F" * 8), (126, b"G" * 10)]
STREAM = bytes(range(80, 160))
WHOLE = (
    b"\xff" * 10 + b"F" * 8 + b"\xff" * 2
    + b"\0\0\0\5first" + b"\0\0\0\7behind it"[:4].replace(b"\7", b"\x09") + b"behind it"
    + b"\xff" * 4 + b"GGGGGGGGGG" + b"\0\0\0\7last" + b"\xff" * 16
)  # fmt: skip
"""The bytes from position 80 on; fronts are written last."""


def places() -> tuple[Places, list[bytes]]:
    """The places of the messages, which are noted in another order; and the bytes that no message has, as told."""
    unread: list[bytes] = []
    expected = Expected(io.BytesIO())
    made = Places(expected.file, unread.append)
    for start, data, missing in reversed(MESSAGES):
        half = CapturedMessage(b"?" * len(data), (0, 0), (1, 1), "request", missing)
        expected.add((1, True), half, data)
        made.add(start, expected.messages[1, True][-1])
        assert expected.bytes_of(expected.messages[1, True][-1]) == half.data
    made.put(FRONTS)
    made.settle()
    return made, unread


def test_a_stream_is_the_same_however_it_is_cut_into_packets() -> None:
    made, unread = places()
    assert made.replaced(80, STREAM) == WHOLE
    assert unread == [bytes(range(80, 100)), bytes(range(122, 136)), bytes(range(144, 160))]
    for first in range(81):
        for second in range(first, 81):
            cuts = (0, first, second, 80)
            found = [made.replaced(80 + start, STREAM[start:end]) for start, end in pairwise(cuts)]
            assert b"".join(found) == WHOLE, cuts


def test_what_no_message_has_is_told_once() -> None:
    for cut in range(81):
        made, unread = places()
        made.replaced(80, STREAM[:cut])
        made.replaced(80 + cut, STREAM[cut:])
        assert b"".join(unread) == bytes([*range(80, 100), *range(122, 136), *range(144, 160)]), cut

    made, unread = places()
    assert (made.replaced(104, STREAM[24:29]), made.replaced(113, STREAM[33:42])) == (b"first", b"behind it")
    assert unread == []


def test_a_direction_without_messages_is_blank() -> None:
    unread: list[bytes] = []
    made = Places(io.BytesIO(), unread.append)
    made.settle()
    assert (made.replaced(7, b"what was said"), unread) == (b"\xff" * 13, [b"what was said"])
    assert made.replaced(7, b"") == b""


def test_who_asks_is_known_by_the_first_packet() -> None:
    expected = Expected(io.BytesIO())
    for number, asking in ((3, True), (4, False)):
        for direction in ("request", "response"):
            half = CapturedMessage(b"abc", (0, 0), (1, 1), direction)  # type: ignore[arg-type]
            expected.add((number, asking is (direction == "request")), half, b"xyz")
    assert expected.asking == {3: True, 4: False}
    assert [message.kept for messages in expected.messages.values() for message in messages] == [0, 6, 12, 18]


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


CLIENT = b"\x00\x04kdbg"


def request(size: int, key: int = 3, correlation_id: int = 7, client: bytes = CLIENT) -> bytes:
    return struct.pack(">ihhi", size, key, 1, correlation_id) + client


def fronts(
    stream: bytes, *messages: tuple[int, int], requests: bool = True, step: int = 1 << 20
) -> list[tuple[int, bytes]]:
    """The fronts in a stream that has these messages, fed in steps of so many bytes."""
    found = Fronts(requests=requests)
    for start, end in messages:
        found.message(start, end, 0)
    steps = range(0, len(stream), step)
    return [*(one for at in steps for one in found.feed(at, stream[at : at + step])), *found.close()]


@given(step=st.integers(1, 80))
def test_sizes_and_small_ids_behind_a_message_stay(step: int) -> None:
    broken = request(30).ljust(34, b"s")
    found = fronts(bytes(20) + broken + request(99), (0, 20), step=step)
    assert found == [(20, broken[:14]), (54, request(99)[:14])], "each behind the one before"


def test_a_message_ends_what_was_passed_over() -> None:
    found = fronts(bytes(20) + request(1000) + bytes(20) + request(50), (0, 20), (38, 58))
    assert [start for start, _ in found] == [20, 58]


def test_nothing_stays_in_front_of_the_first_message_nor_of_what_is_no_frame() -> None:
    assert fronts(request(20) + bytes(20), (18, 38)) == []
    assert fronts(bytes(20) + b"a password", (0, 20)) == []


def test_what_could_be_text_becomes_another_large_number() -> None:
    words = struct.unpack(">i", b"pass")[0]
    [(_, found)] = fronts(bytes(20) + request(40, correlation_id=words), (0, 20))
    assert found == request(40, correlation_id=struct.unpack(">i", b"xxxx")[0])[:14]
    [(_, found)] = fronts(bytes(20) + request(40, key=0x7061), (0, 20))
    assert found == struct.pack(">i", 40)
    [(_, found)] = fronts(bytes(20) + request(40, client=b"word"), (0, 20))
    assert found == request(40, client=b"xx")[:14]
    [(_, found)] = fronts(bytes(20) + struct.pack(">i", 9) + b"password", (0, 20), requests=False)
    assert found == struct.pack(">i", 9) + b"xxxx"


@given(junk=st.text("abcdefgh", min_size=4, max_size=60).map(str.encode), requests=st.booleans())
def test_never_more_than_three_bytes_of_a_text_stay(junk: bytes, requests: bool) -> None:
    for at in range(16):
        front = (request(200)[:at] + junk).ljust(16, b"z")[:16]
        for _, shown in fronts(bytes(20) + front, (0, 20), requests=requests):
            assert not any(front[i : i + 4] in shown for i in range(at, 12))


def test_behind_missing_bytes_a_frame_is_due_where_the_message_ends() -> None:
    found = Fronts(requests=False)
    found.message(0, 20, 30)
    assert [*found.feed(0, bytes(20))] == []
    told = struct.pack(">ii", 12, 3)
    assert [*found.feed(40, bytes(10) + told), *found.close()] == [(50, told)]


SMALL = struct.pack(">ihhi", 99, 3, 1, 7)


@for_each(
    ("front", "kept"),
    [
        (SMALL + b"\0\4kdbg", SMALL + b"\0\4"),
        (SMALL + b"\1\4kdbg", SMALL + b"\1\4"),
        (SMALL + b"\xff\xff\0\0", SMALL + b"\xff\xff"),
        (SMALL + b"\2\4kdbg", SMALL + b"xx"),
        (SMALL + b"\4", SMALL + b"x"),
        (SMALL + b"\0", SMALL + b"\0"),
        (SMALL, SMALL),
        (SMALL[:11], SMALL[:8] + b"xxx"),
        (SMALL[:9], SMALL[:8] + b"x"),
        (SMALL[:8], SMALL[:8]),
        (SMALL[:7], SMALL[:4]),
        (SMALL[:4], SMALL[:4]),
        (SMALL[:3], None),
        (SMALL[:8] + b"\xff\0\0\7\2\2", SMALL[:8] + b"\xff\0\0\7xx"),
        (SMALL[:8] + b"\1\0\0\7\2\2", SMALL[:8] + b"xxxx\2\2"),
        (SMALL[:4] + b"\1" + SMALL[5:], SMALL[:4]),
        (SMALL[:6] + b"\1" + SMALL[7:], SMALL[:4]),
        (SMALL[:5] + b"\xff\0\xff" + SMALL[8:], SMALL[:5] + b"\xff\0\xff" + SMALL[8:]),
        (b"\7\xff\xff\xff" + SMALL[4:], b"\7\xff\xff\xff" + SMALL[4:]),
        (b"\x08\0\0\0" + SMALL[4:], None),
    ],
)
def test_what_stays_of_the_front_of_a_request(front: bytes, kept: bytes | None) -> None:
    assert fronts(bytes(20) + front, (0, 20)) == ([] if kept is None else [(20, kept)])


@pytest.mark.parametrize(
    ("front", "kept"),
    [
        (b"\0\0\0\x09\0\0\0\7more", b"\0\0\0\x09\0\0\0\7"),
        (b"\0\0\0\x09\1\0\0\7more", b"\0\0\0\x09xxxx"),
        (b"\0\0\0\x09\0\0\0", b"\0\0\0\x09xxx"),
        (b"\0\0\0\x09", b"\0\0\0\x09"),
    ],
)
def test_what_stays_of_the_front_of_a_response(front: bytes, kept: bytes) -> None:
    assert fronts(bytes(20) + front, (0, 20), requests=False)[:1] == [(20, kept)]


def test_messages_are_taken_in_their_order_and_one_in_front_of_a_frame_that_is_due_moves_it() -> None:
    stream = bytes(20) + request(6)[:10] + bytes(20) + request(50)
    assert fronts(stream, (30, 50), (4, 20)) == [(20, request(6)[:8] + b"xx"), (50, request(50)[:14])]
    assert fronts(bytes(30) + request(50), (0, 20), (20, 30)) == [(30, request(50)[:14])]
    assert fronts(bytes(10), (0, 10)) == fronts(b"", (0, 0)) == []
    found = Fronts(requests=False)
    assert [*found.feed(5, bytes(9)), *found.close()] == [], "nothing is due before the first message"
    found.message(20, 24, 0)
    told = struct.pack(">ii", 12, 3)
    assert [*found.feed(20, bytes(4))] == []
    assert [*found.feed(30, told), *found.close()] == [(30, told)], "where bytes are missing one is due"
    assert [*found.close()] == []


def test_responses_that_prove_each_other_do_so_afterwards(tmp_path: Path) -> None:
    path, made = tmp_path / "unasked.pcap", tmp_path / "shared.pcap"
    talk = Talk().ask("Metadata", 1, topics=[{"name": "first"}]).answer(brokers=[])
    for number in (5, 6):
        talk.reply(struct.pack(">iih", 6 if number == 5 else 60, number, 0))
    path.write_bytes(pcap(talk.end()))
    assert run(["redact", str(path), str(made)]) == 0
    before, after = seen(path), seen(made)
    assert len(before.exchanges) == 2, "the last has nothing behind it that proves it"
    assert before.exchanges == after.exchanges
    assert before.findings == after.findings
