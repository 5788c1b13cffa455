"""A record set's compressed bytes go in and the plain ones come out, or the other way; records are never looked at.

Whatever the input, reading ends in bytes no longer than `limit` or in a BadValue: no other exception gets out, and
no more memory is taken than the limit and one block beyond it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator

from ....budget import MEMORY
from ....errors import BadValue, BuildError
from ...findings import faults
from ...findings.faults import FaultKind

CODECS: dict[int, str] = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
"""The codec number in a batch's or message's attributes, and the codec's name."""

LIMIT = 256 * 2**20
"""Plain bytes that one record set may have: far above any broker's max.message.bytes, far below a bomb."""

SLICE = 64 * 2**10  # compressed bytes handed to a decoder at once
BLOCK = 2**20  # plain bytes taken from it at once

XERIAL = b"\x82SNAPPY\x00"
XERIAL_HEADER = XERIAL + struct.pack(">ii", 1, 1)  # version, and the oldest version that can read it
XERIAL_BLOCK = 32 * 2**10  # snappy-java's default, which Java's producer keeps
SNAPPY_RATIO = 22  # a copy of three bytes yields 64: snappy can't do better

TOO_MUCH = FaultKind.TOO_MUCH_INSIDE, FaultKind.BLOCK_TOO_LARGE
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte of 50 to 5f
ZSTD_RLE = 1
LZ4_WORDS = {
    "frameType_unknown": "expected an LZ4 frame here",
    "headerChecksum_invalid": "the frame header's checksum is wrong",
    "contentChecksum_invalid": "the content's checksum is wrong",
    "decompressionFailed": "a block does not decompress",
}
"""What the library's codes say."""


def decompress(codec: int, data: bytes | memoryview, *, magic: int = 2, limit: int = LIMIT) -> bytes:
    """Return `data` decompressed; `magic` is that of the message or batch around it, which matters for lz4.

    Raise `BadValue` for an unknown codec, bad data, or more than `limit` bytes inside; `WireError` (`memory-limit`) for
    more than the message at hand may still take.
    """
    if codec not in CODECS:
        raise BadValue("", 0, FaultKind.UNKNOWN_CODEC.of(codec))
    data, parts, length, most = bytes(data), [], 0, min(limit, MEMORY.left)
    if not data and codec:
        raise _bad(codec, faults.PlainFault.STREAM_EMPTY)
    try:
        for part in _READERS[codec](data, magic, most):
            length += len(part)
            if length > most:
                raise _bad(codec, FaultKind.TOO_MUCH_INSIDE.of(limit))
            parts.append(part)
    except BadValue as error:
        inside = error.fault.fault if isinstance(error.fault, faults.CodecFault) else None
        if most < limit and isinstance(inside, faults.ValueFact) and inside.kind in TOO_MUCH:
            raise MEMORY.refuse() from None
        raise
    plain = parts[0] if len(parts) == 1 else b"".join(parts)
    if codec:
        MEMORY.take_text(plain)
    return plain


def compress(codec: int, data: bytes | memoryview, *, magic: int = 2, level: int | None = None) -> bytes:
    """Compress `data` as a Java producer would; `level` is on the codec's own scale, None its default.

    Raise `BuildError` for an unknown codec or a level that it does not have.
    """
    if codec not in CODECS:
        raise BuildError("", f"unknown compression codec {codec}")
    try:
        return _WRITERS[codec](bytes(data), magic, level)
    except (zlib.error, ValueError, OverflowError) as refused:
        raise BuildError("", f"codec {CODECS[codec]} has no level {level}") from refused


def _bad(codec: int, fault: faults.Fault) -> BadValue:
    return BadValue("", 0, faults.CodecFault(CODECS[codec], fault))


def _read_gzip(data: bytes, magic: int, limit: int) -> Iterator[bytes]:
    """Yield what every member holds, in turn; zeros after the last are padding, as for gzip(1)."""
    start = 0
    while start < len(data) and (start == 0 or data[start]):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            piece = data[start : start + SLICE]
            try:
                part = member.decompress(piece, BLOCK)
            except zlib.error as error:
                raise _bad(1, FaultKind.LIBRARY_REFUSED.of(str(error).rpartition(": ")[2])) from None
            if not (part or piece or member.eof):
                raise _bad(1, faults.PlainFault.STREAM_CUT)
            start += len(piece) - len(member.unconsumed_tail) - len(member.unused_data)
            yield part
    if data[start:].strip(b"\x00"):
        raise _bad(1, FaultKind.STREAM_TOO_SHORT.of(len(data) - start))


def _write_gzip(data: bytes, magic: int, level: int | None) -> bytes:
    packer = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def _read_snappy(data: bytes, magic: int, limit: int) -> Iterator[bytes]:
    """Yield each block of snappy-java's framing, known by its first eight bytes, or one raw block (as librdkafka's)."""
    from cramjam import DecompressionError, snappy

    for block in _xerial_blocks(data) if data.startswith(XERIAL) else [data]:
        try:
            length = snappy.decompress_raw_len(block)
            if length > limit:
                raise _bad(2, FaultKind.BLOCK_TOO_LARGE.of(claims=length, most=limit))
            # The claim is not worth an allocation unless the block could hold that much.
            if length > SNAPPY_RATIO * len(block):
                raise _bad(2, FaultKind.BLOCK_IMPLAUSIBLE.of(size=len(block), claims=length))
            plain = bytes(snappy.decompress_raw(block))
        except DecompressionError as error:
            raise _bad(2, FaultKind.LIBRARY_REFUSED.of(str(error).removeprefix("snappy: "))) from None
        limit -= len(plain)
        yield plain


