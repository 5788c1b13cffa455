"""Packets packed into runs: what the map side ships and the reduce side unpacks.

A shuffle of single packets costs more than the decoding; a run is up to 256 KiB of consecutive packets of one
connection, both directions in the order of the capture. Unpacked they are the very packets that `kdbg decode` would
have fed to a session: nothing is lost, not even an acknowledgement, so that gaps are found and told the same.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ....capture.packet import Packet, reverse
from ..archive.store import resolve

RUN_BYTES, RUN_PACKETS = 256 << 10, 4096
"""A run is closed before it grows past one of these; a single packet may be larger."""
OPEN_BYTES = 32 << 20
"""Memory of runs that are still open, of all connections together; beyond that all of them are closed."""
OVERHEAD = 100
"""Bytes that Python needs for a packet beside what is in it."""
RECORD = struct.Struct("<QqIIIIHB")
"""number, time, seq, ack, bytes captured, bytes sent, flags, whether it goes against the key's direction."""


class PacketRun(NamedTuple):
    """Packets of one connection. `key` is its flow in the direction that sorts first; `order` counts in its split."""

    key: bytes
    order: int
    packets: bytes
    payload: bytes

    @property
    def size(self) -> int:
        """Return how many packets it holds."""
        return len(self.packets) // RECORD.size

    @property
    def last(self) -> int:
        """Return the number of its last packet."""
        return int(RECORD.unpack_from(self.packets, len(self.packets) - RECORD.size)[0])

    def unpack(self) -> Iterator[Packet]:
        """Yield the packets, as they were packed."""
        flows, place, payload = (self.key, reverse(self.key)), 0, self.payload
        for number, time, seq, ack, captured, length, flags, back in RECORD.iter_unpack(self.packets):
            data = payload[place : place + captured]
            place += captured
            yield number, time, flows[back], seq, ack, flags, data, length


class _Open:
    """A run that still grows."""

    __slots__ = ("key", "packets", "payload", "size")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.packets: list[bytes] = []
        self.payload: list[bytes] = []
        self.size = 0


def runs(packets: Iterable[Packet]) -> Iterator[PacketRun]:
    """Pack the packets of one split; memory is bounded by `OPEN_BYTES`, whatever they are."""
    open_runs: dict[bytes, tuple[_Open, int]] = {}
    pack = RECORD.pack
    order = held = 0
    for number, time, flow, seq, ack, flags, payload, length in packets:
        found = open_runs.get(flow)
        if found is None:
            back = reverse(flow)
            key = min(flow, back)
            run = _Open(key)
            open_runs[key], open_runs[reverse(key)] = (run, 0), (run, 1)
            found = open_runs[flow]
        run, against = found
        if run.packets and (run.size + len(payload) > RUN_BYTES or len(run.packets) >= RUN_PACKETS):
            yield _closed(run, order)
            order += 1
            held -= run.size + OVERHEAD * len(run.packets)
            run.packets, run.payload, run.size = [], [], 0
        run.packets.append(pack(number, time, seq, ack, len(payload), length, flags, against))
        run.payload.append(payload)
        size = len(payload) + RECORD.size
        run.size += size
        held += size + OVERHEAD
        if held > OPEN_BYTES:
            for run, against in open_runs.values():
                if not against:
                    yield _closed(run, order)
                    order += 1
            open_runs.clear()
            held = 0
    for run, against in open_runs.values():
        if not against:
            yield _closed(run, order)
            order += 1


def _closed(run: _Open, order: int) -> PacketRun:
    return PacketRun(run.key, order, b"".join(run.packets), b"".join(run.payload))


LARGE = 32 << 10
"""Bytes from which on a run is large."""
ROOM = "spill"
"""The folder in the run's folder."""
MOST_OPEN = 128
"""Files that a task holds open at once."""


class Claim:
    """Gives back the bytes of large runs, which those who read splits have put into files."""

    system: Any
    folder: str

    def __init__(self, folder: str) -> None:
        self.system, self.folder, _ = resolve(f"{folder}/{ROOM}")
        self._open: OrderedDict[str, Any] = OrderedDict()

    def get(self, name: str, place: int, length: int) -> bytes:
        """Read so many bytes from a place in a file."""
        file = self._open.pop(name, None)
        if file is None:
            if len(self._open) >= MOST_OPEN:
                self._open.popitem(last=False)[1].close()
            file = self.system.open_input_file(f"{self.folder}/{name}")
        self._open[name] = file
        return bytes(file.read_at(length, place))

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()
