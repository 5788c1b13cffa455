"""Secrets of TLS that stand in captures, on their way from those who read splits to those who pair messages.

They lie in files beside the runs that are shuffled, and go when these do: `Heard` writes what a split holds,
`Overheard` reads what all splits of a capture held.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO, cast
from uuid import uuid4

from ....capture import Capture, Packet
from ....capture.keylog import KeyLog
from ....capture.source import open_source
from ....protocol.findings import pack
from ....views.tables.cells import NEVER
from ..archive.plan import File, Plan, Split
from ..archive.store import OutputFile, open_file, resolve
from .runs import ROOM, PacketRun, runs

ENDING = ".keys"


class Heard(KeyLog):
    """Takes the key logs of one split of a capture; close it."""

    def __init__(self, folder: str, capture: int) -> None:
        super().__init__()
        self._file = OutputFile(f"{folder}/{ROOM}", f"{capture}-{uuid4().hex}{ENDING}")

    def take(self, data: bytes) -> None:
        """Append a key log to the file."""
        self._file.write(data + b"\n")

    def close(self) -> None:
        """Make the file whole."""
        self._file.close()


class Overheard:
    """The secrets that the captures of a run hold; to be asked once all of them were read."""

    def __init__(self, folder: str) -> None:
        from pyarrow.fs import FileSelector

        self._system, place, _ = resolve(f"{folder}/{ROOM}")
        listed = self._system.get_file_info(FileSelector(place, allow_not_found=True))
        self._paths: list[str] = [info.path for info in listed if info.base_name.endswith(ENDING)]

    def of(self, capture: int) -> list[bytes]:
        """Return the key logs of a capture."""
        mine = [path for path in self._paths if path.rpartition("/")[2].startswith(f"{capture}-")]
        return [self._system.open_input_file(path).readall() for path in mine]


class FileSlice(io.RawIOBase):
    """A stream of a pcap file's header and the packets from `start` to `stop`."""

    def __init__(self, file: File, split: Split) -> None:
        super().__init__()
        self.name: str = file.name
        self._file = open_file(file.place)
        self._file.seek(split.start)
        self._left = split.size
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

    file: File
    split: Split
    ports: frozenset[int]
    skipped_packets: int

    def __init__(
        self, plan: Plan, split: Split, ports: frozenset[int] = frozenset(), keys: KeyLog | None = None
    ) -> None:
        self.file, self.split, self.ports, self.keys = plan.files[split.file], split, ports, keys
        self.skipped_packets = 0
        self.report: dict[str, Any] = {}

    def __iter__(self) -> Iterator[PacketRun]:
        return runs(chain.from_iterable(self.blocks()))

    def blocks(self) -> Iterator[list[Packet]]:
        """Yield the packets of the split, many at a time; no block is empty."""
        part = FileSlice(self.file, self.split)
        try:
            with Capture(open_source(cast(BinaryIO, part)), before=self.split.before, keys=self.keys) as capture:
                yield from self._wanted(capture)
                self.report = self._report(capture)
        finally:
            part.close()

    def _wanted(self, capture: Capture) -> Iterator[list[Packet]]:
        """Yield the packets of the wanted ports, numbered through all files of the capture."""
        shift = self.split.shift
        if not shift and not self.ports and self.file.layout is not None:
            yield from capture.blocks()
            return
        for packets in capture.blocks():
            wanted = [packet for packet in packets if self._has_port(packet[2])] if self.ports else packets
            self.skipped_packets += len(packets) - len(wanted)
            if wanted:
                yield [cast(Packet, (number + shift, _storable(time), *rest)) for number, time, *rest in wanted]

    def _has_port(self, flow: bytes) -> bool:
        return not self.ports.isdisjoint((int.from_bytes(flow[-4:-2], "big"), int.from_bytes(flow[-2:], "big")))

    def _report(self, capture: Capture) -> dict[str, Any]:
        packets = capture.packets - self.split.before
        return {
            "file": self.split.file,
            "packets": packets,
            "tcp_packets": packets - capture.other,
            "other_packets": capture.other,
            "skipped_packets": self.skipped_packets,
            "packet_bytes": capture.bytes,
            "first_time": _storable(capture.first_time),
            "last_time": _storable(capture.last_time),
            "problems": [*map(pack, capture.problems)],
        }


def _storable(time: int | None) -> int | None:
    """Return the time, clamped to what 64 bits hold."""
    return None if time is None else min(max(time, -NEVER), NEVER)