def _xerial_blocks(data: bytes) -> Iterator[bytes]:
    """Yield the compressed blocks; skip version fields, which some writers have little-endian (kafka-python #2414)."""
    start = 0
    while start < len(data):
        if data.startswith(XERIAL, start):  # the first stream or one appended: as a length it would be negative
            start += len(XERIAL_HEADER)
            continue
        length = int.from_bytes(data[start : start + 4], "big", signed=True)
        start += 4
        if length < 0 or start + length > len(data):
            raise _bad(2, FaultKind.BLOCK_CUT.of(size=length, left=max(len(data) - start, 0)))
        yield data[start : start + length]
        start += length
    if start > len(data):
        raise _bad(2, faults.PlainFault.STREAM_CUT_IN_HEADER)


def _write_snappy(data: bytes, magic: int, level: int | None) -> bytes:
    """Write snappy-java's framing at every magic, as Java does; all known readers take it, not all take raw blocks."""
    from cramjam import snappy

    out = bytearray(XERIAL_HEADER)
    for start in range(0, len(data), XERIAL_BLOCK):
        block = bytes(snappy.compress_raw(data[start : start + XERIAL_BLOCK]))
        out += struct.pack(">i", len(block)) + block
    return bytes(out)


def _read_lz4(data: bytes, magic: int, limit: int) -> Iterator[bytes]:
    """Yield what every frame holds, in turn."""
    from lz4.frame import LZ4FrameDecompressor

    start = 0
    while start < len(data):
        frame, piece = LZ4FrameDecompressor(), data[start : start + SLICE]
        place = 14 if len(piece) > 4 and piece[4] & 8 else 6  # after the content's size, or where none is flagged
        if magic == 0 and place < len(piece) and piece[place] == _lz4_checksum(piece[:place]):
            # The header checksum of old Kafka covers too much (KAFKA-3160).
            piece = piece[:place] + bytes([_lz4_checksum(piece[4:place])]) + piece[place + 1 :]
        while True:
            start += len(piece)
            try:
                part = frame.decompress(piece, max_length=BLOCK)
            except (RuntimeError, MemoryError) as error:
                code = str(error).rpartition("ERROR_")[2]
                raise _bad(3, FaultKind.LIBRARY_REFUSED.of(LZ4_WORDS.get(code, code))) from None
            yield part
            if frame.eof:
                break
            piece = data[start : start + SLICE] if frame.needs_input else b""
            if frame.needs_input and not piece:
                raise _bad(3, faults.PlainFault.STREAM_CUT)
        start -= len(frame.unused_data or b"")


def _lz4_checksum(header: bytes) -> int:
    from xxhash import xxh32_intdigest

    return xxh32_intdigest(header) >> 8 & 0xFF


def _write_lz4(data: bytes, magic: int, level: int | None) -> bytes:
    """Write independent blocks of 64 KiB and no content size, as Java does: old brokers know no other frame."""
    from lz4 import frame

    packed: bytes = frame.compress(
        data, compression_level=level or 0, block_size=frame.BLOCKSIZE_MAX64KB, block_linked=False, store_size=False
    )
    if magic == 0:
        return packed[:6] + bytes([_lz4_checksum(packed[:6])]) + packed[7:]
    return packed


def _read_zstd(data: bytes, magic: int, limit: int) -> Iterator[bytes]:
    """Yield what every frame holds, in turn, with or without its content's size."""
    from zstandard import ZstdDecompressor, ZstdError

    try:
        _check_zstd_frames(data)
        with ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
            while part := reader.read(BLOCK):
                yield part
    except (ZstdError, MemoryError) as error:
        raise _bad(4, FaultKind.LIBRARY_REFUSED.of(str(error).rpartition(": ")[2])) from None


def _check_zstd_frames(data: bytes) -> None:
    """Check that all frames and blocks are complete: the library's reader takes a cut-off stream for a whole one.

    Nothing is decompressed; raise `BadValue` for a cut-off stream or bytes that begin no frame.
    """
    from zstandard import frame_header_size

    start = 0
    while start < len(data):
        if data[start + 1 : start + 4] == ZSTD_SKIPPABLE and data[start] >> 4 == 5:
            start += 8 + int.from_bytes(data[start + 4 : start + 8], "little")
        elif not data.startswith(ZSTD_MAGIC, start):
            raise _bad(4, FaultKind.NO_FRAME.of(start))
        elif start + 5 > len(data):
            start += 5
        else:  # where it ends, its block headers say (RFC 8878, 3.1.1)
            checksum, last = data[start + 4] & 4, False
            start += frame_header_size(data[start : start + 18])
            while not last and start + 3 <= len(data):
                header = int.from_bytes(data[start : start + 3], "little")
                last, kind, length = bool(header & 1), header >> 1 & 3, header >> 3
                start += 3 + (1 if kind == ZSTD_RLE else length)
            start += checksum if last else 3
        if start > len(data):
            raise _bad(4, faults.PlainFault.STREAM_CUT)


def _write_zstd(data: bytes, magic: int, level: int | None) -> bytes:
    from zstandard import ZstdCompressor

    return ZstdCompressor(level=3 if level is None else level).compress(data)


_READERS: tuple[Callable[[bytes, int, int], Iterable[bytes]], ...] = (
    lambda data, *_: [data], _read_gzip, _read_snappy, _read_lz4, _read_zstd,
)  # fmt: skip
_WRITERS: tuple[Callable[[bytes, int, int | None], bytes], ...] = (
    lambda data, *_: data, _write_gzip, _write_snappy, _write_lz4, _write_zstd,
)  # fmt: skip
