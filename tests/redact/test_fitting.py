"""How compressed bytes are made to fit: element by element, byte by byte, and no longer than it is worth."""

from __future__ import annotations

import gzip

from kdbg.protocol.wire.records.compression import compress, decompress
from kdbg.views.redact.fill import Effort, Plain, Room, fill_frames, fill_gzip, refill
from kdbg.views.redact.snappy import Copy, Literal, elements, longer, plainer, snappy_packer


def nothing(data: bytearray) -> None:
    """Prove nothing."""


def raw(*parts: Literal | Copy) -> bytes:
    """A snappy block of these elements, of fewer than 128 plain bytes."""
    size = sum(len(part.data) if isinstance(part, Literal) else part.length for part in parts)
    return bytes([size]) + b"".join(part.encoded() for part in parts)


def plain_of(block: bytes) -> bytes:
    from cramjam import snappy

    return bytes(snappy.decompress_raw(block))


def test_a_literal_takes_as_few_bytes_as_its_length_wants() -> None:
    for size, extra in ((1, 0), (60, 0), (61, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 3)):
        literal = Literal.of(bytes(size))
        assert (literal.extra, len(literal.encoded())) == (extra, 1 + extra + size)
        assert elements(b"\0" + literal.encoded()) == (b"\0", [literal])


def test_elements_are_written_as_the_format_has_them() -> None:
    for element, written in (
        (Literal(b"a", 0), b"\0a"), (Literal(b"ab", 1), b"\xf0\1ab"), (Literal(b"ab", 4), b"\xfc\1\0\0\0ab"),
        (Copy(4, 1, 2), b"\1\1"), (Copy(11, 0x7FF, 2), b"\xfd\xff"), (Copy(5, 0x102, 2), b"\x25\2"),
        (Copy(1, 1, 3), b"\2\1\0"), (Copy(64, 0x1234, 3), b"\xfe\x34\x12"), (Copy(64, 7, 5), b"\xff\7\0\0\0"),
    ):  # fmt: skip
        assert element.encoded() == written
        assert elements(b"\x09" + written) == (b"\x09", [element])
    assert elements(b"\x80\x80\1\0a")[0] == b"\x80\x80\1"


def test_elements_are_made_longer() -> None:
    literal, copy = Literal(b"abc", 0), Copy(4, 1, 2)
    assert [literal.longer(more) for more in (0, 1, 4, 6)] == [
        (literal, 0), (Literal(b"abc", 1), 0), (Literal(b"abc", 4), 0), (Literal(b"abc", 4), 2),
    ]  # fmt: skip
    assert [copy.longer(more) for more in (0, 1, 2, 3, 5)] == [
        (copy, 0), (Copy(4, 1, 3), 0), (Copy(4, 1, 3), 1), (Copy(4, 1, 5), 0), (Copy(4, 1, 5), 2),
    ]  # fmt: skip
    assert Copy(4, 1, 5).longer(9) == (Copy(4, 1, 5), 9)
    assert Copy(4, 1, 3).longer(2) == (Copy(4, 1, 5), 0)


def test_the_front_of_a_block_becomes_one_literal() -> None:
    block = raw(Literal(b"abcd", 0), Copy(4, 4, 2), Literal(b"ef", 0), Copy(8, 2, 2))
    both, three, all_of = b"abcdabcd", b"abcdabcdef", b"abcdabcdefefefefef"
    rest = [Literal(b"ef", 0), Copy(8, 2, 2)]
    for more, wanted in (
        (0, block), (1, raw(Literal.of(three), rest[1])), (6, raw(Literal.of(three), rest[1])),
        (7, raw(Literal.of(all_of))), (99, raw(Literal.of(all_of))),
    ):  # fmt: skip
        assert plainer(block, more) == wanted, more
        assert plain_of(wanted) == plain_of(block) == all_of
    assert plainer(raw(Literal(b"abcd", 0), Copy(4, 4, 2)), 2) == raw(Literal.of(both))
    assert plainer(raw(Literal(b"abcd", 0), Copy(4, 4, 2)), 1) == raw(Literal(b"abcd", 0), Copy(4, 4, 2))


def test_a_block_has_room_for_five_bytes_more_for_each_of_a_literal() -> None:
    block = raw(Literal(b"abcd", 0), Copy(4, 4, 2))
    for more in (*range(21), 22):
        made = longer(block, more)
        assert (len(made) - len(block), plain_of(made)) == (more, b"abcdabcd"), more
    assert len(longer(block, 99)) - len(block) == 22


def test_a_framed_batch_is_filled_in_all_its_blocks() -> None:
    data = b"".join(b"%d" % number for number in range(20_000))
    old = compress(2, data)
    packer, filler = snappy_packer(old)
    packed = packer(b"x" * len(data))
    for missing in (0, 1, 20, len(old) - len(packed)):
        found = filler(packed, missing)
        assert found is not None
        assert (len(found), decompress(2, found)) == (len(packed) + missing, b"x" * len(data)), missing
    assert filler(packed, 1 << 20) is None
    packer, filler = snappy_packer(old[16 + 4 :])
    assert packer(b"what") == raw(Literal(b"what", 0))
    assert filler(packer(b"what"), 99) is None


def test_rooms_are_filled_from_the_front() -> None:
    plain = Plain(b"ab....cd..", [Room(2, 6), Room(8, 10)], nothing)
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
    plain = Plain(head + b"x" * len(value), [Room(40, 40 + len(value))], nothing)
    for codec in (1, 2, 3, 4):
        for level in {1: (1, 6, 9), 3: (0, 9, 16), 4: (1, 3, 9, 19)}.get(codec, (None,)):
            old = compress(codec, head + value, level=level)
            found = refill(codec, plain, old, 2, Effort())
            assert found is not None
            assert (len(found), decompress(codec, found)) == (len(old), plain.data)


def test_where_few_bytes_are_missing_some_blanks_become_other_letters() -> None:
    plain = Plain(bytes(range(40)) + b"x" * 40, [Room(40, 80)], nothing)
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
        for rooms, letters in (([], 1), ([Room(0, 9)], 2)):
            effort = Recorded()
            assert refill(codec, Plain(data, rooms, nothing), old, 2, effort) is None
            assert effort.works == [pace * len(data) for pace in paces for _ in range(letters)], codec
        effort = Recorded(spare=-1)
        assert refill(codec, Plain(data, [], nothing), old, 2, effort) is None
        assert (len(effort.works), effort.given_up) == (1, 1)


def test_other_letters_are_tried_one_after_the_other_as_far_as_there_is_room() -> None:
    for room in (0, 1, 5, 12, 40):
        plain = Plain(b"\0\1\2" * 20 + b"x" * room, [Room(60, 60 + room)], nothing)
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
