"""Batches compressed again: to the same size, to the same bytes but where there were values, and with bounded work."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kdbg.budget import MEMORY
from kdbg.protocol.wire.records.compression import compress, decompress
from kdbg.views.redact import fill
from kdbg.views.redact.fill import Effort, Plain, fill_frames, fill_gzip, lengthened, refill, snappy_packer

from ..cases import for_each

VALUES = st.one_of(
    st.binary(max_size=60),
    st.text("abcdefgh ", max_size=200).map(str.encode),
    st.integers(0, 300).map(lambda count: b'{"id":1,"name":"a customer"}' * (count // 28) + b"a" * (count % 28)),
)


def nothing(data: bytearray) -> None:
    """Prove nothing: there are no checksums in the bytes."""


def plain_of(values: list[bytes]) -> tuple[bytes, Plain]:
    """Records of these values, with numbers between them; and the same with blanks for values."""
    old, blank, rooms = b"", b"", []
    for number, value in enumerate(values):
        head = struct.pack(">hB", number * 7, len(value) % 251)
        rooms.append((len(old) + 3, len(old) + 3 + len(value)))
        old, blank = old + head + value, blank + head + b"x" * len(value)
    return old, Plain(blank, rooms, nothing)


def raw_snappy(data: bytes) -> bytes:
    """One block without framing, as librdkafka writes."""
    from cramjam import snappy

    return bytes(snappy.compress_raw(data))


WRITERS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (1, lambda data: compress(1, data)),
    "gzip 1": (1, lambda data: compress(1, data, level=1)),
    "snappy framed": (2, lambda data: compress(2, data)),
    "snappy": (2, raw_snappy),
    "lz4": (3, lambda data: compress(3, data)),
    "lz4 12": (3, lambda data: compress(3, data, level=12)),
    "zstd": (4, lambda data: compress(4, data)),
    "zstd 1": (4, lambda data: compress(4, data, level=1)),
}


@pytest.mark.parametrize("name", WRITERS)
@example(values=[bytes(5), b"\0\0\0\0\1", b"", b""])
@example(values=[bytes(5), b"\0\0\0\0\1", bytes(3)])
@given(values=st.lists(VALUES, min_size=1, max_size=40))
def test_the_size_is_the_same_and_so_is_all_but_the_values(name: str, values: list[bytes]) -> None:
    codec, write = WRITERS[name]
    old, plain = plain_of(values)
    packed = write(old)
    found = refill(codec, plain, packed, 2, Effort())
    if found is None:
        assert name.startswith("lz4"), "no way found"
        return
    assert len(found) == len(packed)
    inside = bytearray(decompress(codec, found))
    for start, end in plain.rooms:
        inside[start:end] = b"x" * (end - start)
    assert bytes(inside) == plain.data


def test_checksums_are_written_once_the_letters_are_there() -> None:
    def prove(data: bytearray) -> None:
        data[:1] = bytes([sum(data[1:]) % 256])

    old = b"\0" + bytes(range(200))
    packed = compress(1, old)
    found = refill(1, Plain(b"\0" + b"x" * 200, [(1, 201)], prove), packed, 2, Effort())
    assert found is not None
    inside = decompress(1, found)
    assert inside[0] == sum(inside[1:]) % 256
    assert inside[1:] == b"x" * 200


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_bytes_that_nothing_compresses_that_far_are_given_up(codec: int) -> None:
    plain = Plain(bytes(range(256)), [], nothing)
    assert refill(codec, plain, compress(codec, b"")[:20], 2, Effort()) is None


@given(data=st.binary(min_size=1, max_size=300), more=st.integers(0, 60))
def test_a_snappy_block_is_made_longer_and_says_the_same(data: bytes, more: int) -> None:
    from cramjam import snappy

    block = raw_snappy(data * 3)
    made = lengthened(block, more)
    left = len(block) + more - len(made)
    assert left == 0 or (len(data) < 20 and left > 0)
    assert bytes(snappy.decompress_raw(made)) == data * 3


@for_each("more", [0, 1, 2, 3, 6, 8, 9, 500, 70_000])
@for_each(("codec", "fill"), [(1, fill_gzip), (3, fill_frames), (4, fill_frames)])
def test_compressed_bytes_are_filled_up_with_what_decoders_pass_over(
    codec: int, fill: Callable[[bytes, int], bytes | None], more: int
) -> None:
    data = b"what was said" * 9
    packed = compress(codec, data)
    made = fill(packed, more)
    if made is None:
        assert codec != 1
        assert 0 < more < 8
        return
    assert len(made) == len(packed) + more
    assert decompress(codec, made) == data


def test_where_it_takes_too_long_a_batch_is_given_up_and_others_have_their_own() -> None:
    value = bytes(100_000)
    old, plain = plain_of([value])
    effort = Effort(spare=0)
    assert refill(1, plain, compress(1, old)[:20], 2, effort) is None
    assert effort.given_up == 1
    old, plain = plain_of([bytes(range(200))])
    assert refill(1, plain, compress(1, old), 2, effort) is not None, "what is captured gives time"
    assert effort.given_up == 1


def test_memory_that_the_message_took_is_not_taken_twice() -> None:
    old, plain = plain_of([b"what was said" * 90])
    MEMORY.begin()
    MEMORY.take(MEMORY.left)
    found = refill(4, plain, compress(4, old), 2, Effort())
    MEMORY.begin()
    assert found is not None


@pytest.mark.parametrize("codec", [1, 3, 4])
def test_bytes_that_do_not_decompress_to_the_plain_ones_are_not_taken(
    codec: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, plain = plain_of([b"what was said" * 9])
    packed = compress(codec, old)
    for name in ("fill_gzip", "fill_frames"):
        monkeypatch.setattr(fill, name, lambda data, more: b"?" * (len(data) + more))
    assert refill(codec, plain, packed, 2, Effort()) is None, "they are no compressed bytes"
    other = compress(codec, b"another text, which is not that of the batch")
    for name in ("fill_gzip", "fill_frames"):
        monkeypatch.setattr(fill, name, lambda data, more: other)
    assert refill(codec, plain, packed, 2, Effort()) is None, "they are of another text"


def test_a_snappy_block_is_lengthened_byte_by_byte() -> None:
    from cramjam import snappy

    block = b"\x08\x0cabcd\1\4"  # the literal abcd, a copy of it
    for more, wanted in (
        (0, block), (1, b"\x08\xf0\3abcd\1\4"), (4, b"\x08\xfc\3\0\0\0abcd\1\4"),
        (5, b"\x08\0a\xfc\2\0\0\0bcd\1\4"), (6, b"\x08\xf0\0a\xfc\2\0\0\0bcd\1\4"),
    ):  # fmt: skip
        assert lengthened(block, more) == wanted, more
    for more in range(42):
        made = lengthened(block, more)
        assert (len(made) - len(block), bytes(snappy.decompress_raw(made))) == (more, b"abcdabcd"), more
    assert len(lengthened(block, 99)) - len(block) == 41, "a literal has room for five bytes more for each of its own"


def test_the_length_of_a_literal_takes_the_bytes_that_it_wants() -> None:
    from cramjam import snappy

    for size in (60, 61, 256, 257, 65_536):
        data = bytes(number * number >> 7 & 0xFF for number in range(size))
        made = lengthened(bytes(snappy.compress_raw(data)), 3 * size)
        assert (len(made), bytes(snappy.decompress_raw(made))) == (
            len(bytes(snappy.compress_raw(data))) + 3 * size, data)  # fmt: skip


def test_a_framed_batch_is_filled_in_all_its_blocks() -> None:
    data = b"".join(b"%d" % number for number in range(20_000))
    old = compress(2, data)
    packer, filler = snappy_packer(old)
    packed = packer(b"x" * len(data))
    for missing in (0, 1, 20, len(old) - len(packed)):
        found = filler(packed, missing)
        assert found is not None
        assert (len(found), decompress(2, found)) == (len(packed) + missing, b"x" * len(data)), missing
    assert len(filler(packed, 1 << 20) or b"") < len(packed) + (1 << 20), "as many as there is room for"
    packer, filler = snappy_packer(old[16 + 4 :])
    assert packer(b"what") == b"\4\x0cwhat"
    assert len(filler(packer(b"what"), 99) or b"") < len(packer(b"what")) + 99


def test_rooms_are_filled_from_the_front() -> None:
    plain = Plain(b"ab....cd..", [(2, 6), (8, 10)], nothing)
    assert plain.room == 6
    assert plain.filled(ord("x"), b"") == b"abxxxxcdxx"
    assert plain.filled(0, b"QZ") == b"abQZ\0\0cd\0\0"
    assert plain.filled(0, b"QZVKW") == b"abQZVKcdW\0"

    def prove(data: bytearray) -> None:
        data[0] = len(data)

    assert plain._replace(prove=prove).filled(ord("x"), b"") == b"\x0abxxxxcdxx"


def test_what_decoders_pass_over() -> None:
    packed = gzip.compress(b"what was said", mtime=0)
    assert fill_gzip(packed, 0) == packed
    assert fill_gzip(packed, 1) == packed[:3] + b"\x08" + packed[4:10] + b"\0" + packed[10:]
    assert fill_gzip(packed, 4) == packed[:3] + b"\x08" + packed[4:10] + b"xxx\0" + packed[10:]
    assert fill_frames(b"frame", 0) == b"frame"
    assert [fill_frames(b"frame", more) for more in range(1, 8)] == [None] * 7
    assert fill_frames(b"frame", 8) == b"frame\x50\x2a\x4d\x18\0\0\0\0"
    assert fill_frames(b"frame", 10) == b"frame\x50\x2a\x4d\x18\2\0\0\0\0\0"


def test_the_work_for_a_batch_is_bounded_by_its_bytes() -> None:
    effort = Effort(spare=10)
    assert (effort.take(10), effort.take(0), effort.take(1), effort.given_up) == (True, True, False, 1)
    effort = Effort(spare=10)
    effort.begin(2)
    assert [effort.take(work) for work in (8000, 192, 4, 6, 1)] == [True, True, True, True, False]
    effort = Effort(spare=10)
    effort.begin(1)
    assert [effort.take(work) for work in (4100, 7, 6, 1)] == [True, False, True, False]
    effort.begin(1)
    assert (effort.take(4096), effort.take(1), effort.given_up) == (True, False, 3)
    assert Effort().take(1 << 33)
    assert not Effort().take((1 << 33) + 1)


def test_blanks_stay_blank_wherever_what_is_missing_can_be_filled() -> None:
    head, value = bytes(range(40)), b'{"id":1,"name":"a customer"}' * 4
    plain = Plain(head + b"x" * len(value), [(40, 40 + len(value))], nothing)
    for codec in (1, 2, 3, 4):
        for level in {1: (1, 6, 9), 3: (0, 9, 16), 4: (1, 3, 9, 19)}.get(codec, (None,)):
            old = compress(codec, head + value, level=level)
            found = refill(codec, plain, old, 2, Effort())
            assert found is not None
            assert (len(found), decompress(codec, found)) == (len(old), plain.data)


def test_where_few_bytes_are_missing_some_blanks_become_other_letters() -> None:
    plain = Plain(bytes(range(40)) + b"x" * 40, [(40, 80)], nothing)
    for codec in (3, 4):
        least = len(compress(codec, plain.data))
        for more in range(9):
            found = refill(codec, plain, compress(codec, plain.data) + bytes(more), 2, Effort())
            assert found is not None, more
            inside = decompress(codec, found)
            assert (len(found), inside[:40]) == (least + more, bytes(range(40)))
            assert (inside == plain.data) is (more in (0, 8))
    assert refill(3, plain._replace(rooms=[]), compress(3, plain.data) + b"?", 2, Effort()) is None


class Recorded(Effort):
    """Effort that keeps what was asked of it."""

    def __init__(self, spare: int = 1 << 40) -> None:
        super().__init__(spare)
        self.works: list[int] = []

    def take(self, work: int) -> bool:
        self.works.append(work)
        return super().take(work)


def test_what_is_tried_for_bytes_that_nothing_fits_and_what_each_try_costs() -> None:
    data = bytes(range(200)) * 2
    for codec, paces in ((1, [4, 16]), (2, [4]), (3, [4, 16]), (4, [4, 16])):
        old = compress(codec, b"")[:20]
        for rooms, letters in (([], 1), ([(0, 9)], 2)):
            effort = Recorded()
            assert refill(codec, Plain(data, rooms, nothing), old, 2, effort) is None
            assert effort.works == [pace * len(data) for pace in paces for _ in range(letters)], codec
        effort = Recorded(spare=-1)
        assert refill(codec, Plain(data, [], nothing), old, 2, effort) is None
        assert (len(effort.works), effort.given_up) == (1, 1)


def test_other_letters_are_tried_one_after_the_other_as_far_as_there_is_room() -> None:
    for room in (0, 1, 5, 12, 40):
        plain = Plain(b"\0\1\2" * 20 + b"x" * room, [(60, 60 + room)], nothing)
        filled: list[bytes] = []
        plain = plain._replace(prove=lambda data, filled=filled: filled.append(bytes(data[60:])))
        refill(4, plain, compress(4, plain.data) + b"?", 2, Recorded())
        letters = b"qzvkwjhgpfyb"
        tried = [letters[:amount].ljust(room, b"x") for amount in range(min(room, 12) + 1)]
        assert filled[: len(tried)] == tried[: len(filled)], room
        assert len(filled) > 1


def test_a_framed_batch_keeps_its_frame_and_has_blocks_as_large_as_its_own() -> None:
    from cramjam import snappy

    head = b"\x82SNAPPY\0" + bytes([0, 0, 0, 2, 0, 0, 0, 3])
    for size, most in ((100, 32_768), (40_000, 40_000)):
        block = bytes(snappy.compress_raw(bytes(size)))
        old = head + len(block).to_bytes(4) + block
        packer, filler = snappy_packer(old)
        made = packer(bytes(100_000))
        assert made[:16] == head
        assert decompress(2, made) == bytes(100_000)
        assert int(snappy.decompress_raw_len(made[20 : 20 + int.from_bytes(made[16:20])])) == most
        longer_by = filler(made, 3)
        assert longer_by is not None
        assert (longer_by[:16], len(longer_by), decompress(2, longer_by)) == (head, len(made) + 3, bytes(100_000))
