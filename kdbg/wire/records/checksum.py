"""Bytes go in, one of Kafka's two checksums comes out as an unsigned 32-bit number; nothing is compared here."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache


def crc32(data: bytes | memoryview) -> int:
    """CRC-32 (IEEE 802.3, as in gzip): what messages of magic 0 and 1 carry, over magic to the message's end."""
    return zlib.crc32(data)


def crc32c(data: bytes | memoryview) -> int:
    """CRC-32C (Castagnoli): what record batches (magic 2) carry, over attributes to the batch's end."""
    # google-crc32c takes bytes alone; bytes(data) is the same object when it already is bytes.
    return _castagnoli()(bytes(data))


@cache
def _castagnoli() -> Callable[[bytes], int]:
    """The C function, imported when a batch is first checked, so that kdbg starts without it."""
    from google_crc32c import value

    function: Callable[[bytes], int] = value
    return function
