"""Splits read: their packets packed into runs, which the map side ships and the reduce side unpacks.

A shuffle of single packets costs more than the decoding; a run is up to 256 KiB of consecutive packets of one
connection, both directions in the order of the capture. Unpacked they are the very packets that `kdbg decode` would
have fed to a session: nothing is lost, not even an acknowledgement, so that gaps are found and told the same.

Secrets of TLS that a capture contains are shuffled with the runs: to each partition that pairs messages of the capture.
"""

from __future__ import annotations

import io
import itertools
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple, cast
from zlib import crc32

from ....capture import Capture, Packet
from ....capture.keylog import KeyLog
from ....capture.packet import reverse
from ....capture.source import open_source
from ....protocol.findings import pack
from ....views.tables.cells import storable
from ..archive.plan import OPENING, File, Split
from ..archive.store import open_file

RUN_BYTES, RUN_PACKETS = 256 << 10, 4096
"""A run is closed before it grows past one of these; a single packet may be larger."""
OPEN_BYTES = 32 << 20
"""Memory of runs that are still open, of all connections together; beyond that all of them are closed."""
OVERHEAD = 100
"""Bytes that Python needs for a packet beside what is in it."""
PORTS = struct.Struct(">HH")
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


class Part(NamedTuple):
    """What a task must know to read a split: `number` is its place in the plan, `capture` the name of its capture.

    The connections of the capture are in `spread` partitions.
    """

    number: int
    capture: str
    file: File
    split: Split
    spread: int = 1

    @property
    def size(self) -> int:
        """Bytes that are read in the time that it takes."""
        return self.split.size + OPENING


def partition(capture: int, key: bytes, spread: int, partitions: int) -> int:
    """Return the partition, of so many, that pairs the messages of a connection."""
    return (capture + crc32(key) % spread) % partitions


@dataclass(slots=True, eq=False)
class _Open:
    """A run that still grows."""

    key: bytes
    packets: list[bytes] = field(default_factory=list)
    payload: list[bytes] = field(default_factory=list)
    size: int = 0


def runs(packets: Iterable[Packet]) -> Iterator[PacketRun]:
    """Pack the packets of one split; memory is bounded by `OPEN_BYTES`, whatever they are."""
    open_runs: dict[bytes, tuple[_Open, int]] = {}
    pack = RECORD.pack
    order, held = itertools.count(), 0
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
            yield _closed(run, next(order))
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
                    yield _closed(run, next(order))
            open_runs.clear()
            held = 0
    for run, against in open_runs.values():
        if not against:
            yield _closed(run, next(order))


def _closed(run: _Open, order: int) -> PacketRun:
    return PacketRun(run.key, order, b"".join(run.packets), b"".join(run.payload))


class KeyLogs(KeyLog):
    """Keeps the key logs of one split of a capture as `logs`, for those who pair its messages."""

    def __init__(self) -> None:
        super().__init__()
        self.logs: list[bytes] = []

    def take(self, data: bytes) -> None:
        self.logs.append(data + b"\n")


class FileSlice(io.RawIOBase):
    """A stream of a pcap file's header and the packets from `start` to `stop`."""

    def __init__(self, file: File, split: Split) -> None:
        super().__init__()
        self.name: str = file.name
        self._file = open_file(file.place)
        self._file.seek(split.start)
        self._left = split.size if split.most is None else sys.maxsize
        self._head = file.layout.head if file.layout is not None else b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        if self._head:
            head, self._head = self._head[:size], self._head[size:]
            return head
        data = self._file.read(min(size, self._left) if size >= 0 else self._left)
        self._left -= len(data)
        return data

    def close(self) -> None:
        self._file.close()
        super().close()


class SplitReading:
    """The runs of one split; `report` says afterwards what was read, in plain values.

    `ports` narrows to connections with one of these ports. `keys` takes the secrets of TLS that stand in it.
    """

    def __init__(
        self, file: File, split: Split, ports: frozenset[int] = frozenset(), keys: KeyLog | None = None
    ) -> None:
        self._file, self.split, self._ports, self._keys = file, split, ports, keys
        self.report: dict[str, Any] = {}

    def __iter__(self) -> Iterator[PacketRun]:
        return runs(itertools.chain.from_iterable(self.blocks()))

    def blocks(self) -> Iterator[list[Packet]]:
        """Yield the packets of the split, of the wanted ports, many at a time; no block is empty."""
        shift, ports, skipped = self.split.shift, self._ports, 0
        as_it_is = not shift and not ports and self._file.layout is not None
        part = FileSlice(self._file, self.split)
        try:
            skip = self.split.before if self._file.layout is None else 0
            source = open_source(cast(BinaryIO, part))
            with Capture(source, before=self.split.before, skip=skip, most=self.split.most, keys=self._keys) as capture:
                for packets in capture.blocks():
                    wanted = packets
                    if ports:  # they stand at the end of a flow
                        wanted = [packet for packet in packets if not ports.isdisjoint(PORTS.unpack(packet[2][-4:]))]
                    skipped += len(packets) - len(wanted)
                    if as_it_is:
                        yield packets
                    elif wanted:  # numbered through all files of the capture
                        yield [cast(Packet, (number + shift, storable(time), *rest)) for number, time, *rest in wanted]
                read = capture.packets - self.split.before
                self.report = {
                    "file": self.split.file,
                    "packets": read,
                    "tcp_packets": read - capture.other,
                    "other_packets": capture.other,
                    "skipped_packets": skipped,
                    "packet_bytes": capture.bytes,
                    "first_time": None if capture.first_time is None else storable(capture.first_time),
                    "last_time": None if capture.last_time is None else storable(capture.last_time),
                    "problems": [*map(pack, capture.problems)],
                }
        finally:
            part.close()
