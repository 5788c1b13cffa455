"""What decompressing all batches of a capture costs the compression libraries alone.

Batches are found by their checksums: of kdbg, only what pairs messages is asked.
"""

from __future__ import annotations

import re
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import cramjam
import google_crc32c
import lz4.frame
import zstandard

import kdbg

LIBRARIES: dict[int, Callable[[bytes], bytes]] = {
    1: lambda data: zlib.decompress(data, 31),
    2: lambda data: bytes(cramjam.snappy.decompress_raw(data)),
    3: lz4.frame.decompress,
    4: lambda data: zstandard.ZstdDecompressor().stream_reader(data).read(),
}
"""By codec; librdkafka writes Snappy as one raw block."""
MAGIC, MAGIC_AT, LENGTH_AT, EPOCH_AT, CRC_AT, ATTRIBUTES_AT, RECORDS_AT = b"\x02", 16, 8, 12, 17, 21, 61
CODEC = 7


def batches(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The codec and the compressed records of each batch in a message."""
    for found in re.finditer(MAGIC, message):
        start = found.start() - MAGIC_AT
        if start < 0 or len(message) < start + RECORDS_AT:
            continue
        (length,) = struct.unpack_from(">i", message, start + LENGTH_AT)
        end = start + EPOCH_AT + length
        if not start + RECORDS_AT <= end <= len(message):
            continue
        crc, attributes = struct.unpack_from(">IH", message, start + CRC_AT)
        if attributes & CODEC and google_crc32c.value(message[start + ATTRIBUTES_AT : end]) == crc:
            yield attributes & CODEC, message[start + RECORDS_AT : end]


def alone(capture: Path) -> tuple[int, float]:
    """How many exchanges a capture has, and the CPU seconds of the codecs: the best of three."""
    exchanges, found = 0, list[tuple[int, bytes]]()
    with kdbg.read(capture) as reading:
        for exchange in reading:
            exchanges += 1
            for half in (exchange.request, exchange.response):
                found += batches(half.data) if half is not None else ()
    return exchanges, min(_decompressed(found) for _ in range(3))


def _decompressed(found: list[tuple[int, bytes]]) -> float:
    start = time.process_time()
    for codec, data in found:
        LIBRARIES[codec](data)
    return time.process_time() - start
