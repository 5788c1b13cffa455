"""Bytes go in, one of Kafka's two checksums comes out as an unsigned 32-bit number; nothing is compared here."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache


def crc32(data: bytes | memoryview) -> int:
    """Return the CRC-32 (IEEE 802.3, as in gzip) that messages of magic 0 and 1 carry, over magic to their end."""
    return zlib.crc32(data)


def crc32c(data: bytes | memoryview) -> int:
    """Return the CRC-32C (Castagnoli) that record batches (magic 2) carry, over attributes to the batch's end."""
    return castagnoli()(data)


@cache
def castagnoli() -> Callable[[bytes | memoryview], int]:
    """Import the compiled function when a batch is first checked, so that kdbg starts without it."""
    from fastcrc.crc32 import iscsi

    return iscsi
