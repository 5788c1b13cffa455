"""Every codec there and back, what other writers do differently, and what bombs and broken streams come to."""

from __future__ import annotations

import gzip
import io
import struct
import subprocess
import sys
import tracemalloc
import warnings
import zlib
from contextlib import suppress

import cramjam
import lz4.frame
import pytest
import xxhash
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kdbg.errors import BadValue, BuildError
from kdbg.protocol.wire.records.compression import CODECS, compress, decompress

from ...cases import for_each

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
PACKED = [GZIP, SNAPPY, LZ4, ZSTD]
MIB = 2**20

codecs = pytest.mark.parametrize("codec", PACKED, ids=CODECS.get)
plain_bytes = st.binary(max_size=500) | st.builds(
    lambda part, times: part * times, st.binary(max_size=60), st.integers(0, 4000)
)


@pytest.fixture(scope="module")
def kafka_python():
    """kafka-python's codecs; its import warns of its own affairs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from kafka import codec
    return codec


def problem(codec, data, **options) -> str:
    with pytest.raises(BadValue) as caught:
        decompress(codec, data, **options)
    return caught.value.problem


@pytest.mark.parametrize("codec", CODECS, ids=CODECS.get)
@given(plain=plain_bytes, magic=st.sampled_from([0, 1, 2]))
@settings(max_examples=30)
def test_what_is_compressed_comes_back(codec, plain, magic):
    assert decompress(codec, compress(codec, plain, magic=magic), magic=magic) == plain


@codecs
def test_several_blocks_and_slices_come_back(codec):
    noise = b"".join(struct.pack(">Q", number * 0x9E3779B97F4A7C15 % 2**64) for number in range(60_000))
    plain = noise + bytes(3 * MIB) + noise
    assert decompress(codec, compress(codec, plain)) == plain


@codecs
def test_streams_written_one_after_the_other_are_read_to_the_end(codec):
    twice = compress(codec, b"first,") + compress(codec, b"second")
    assert decompress(codec, twice) == b"first,second"


@codecs
def test_views_are_taken_as_bytes(codec):
    assert decompress(codec, memoryview(compress(codec, memoryview(b"plain")))) == b"plain"


@for_each(("codec", "level"), [(GZIP, 9), (LZ4, 12), (ZSTD, 19), (GZIP, 1), (ZSTD, -3), (SNAPPY, 5)])
def test_a_level_changes_the_effort_alone(codec, level):
    plain = b"some words, some other words; " * 300
    assert decompress(codec, compress(codec, plain, level=level)) == plain


@pytest.mark.parametrize(("codec", "level"), [(GZIP, 42), (ZSTD, 23), (ZSTD, 2**40), (LZ4, 2**40)])
def test_a_level_that_is_none_is_refused(codec, level):
    with pytest.raises(BuildError, match=f"{CODECS[codec]} has no level {level}"):
        compress(codec, b"plain", level=level)


def test_unknown_codecs_are_refused():
    assert problem(5, b"data") == "unknown compression codec 5"
    with pytest.raises(BuildError, match="unknown compression codec 7"):
        compress(7, b"data")


class TestGzip:
    def test_the_header_is_javas(self):
        assert compress(GZIP, b"x")[:8] == bytes.fromhex("1f8b080000000000")

    def test_what_the_standard_library_writes_is_read(self):
        assert decompress(GZIP, gzip.compress(b"plain", mtime=1)) == b"plain"

    def test_padding_is_passed_over(self):
        assert decompress(GZIP, compress(GZIP, b"plain") + bytes(9)) == b"plain"

    def test_bytes_after_the_stream_are_told(self):
        assert problem(GZIP, compress(GZIP, b"plain") + b"\x00abc") == (
            "gzip: 4 trailing bytes after the end of the compressed stream"
        )

    def test_zlib_streams_are_not_gzip(self):
        assert problem(GZIP, zlib.compress(b"plain")) == "gzip: incorrect header check"

    def test_a_wrong_checksum_is_found(self):
        packed = bytearray(compress(GZIP, b"plain"))
        packed[-5] ^= 1
        assert problem(GZIP, bytes(packed)) == "gzip: incorrect data check"


def xerial(*blocks: bytes, version: bytes = bytes.fromhex("0000000100000001")) -> bytes:
    return b"\x82SNAPPY\x00" + version + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


HELLO = bytes.fromhex("05 10") + b"hello"
"""A raw snappy block by hand: length 5, then a literal of 5."""


class TestSnappy:
    def test_a_raw_block_is_read(self):
        assert decompress(SNAPPY, HELLO) == b"hello"
        assert decompress(SNAPPY, b"\x00") == b""

    def test_xerial_blocks_made_by_hand_are_read(self):
        assert decompress(SNAPPY, xerial(HELLO, HELLO)) == b"hellohello"

    def test_copies_made_by_hand_are_read(self):
        assert decompress(SNAPPY, bytes.fromhex("0a 08") + b"abc" + bytes.fromhex("0d03")) == b"abcabcabca"

    def test_little_endian_versions_are_read(self):
        assert decompress(SNAPPY, xerial(HELLO, version=bytes.fromhex("0100000001000000"))) == b"hello"

    def test_a_header_without_blocks_is_an_empty_stream(self):
        assert decompress(SNAPPY, xerial()) == b""
        assert compress(SNAPPY, b"") == xerial()

    @pytest.mark.parametrize("magic", [0, 1, 2])
    def test_xerial_framing_is_written_at_every_magic_in_blocks_of_32_kib(self, magic):
        packed = compress(SNAPPY, bytes(70_000), magic=magic)
        first = cramjam.snappy.compress_raw(bytes(32768))
        last = cramjam.snappy.compress_raw(bytes(70_000 - 2 * 32768))
        assert packed == xerial(bytes(first), bytes(first), bytes(last))

    def test_kafka_python_and_kdbg_read_each_other(self, kafka_python):
        plain = b"some words, some other words; " * 4000
        assert decompress(SNAPPY, kafka_python.snappy_encode(plain)) == plain
        assert decompress(SNAPPY, kafka_python.snappy_encode(plain, xerial_compatible=False)) == plain
        assert kafka_python.snappy_decode(compress(SNAPPY, plain)) == plain

    def test_a_claim_no_block_can_keep_is_refused_before_memory_is_taken(self):
        claim = bytes.fromhex("ffffff7f") + bytes(8)  # 256 MiB less one byte
        assert problem(SNAPPY, claim) == "snappy: a block of 12 bytes cannot decompress to 268,435,455"

    @for_each(
        ("data", "text"),
        [
            (xerial(HELLO)[:-1], "a block declares 7 bytes, only 6 left"),
            (xerial(HELLO)[:18], "a block declares 0 bytes, only 0 left"),
            (xerial(HELLO)[:10], "the compressed stream ends in its header"),
            (xerial() + b"\xff\xff\xff\xff", "a block declares -1 bytes, only 0 left"),
            (xerial(HELLO[:-1]), "corrupt input"),
            (xerial(b""), "corrupt input (empty)"),
        ],
    )
    def test_broken_framing_is_told(self, data, text):
        assert problem(SNAPPY, data).startswith(f"snappy: {text}")


class TestLz4:
    def frame(self, descriptor: bytes, *, broken: bool) -> bytes:
        """A frame by hand: one stored block, "hello"."""
        head = bytes.fromhex("04224d18") + descriptor
        checksum = xxhash.xxh32_intdigest(head if broken else descriptor) >> 8 & 0xFF
        return head + bytes([checksum]) + struct.pack("<I", 5 | 1 << 31) + b"hello" + bytes(4)

    def test_the_header_written_is_javas(self):
        assert compress(LZ4, b"x", magic=1)[:7] == bytes.fromhex("04224d18604082")
        assert compress(LZ4, b"x", magic=2)[:7] == bytes.fromhex("04224d18604082")

    def test_magic_0_gets_the_broken_checksum(self):
        packed = compress(LZ4, b"x", magic=0)
        assert packed[6] == xxhash.xxh32_intdigest(packed[:6]) >> 8 & 0xFF
        assert packed[6] != compress(LZ4, b"x", magic=1)[6]
        assert packed[7:] == compress(LZ4, b"x", magic=1)[7:]

    @pytest.mark.parametrize("descriptor", [b"\x60\x40", b"\x68\x40" + struct.pack("<Q", 5)])
    @pytest.mark.parametrize("broken", [True, False])
    def test_magic_0_is_read_with_either_checksum(self, descriptor, broken):
        frame = self.frame(descriptor, broken=broken)
        assert decompress(LZ4, frame, magic=0) == b"hello"
        assert decompress(LZ4, frame + frame, magic=0) == b"hellohello"

    @pytest.mark.parametrize("magic", [1, 2])
    def test_the_broken_checksum_is_wrong_from_magic_1_on(self, magic):
        frame = self.frame(b"\x60\x40", broken=True)
        assert problem(LZ4, frame, magic=magic) == "lz4: the frame header's checksum is wrong"

    def test_a_checksum_that_is_neither_is_wrong_at_magic_0_too(self):
        frame = bytearray(self.frame(b"\x60\x40", broken=True))
        frame[6] ^= 0x55
        assert problem(LZ4, bytes(frame), magic=0) == "lz4: the frame header's checksum is wrong"

    def test_kafka_python_and_kdbg_read_each_others_old_frames(self, kafka_python):
        plain = b"some words, some other words; " * 4000
        assert decompress(LZ4, kafka_python.lz4_encode_old_kafka(plain), magic=0) == plain
        assert kafka_python.lz4_decode_old_kafka(compress(LZ4, plain, magic=0)) == plain

    def test_dependent_blocks_checksums_and_skippable_frames_are_read(self):
        plain = b"some words, some other words; " * 9000
        packed = lz4.frame.compress(plain, block_linked=True, content_checksum=True, block_checksum=True)
        skippable = bytes.fromhex("502a4d18 03000000 616263")
        assert decompress(LZ4, skippable + packed) == plain

    def test_a_wrong_content_checksum_is_found(self):
        packed = bytearray(lz4.frame.compress(b"plain", content_checksum=True))
        packed[-1] ^= 1
        assert problem(LZ4, bytes(packed)) == "lz4: the content's checksum is wrong"


class TestZstd:
    def stream(self, plain: bytes) -> bytes:
        """A frame without its content's size, as zstd-jni's streams are."""
        out = io.BytesIO()
        with zstandard.ZstdCompressor(write_checksum=True).stream_writer(out, closefd=False) as writer:
            writer.write(plain)
        return out.getvalue()

    def test_frames_without_content_size_are_read(self):
        plain = b"some words, some other words; " * 9000
        packed = self.stream(plain)
        assert zstandard.get_frame_parameters(packed).content_size == zstandard.CONTENTSIZE_UNKNOWN
        assert decompress(ZSTD, packed + packed) == plain + plain

    def test_empty_and_skippable_frames_are_passed_over(self):
        skippable = bytes.fromhex("5f2a4d18 03000000 616263")
        data = compress(ZSTD, b"") + skippable + self.stream(b"plain") + skippable
        assert decompress(ZSTD, data) == b"plain"

    def test_a_cut_off_stream_is_no_whole_one_even_where_the_library_takes_it(self):
        packed = self.stream(bytes(MIB))
        for end in (*range(1, 30), len(packed) - 1):
            assert problem(ZSTD, packed[:end]).startswith(
                ("zstd: the compressed stream is cut short", ("zstd: expected a zstd frame at byte "))
            )

    def test_bytes_after_the_stream_are_told(self):
        packed = compress(ZSTD, b"plain")
        assert problem(ZSTD, packed + b"junk") == f"zstd: expected a zstd frame at byte {len(packed)}"


def bomb(codec: int, size: int) -> bytes:
    """`size` zeros compressed, made without ever holding them."""
    if codec == GZIP:
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        return b"".join(packer.compress(bytes(MIB)) for _ in range(size // MIB)) + packer.flush()
    return compress(codec, bytes(MIB)) * (size // MIB)


@codecs
@pytest.mark.parametrize("limit", [0, 100, 8 * MIB])
def test_a_bomb_stops_at_the_limit_with_flat_memory(codec, limit):
    data = bomb(codec, 1024 * MIB if codec == ZSTD else 128 * MIB)
    tracemalloc.start()
    try:
        text = problem(codec, data, limit=limit)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert f"more than {limit:,} bytes" in text or "decompressed bytes (limit " in text
    assert peak < limit + 3 * MIB


def test_one_frame_of_a_gigabyte_stops_at_the_limit_with_flat_memory():
    packer = zstandard.ZstdCompressor().compressobj()
    data = b"".join(packer.compress(bytes(MIB)) for _ in range(1024)) + packer.flush()
    script = (
        "import sys, resource\n"
        "from kdbg.errors import BadValue\n"
        "from kdbg.protocol.wire.records.compression import compress, decompress\n"
        "data = sys.stdin.buffer.read()\n"
        "decompress(4, compress(4, b'warm'))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: decompress(4, data, limit=2**24)\n"
        "except BadValue as error: print(error.problem)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    answer = subprocess.run([sys.executable, "-c", script], input=data, capture_output=True, check=True).stdout
    text, grown = answer.decode().splitlines()
    assert text == "zstd: decompresses to more than 16,777,216 bytes"
    assert int(grown) < 64


@pytest.mark.parametrize("codec", CODECS, ids=CODECS.get)
def test_the_limit_itself_is_allowed(codec):
    packed = compress(codec, b"x" * 1000)
    assert decompress(codec, packed, limit=1000) == b"x" * 1000
    with pytest.raises(BadValue):
        decompress(codec, packed, limit=999)


@codecs
def test_no_data_is_no_stream(codec):
    assert problem(codec, b"") == f"{CODECS[codec]}: the stream is empty"
    assert decompress(0, b"") == b""


@codecs
@pytest.mark.parametrize("magic", [0, 2])
def test_every_prefix_is_refused(codec, magic):
    packed = compress(codec, bytes(range(256)) * 4, magic=magic)
    for end in range(len(packed)):
        if codec == SNAPPY and end == 16:
            continue  # a xerial header alone is an empty stream
        assert problem(codec, packed[:end], magic=magic).startswith(CODECS[codec])


@codecs
@given(data=st.data())
@settings(max_examples=150)
def test_corrupted_streams_give_bytes_or_badvalue(codec, data):
    magic = data.draw(st.sampled_from([0, 2]))
    packed = bytearray(compress(codec, data.draw(plain_bytes), magic=magic))
    for place in data.draw(st.lists(st.integers(0, len(packed) - 1), min_size=1, max_size=4)):
        packed[place] = data.draw(st.integers(0, 255))
    with suppress(BadValue):
        decompress(codec, bytes(packed), magic=magic, limit=MIB)


BEGINNINGS = [b"", b"\x1f\x8b\x08", b"\x82SNAPPY\x00", bytes.fromhex("04224d18"), bytes.fromhex("28b52ffd")]


@codecs
@given(start=st.sampled_from(BEGINNINGS), rest=st.binary(max_size=60), magic=st.integers(0, 2))
@settings(max_examples=150)
def test_garbage_gives_bytes_or_badvalue(codec, start, rest, magic):
    with suppress(BadValue):
        decompress(codec, start + rest, magic=magic, limit=MIB)


def test_importing_the_module_leaves_the_heavy_packages_alone():
    script = "import sys, kdbg.protocol.wire.records.compression; "
    script += "print({'cramjam', 'lz4', 'zstandard', 'xxhash'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
