"""Batches compressed again: to the same size, to the same bytes but where there were values."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kdbg.budget import MEMORY
from kdbg.protocol.wire.records.compression import compress, decompress
from kdbg.views.redact import fill
from kdbg.views.redact.fill import Effort, Plain, Room, fill_frames, fill_gzip, refill
from kdbg.views.redact.snappy import elements, longer

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
        rooms.append(Room(len(old) + 3, len(old) + 3 + len(value)))
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
    found = refill(1, Plain(b"\0" + b"x" * 200, [Room(1, 201)], prove), packed, 2, Effort())
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
    made = longer(block, more)
    left = len(block) + more - len(made)
    assert left == 0 or (len(data) < 20 and left > 0)
    assert bytes(snappy.decompress_raw(made)) == data * 3
    front, found = elements(block)
    assert front + b"".join(element.encoded() for element in found) == block


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
