"""Blocks of a pcapng file, written: what they say goes in, their bytes come out. Times are in nanoseconds.

See draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct

from kdbg.capture.pcap import SNAPLEN
from kdbg.capture.pcapng import (
    ENHANCED,
    IF_NAME,
    IF_TSRESOL,
    INTERFACE,
    ISB_ACCEPTED,
    ISB_DELIVERED,
    ISB_SYSTEM_DROPPED,
    SECTION,
    STATISTICS,
    Counted,
)

NANOSECONDS = 9
_head = struct.Struct("<IIIIIII").pack
_length = struct.Struct("<I").pack
PADDING = tuple(bytes(-length % 4) for length in range(4))


def section() -> bytes:
    """Return the block that a file begins with; interfaces are numbered from 0 behind it."""
    return _block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(link: int, name: str = "", snaplen: int = SNAPLEN) -> bytes:
    """Return the description of the next interface: its link type, its name if it has one."""
    options = _option(IF_NAME, name.encode("utf-8", "replace")) if name else b""
    options += _option(IF_TSRESOL, bytes([NANOSECONDS])) + bytes(4)
    return _block(INTERFACE, struct.pack("<HHI", link, 0, snaplen) + options)


def enhanced(number: int, time: int, data: bytes, sent: int) -> bytes:
    """Return a packet of the interface of this number; it had `sent` bytes on the wire."""
    front, behind = around(number, time, len(data), sent)
    return b"%b%b%b" % (front, data, behind)


def around(number: int, time: int, size: int, sent: int) -> tuple[bytes, bytes]:
    """Return what stands before and behind a packet of `size` bytes in its block."""
    length = 32 + size + (-size & 3)
    front = _head(ENHANCED, length, number, time >> 32, time & 0xFFFFFFFF, size, sent)
    return front, PADDING[size & 3] + _length(length)


def statistics(number: int, time: int, counted: Counted) -> bytes:
    """Return what was counted at an interface since the capture began."""
    options = b"".join(
        _option(code, struct.pack("<Q", count))
        for code, count in (
            (ISB_SYSTEM_DROPPED, counted.dropped),
            (ISB_ACCEPTED, counted.accepted),
            (ISB_DELIVERED, counted.delivered),
        )
        if count is not None
    )
    return _block(STATISTICS, struct.pack("<III", number, time >> 32, time & 0xFFFFFFFF) + options + bytes(4))


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + PADDING[len(value) & 3]


def _block(kind: int, body: bytes) -> bytes:
    """Return a block; its body is padded to 32 bits."""
    body += PADDING[len(body) & 3]
    length = _length(len(body) + 12)
    return _length(kind) + length + body + length
