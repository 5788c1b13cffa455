"""Where a big pcap file can be cut: between two packets, which only a walk from packet to packet can prove.

A cut is guessed: near the place where it is wanted, a chain of packet headers that can be. It is proved when a walk
from the cut before it lands exactly on it; the first packet stands behind the file's header, so where the walk through
every part lands on the beginning of the next, all cuts are right. Where one does not (a packet held bytes like headers,
or the file is damaged), the file is walked through anew, and cut where that walk comes by.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from mmap import ACCESS_READ, mmap
from typing import BinaryIO, NamedTuple

from ....capture.pcap import HEADER, PACKET_HEADER, Layout

CHAIN = 16
"""Headers in a row that are believed."""
WINDOW, BLOCK = 2 << 20, 4 << 20
"""Bytes looked at for a cut, and read at a time by a walk."""


def cuttable(head: bytes) -> Layout | None:
    """Read a file's first bytes; return None for what is no pcap file, or one with unusual packet headers."""
    layout = Layout.of(head)
    return layout if layout is not None and layout.record == PACKET_HEADER else None


class CutPoint(NamedTuple):
    """`packets` passed, and the place `end` behind the last."""

    packets: int
    end: int


def walk(file: BinaryIO, layout: Layout, start: int, stop: int) -> CutPoint:
    """Go from the packet at `start` to the first that begins at or behind `stop`, or to where none can begin."""
    read, most = struct.Struct(layout.order + "8xI").unpack_from, layout.most
    data, start, place, more = _opened(file, start)
    count = 0
    while True:
        edge, goal = len(data) - PACKET_HEADER, stop - start
        while place <= edge and place < goal:
            length = read(data, place)[0]
            behind = place + PACKET_HEADER + length
            if length > most or behind > len(data):
                break
            place = behind
            count += 1
        claims = read(data, place)[0] if place <= edge else 0
        if place >= goal or claims > most or not (added := more(max(BLOCK, claims))):
            return CutPoint(count, start + place)
        data, start, place = data[place:] + added, start + place, 0


def _opened(file: BinaryIO, start: int) -> tuple[bytes | mmap, int, int, Callable[[int], bytes]]:
    """Return (bytes, where they begin in the file, where `start` is in them, a function that reads more).

    A file of this machine is mapped whole, so that no more of it is touched than headers.
    """
    try:
        return mmap(file.fileno(), 0, access=ACCESS_READ), 0, start, lambda size: b""
    except (OSError, ValueError):  # no file of this machine, or an empty one
        file.seek(start)
        return b"", start, 0, file.read


def guess(file: BinaryIO, layout: Layout, near: int) -> int | None:
    """Return a place at or behind `near` where a packet seems to begin; None where none does in the next bytes."""
    file.seek(HEADER)
    known = layout.time(file.read(PACKET_HEADER))
    file.seek(near)
    data = file.read(WINDOW)
    if known is None:
        return None
    century = known // 1_000_000_000 >> 24  # the highest byte of the seconds lasts for half a year
    high = b"[%b]" % b"".join(b"\\x%02x" % (byte & 0xFF) for byte in (century, century + 1))
    pattern = b"(?s)(?=...%b)" % high if layout.order == "<" else b"(?s)(?=%b)" % high
    for found in re.finditer(pattern, data):
        if _chained(data, found.start(), layout):
            return near + found.start()
    return None


def _chained(data: bytes, place: int, layout: Layout) -> bool:
    """Return whether plausible packet headers follow one another from `place` on, as far as the data goes."""
    read = struct.Struct(layout.order + "IIII").unpack_from
    for seen in range(CHAIN):
        if place + PACKET_HEADER > len(data):
            return seen > 0
        _, fraction, captured, sent = read(data, place)
        if fraction * layout.unit >= 1_000_000_000 or captured > layout.most or not 0 < captured <= max(sent, 1):
            return False
        place += PACKET_HEADER + captured
    return True
