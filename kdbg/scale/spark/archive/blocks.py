"""Large pcapng files, to be cut between blocks: where blocks begin, how many packets they contain.

A part of a file is read after the file's `head`: the section and the interfaces that its blocks refer to. A file in
which these change later, or whose packets have no times of their own, is read in one piece: the walk reports that.
"""

from __future__ import annotations

import re
import struct
from typing import BinaryIO, NamedTuple

from ....capture.pcap import LARGEST
from ....capture.pcapng import ENHANCED, MAGIC, ORDERS, SMALLEST, SMALLEST_ENHANCED, PcapngReader

MOST_HEAD = 64 << 10
"""Bytes of a head that each task gets."""
CHAIN = 16
"""Blocks in a row that are believed."""
BLOCK = 4 << 20
"""Bytes that a walk reads at a time."""
NOWHERE = -1
"""The end of a walk through blocks that must be read together with those before them."""


class Blocks(NamedTuple):
    """What all parts of a pcapng file need: its bytes before the first packet, and its byte order."""

    head: bytes
    order: str

    @classmethod
    def of(cls, file: BinaryIO) -> Blocks | None:
        """Read a file's first bytes; return None for other files, and those that must be read in one piece."""
        file.seek(0)
        data = file.read(MOST_HEAD)
        if data[:4] != MAGIC or (order := ORDERS.get(data[8:12])) is None:
            return None
        read, place = struct.Struct(order + "II").unpack_from, 0
        while place + SMALLEST <= len(data):
            kind, length = read(data, place)
            if kind == ENHANCED:
                return cls(data[:place], order)
            if not SMALLEST <= length <= len(data) - place or length & 3:
                break
            place += length
        return None

    def reader(self) -> tuple[PcapngReader, list[str]]:
        """Return a reader of the blocks after the head, and the list of what it notes."""
        notes: list[str] = []
        found = PcapngReader(notes.append)
        found.take(self.head)
        return found, notes

    def guess(self, data: bytes) -> int | None:
        """Return a place where a packet's block seems to begin; None where none does in these bytes."""
        kind = struct.pack(self.order + "I", ENHANCED)
        starts = (found.start() for found in re.finditer(re.escape(kind), data))
        return next((start for start in starts if self._chained(data, start)), None)

    def _chained(self, data: bytes, place: int) -> bool:
        """Return whether plausible blocks follow one another from `place` on, as far as the data goes."""
        read, last = struct.Struct(self.order + "II").unpack_from, struct.Struct(self.order + "I").unpack_from
        for seen in range(CHAIN):
            if place + SMALLEST > len(data):
                return seen > 0
            kind, length = read(data, place)
            least = SMALLEST_ENHANCED if kind == ENHANCED else SMALLEST
            end = place + length
            if length & 3 or not least <= length <= LARGEST:
                return False
            if end > len(data):
                return seen > 0
            if last(data, end - 4)[0] != length:
                return False
            place = end
        return True

    def time(self, file: BinaryIO, place: int) -> int | None:
        """Return the time of the packet whose block begins at a place."""
        file.seek(place)
        length = struct.unpack(self.order + "4xI", file.read(8))[0]
        file.seek(place)
        packets = self.reader()[0].take(file.read(length)).packets
        return packets[0][0] if packets else None

    def walk(self, file: BinaryIO, start: int, stop: int) -> tuple[int, int, int | None, bool]:
        """Go from the block at `start` to the first that begins at or after `stop`.

        Return packets and end, which is `NOWHERE` where the blocks must be read together with others; the time of the
        last packet, and whether what follows is an incomplete block.
        """
        reader, notes = self.reader()
        context, count, place, data = reader.context, 0, start, b""
        is_timed, time = True, None
        file.seek(start)
        while True:
            packets, used, missing, damage = reader.take(data)
            count += len(packets)
            is_timed = is_timed and all(packet[0] is not None for packet in packets)
            time = packets[-1][0] if packets else time
            place, data = place + used, data[used:]
            left = stop - place - len(data)
            if place >= stop or damage or not (more := file.read(min(BLOCK, left) if left > 0 else missing)):
                break
            data += more
        end = place if is_timed and not notes and reader.context == context else NOWHERE
        return count, end, time, place < stop and not damage
