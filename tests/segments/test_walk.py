"""A log's entries: found whole, in damaged files, in whatever pieces the bytes come, in bounded time and memory."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.payloads.segments.log import CREDIT, CREDIT_PER_BYTE, MOST_DAMAGE, LogWalk
from kdbg.payloads.segments.piece import LARGEST

from ..cases import fewer_by_day
from .made import batch, findings, flipped, message, opened, pieces, reading

ENTRIES = [
    batch(0), batch(2, 5, attributes=1), message(7, 0), message(8, 1), message(9, key=b"key"),
    batch(10, 1, size=3000, attributes=4), batch(11, 0, last_offset_delta=4), batch(16, 3),
]  # fmt: skip
"""Of all formats: batches, a compacted one without records, messages."""
WHOLE = b"".join(ENTRIES)
STARTS = [sum(map(len, ENTRIES[:i])) for i in range(len(ENTRIES))]


@given(st.integers(1, 200))
def test_all_entries_are_found_in_whatever_pieces_the_bytes_come(most: int) -> None:
    found = pieces(WHOLE, most=most)
    assert [piece.data for piece in found] == ENTRIES
    assert [piece.position for piece in found] == STARTS
    assert findings(found) == []
    assert all(piece.whole for piece in found)


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 7))
def test_one_wrong_bit_costs_no_more_than_its_entry(place: int, bit: int) -> None:
    data = bytearray(WHOLE)
    data[place] ^= 1 << bit
    found = pieces(bytes(data))
    assert b"".join(piece.data for piece in found) == bytes(data)
    hurt = max(i for i, start in enumerate(STARTS) if start <= place)
    assert {piece.data for piece in found if piece.whole} >= {*ENTRIES[:hurt], *ENTRIES[hurt + 1 :]}


@given(st.binary(min_size=8, max_size=300), st.integers(0, len(ENTRIES)))
def test_garbage_is_passed_over_in_one_finding(garbage: bytes, place: int) -> None:
    at = sum(map(len, ENTRIES[:place]))
    garbage = b"\xff" + garbage
    found = pieces(WHOLE[:at] + garbage + WHOLE[at:])
    assert [piece.data for piece in found if piece.whole] == ENTRIES
    (odd,) = (piece for piece in found if not piece.whole)
    assert (odd.position, odd.data, odd.findings[0].kind) == (at, garbage, "undecoded-bytes")


@pytest.mark.parametrize("left", [1, 20, 60, 100])
def test_a_half_written_last_entry(left: int) -> None:
    found = pieces(WHOLE + batch(20, size=500)[:left])
    assert [piece.data for piece in found[:-1]] == ENTRIES
    if left == 1:  # a zero like any other
        assert found[-1].padding
        return
    assert findings(found) == [(len(WHOLE), "truncated")]
    size = "1,079 bytes" if left > 61 else "61 bytes"  # of the entry, or of a header that does not say it yet
    assert found[-1].findings[0].text == f"the file ends in the middle of an entry: {left} of {size} present"


def test_a_wrong_checksum_is_left_to_the_reader_where_the_length_is_sound() -> None:
    found = pieces(flipped(batch(0), 70) + batch(2))
    assert [piece.size for piece in found] == [len(batch(0)), len(batch(2))]
    assert all(piece.whole for piece in found)


def test_a_wrong_length_is_damage_up_to_the_next_entry() -> None:
    first = batch(0)
    found = pieces(flipped(first, 10) + batch(2))
    assert [(piece.position, piece.whole) for piece in found] == [(0, False), (len(first), True)]


def test_an_entry_inside_the_value_of_a_damaged_one_is_not_taken_for_the_next() -> None:
    """It is proved by its checksum, but it lies behind the offsets that were."""
    inner = batch(3)
    outer = batch(6, 1)
    carrier = outer[:-3] + inner + outer[-3:]
    found = pieces(batch(4) + carrier + batch(7))
    assert [piece.data for piece in found if piece.whole] == [batch(4), batch(7)]


def test_offsets_that_do_not_grow_are_a_finding() -> None:
    found = pieces(batch(4) + batch(2))
    assert findings(found) == [(len(batch(4)), "out-of-order")]
    assert found[1].findings[0].text == "offset 2 follows 5, but offsets must increase"


@pytest.mark.parametrize("zeros", [1, 61, 5000, 1 << 20])
def test_zeros_at_the_end_are_no_damage(zeros: int) -> None:
    *entries, padding = pieces(WHOLE + bytes(zeros))
    assert [piece.data for piece in entries] == ENTRIES
    assert (padding.position, padding.zeros, padding.padding, padding.data) == (len(WHOLE), zeros, True, b"")


@pytest.mark.parametrize("zeros", [61, 5000, 1 << 20])
def test_zeros_in_the_middle_are(zeros: int) -> None:
    first, odd, second = pieces(batch(0) + bytes(zeros) + batch(2))
    assert (first.data, second.data) == (batch(0), batch(2))
    assert (odd.position, odd.zeros, odd.padding) == (len(batch(0)), zeros, False)
    assert odd.findings[0].text == f"{zeros:,} zero bytes (preallocated or damaged)"


def test_a_half_written_entry_in_a_file_that_was_set_aside() -> None:
    half = batch(2, size=500)[:300]
    file = opened(batch(0) + half + bytes(1 << 20))
    first, odd, padding = file.pieces()
    assert (first.data, odd.data[:300], padding.padding) == (batch(0), half, True)
    assert [finding.kind for finding in file.kind.message(odd).findings] == ["crc-mismatch", "malformed-record-set"]


def test_memory_does_not_grow_with_the_file() -> None:
    one = batch(0, size=50_000)

    def endless() -> Iterator[bytes]:
        for number in range(2000):
            yield struct.pack(">q", number * 2) + one[8:]

    chunks = endless()
    walk = LogWalk(lambda size: next(chunks, b""))
    held = [(piece.whole, len(walk.data)) for piece in walk.pieces()]
    assert len(held) == 2000
    assert all(whole for whole, _ in held)
    assert max(size for _, size in held) < 1 << 20


def test_damage_without_end_comes_in_pieces() -> None:
    amount = fewer_by_day(40, 4)
    noise = random.Random(1).randbytes(1 << 20).replace(b"\0", b"\1")
    chunks = iter([batch(0), *[noise] * amount])
    walk = LogWalk(lambda size: next(chunks, b""))
    found = list(walk.pieces())
    assert found[0].whole
    assert all(piece.size <= MOST_DAMAGE for piece in found)
    assert sum(piece.size for piece in found[1:]) == amount << 20


def test_hostile_lengths_do_not_buy_time() -> None:
    """Every 64 bytes claim an entry of a megabyte; checksums are computed for no more bytes than were earned."""
    claim = struct.pack(">qiibIhi", 1 << 40, 1 << 20, 0, 2, 0, 0, 0) + bytes(30) + b"\0\0\0\1"
    data = (claim + b"\xff" * (64 - len(claim) % 64)) * 40_000

    class Counted(LogWalk):
        computed = 0

        def whole(self, at: int) -> bytes | None:
            entry = super().whole(at)
            self.computed += len(entry or b"")
            return entry

    walk = Counted(reading(data))
    assert sum(piece.size for piece in walk.pieces()) == len(data)
    assert walk.computed <= CREDIT + 2 * CREDIT_PER_BYTE * len(data)


def test_an_entry_that_claims_more_than_any_may_have_is_none() -> None:
    data = struct.pack(">qiibIhi", 0, LARGEST, 0, 2, 0, 0, 0) + bytes(30) + b"\0\0\0\1"
    found = pieces(batch(0) + data + batch(2))
    assert [piece.whole for piece in found] == [True, False, True]
