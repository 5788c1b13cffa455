"""What stands at each position of a stream: sizes, what replaces messages, fronts of other frames, else blanks."""

from __future__ import annotations

import io
from itertools import pairwise

from kdbg.exchanges.messages.exchange import CapturedMessage
from kdbg.views.redact.fronts import Front
from kdbg.views.redact.streams import Expected, Places

MESSAGES = ((104, b"first", 0), (113, b"behind it", 0), (140, b"last", 3))
"""Where messages begin, what stands in place of their bytes, and how many of them are missing."""
FRONTS = [Front(90, b"F" * 8), Front(126, b"G" * 10)]
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
