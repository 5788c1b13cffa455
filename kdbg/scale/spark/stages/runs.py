"""Packets packed into runs: what the map side ships and the reduce side unpacks.

A shuffle of single packets costs more than the decoding; a run is up to 256 KiB of consecutive packets of one
connection, both directions in the order of the capture. Unpacked they are the very packets that `kdbg decode` would
have fed to a session: nothing is lost, not even an acknowledgement, so that gaps are found and told the same.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ....capture.packet import Packet, reverse

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
