"""What stays of frames that are no messages: numbers that say where the next frame is due, and nothing else."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.ui.cli import run
from kdbg.views.redact.fronts import Front, Fronts

from ..cases import for_each
from ..traffic import Talk, pcap
from .seen import seen

CLIENT = b"\x00\x04kdbg"


def request(size: int, key: int = 3, correlation_id: int = 7, client: bytes = CLIENT) -> bytes:
    return struct.pack(">ihhi", size, key, 1, correlation_id) + client


def fronts(stream: bytes, *messages: tuple[int, int], requests: bool = True, step: int = 1 << 20) -> list[Front]:
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
    assert found == [Front(20, broken[:14]), Front(54, request(99)[:14])], "each behind the one before"


def test_a_message_ends_what_was_passed_over() -> None:
    found = fronts(bytes(20) + request(1000) + bytes(20) + request(50), (0, 20), (38, 58))
    assert [one.start for one in found] == [20, 58]


def test_nothing_stays_in_front_of_the_first_message_nor_of_what_is_no_frame() -> None:
    assert fronts(request(20) + bytes(20), (18, 38)) == []
    assert fronts(bytes(20) + b"a password", (0, 20)) == []


def test_what_could_be_text_becomes_another_large_number() -> None:
    words = struct.unpack(">i", b"pass")[0]
    (found,) = fronts(bytes(20) + request(40, correlation_id=words), (0, 20))
    assert found.data == request(40, correlation_id=struct.unpack(">i", b"xxxx")[0])[:14]
    (found,) = fronts(bytes(20) + request(40, key=0x7061), (0, 20))
    assert found.data == struct.pack(">i", 40)
    (found,) = fronts(bytes(20) + request(40, client=b"word"), (0, 20))
    assert found.data == request(40, client=b"xx")[:14]
    (found,) = fronts(bytes(20) + struct.pack(">i", 9) + b"password", (0, 20), requests=False)
    assert found.data == struct.pack(">i", 9) + b"xxxx"


@given(junk=st.text("abcdefgh", min_size=4, max_size=60).map(str.encode), requests=st.booleans())
def test_never_more_than_three_bytes_of_a_text_stay(junk: bytes, requests: bool) -> None:
    for at in range(16):
        front = (request(200)[:at] + junk).ljust(16, b"z")[:16]
        for one in fronts(bytes(20) + front, (0, 20), requests=requests):
            assert not any(front[i : i + 4] in one.data for i in range(at, 12))


def test_behind_missing_bytes_a_frame_is_due_where_the_message_ends() -> None:
    found = Fronts(requests=False)
    found.message(0, 20, 30)
    assert [*found.feed(0, bytes(20))] == []
    told = struct.pack(">ii", 12, 3)
    assert [*found.feed(40, bytes(10) + told), *found.close()] == [Front(50, told)]


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
    assert fronts(bytes(20) + front, (0, 20)) == ([] if kept is None else [Front(20, kept)])


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
    assert fronts(bytes(20) + front, (0, 20), requests=False)[:1] == [Front(20, kept)]


def test_messages_are_taken_in_their_order_and_one_in_front_of_a_frame_that_is_due_moves_it() -> None:
    stream = bytes(20) + request(6)[:10] + bytes(20) + request(50)
    assert fronts(stream, (30, 50), (4, 20)) == [Front(20, request(6)[:8] + b"xx"), Front(50, request(50)[:14])]
    assert fronts(bytes(30) + request(50), (0, 20), (20, 30)) == [Front(30, request(50)[:14])]
    assert fronts(bytes(10), (0, 10)) == fronts(b"", (0, 0)) == []
    found = Fronts(requests=False)
    assert [*found.feed(5, bytes(9)), *found.close()] == [], "nothing is due before the first message"
    found.message(20, 24, 0)
    told = struct.pack(">ii", 12, 3)
    assert [*found.feed(20, bytes(4))] == []
    assert [*found.feed(30, told), *found.close()] == [Front(30, told)], "where bytes are missing one is due"
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
