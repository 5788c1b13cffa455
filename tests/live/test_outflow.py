"""Packets through a pipe that is never waited on: none is lost while it is read, and the others are counted."""

from __future__ import annotations

import errno
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from scapy.utils import PcapNgReader, RawPcapNgReader

from kdbg.capture import Lost, frames, open_capture
from kdbg.live import bounded_pipe as overflow
from kdbg.live.bounded_pipe import Outflow
from tests.traffic import RAW_IP, Talk

START = 1_795_264_200_000_000_007
PACKETS = [segment.data for segment in Talk().ask("Metadata", 1, topics=[]).answer().end().segments]


class Ends(NamedTuple):
    """The ends of a pipe: what is read, and what is written by."""

    reading: int
    outflow: Outflow

    def read(self) -> bytes:
        """All that is waiting, with what the outflow still has, and its end."""
        os.set_blocking(self.reading, False)
        data = b""
        while self.outflow.pump() or self.outflow.size:
            data += os.read(self.reading, 1 << 20)
        os.close(self.outflow.pipe)
        os.set_blocking(self.reading, True)
        while more := os.read(self.reading, 1 << 20):
            data += more
        return data


@pytest.fixture
def ends() -> Iterator[Ends]:
    reading, writing = os.pipe()
    outflow = Outflow(writing, most=1 << 20)
    outflow.add(frames.interface(RAW_IP, "kdbg0"))
    yield Ends(reading, outflow)
    os.close(reading)


def give(outflow: Outflow, count: int, data: bytes = PACKETS[0]) -> None:
    for number in range(count):
        outflow.block(frames.enhanced(0, START + number, data, len(data) + 5))


def test_another_reader_finds_the_packets_and_what_is_said_of_them(ends: Ends) -> None:
    """Times in nanoseconds, lengths on the wire, the interface: as scapy reads them."""
    for number, data in enumerate(PACKETS):
        ends.outflow.block(frames.enhanced(0, START + number, data, len(data) + 5))
    ends.outflow.tell(START)
    with PcapNgReader(io.BytesIO(ends.read())) as reader:
        found = list(reader)
    assert [bytes(packet) for packet in found] == PACKETS
    assert [int(packet.time * 1_000_000_000) for packet in found] == [START + number for number in range(len(PACKETS))]
    assert [packet.wirelen for packet in found] == [len(data) + 5 for data in PACKETS]
    assert {packet.sniffed_on for packet in found} == {"kdbg0"}


def test_nothing_is_said_while_nothing_is_lost(ends: Ends) -> None:
    give(ends.outflow, 3)
    ends.outflow.tell(START)
    with open_capture(io.BytesIO(ends.read())) as capture:
        assert len(list(capture)) == 3
        assert capture.lost is None


def test_what_waits_is_bounded(ends: Ends) -> None:
    """Nobody reads, and neither the packets nor the pipe are waited for."""
    outflow, data = ends.outflow, bytes(10_000)
    for _ in range(3):
        give(outflow, 500, data)
        assert outflow.pump()
        assert outflow.size < (1 << 20) + 10_100
    assert 1000 < outflow.unread < 1500 == outflow.captured


def test_reader_and_writer_agree_on_what_is_missing(ends: Ends) -> None:
    """Once somebody reads, there is room again, and the place where packets are missing says how many."""
    outflow, data = ends.outflow, PACKETS[3] * 100
    give(outflow, 40_000, data)
    read = ends.reading
    os.set_blocking(read, False)
    seen = b""
    while outflow.pump():
        seen += os.read(read, 1 << 20)
    outflow.dropped = 17
    outflow.tell(START)
    give(outflow, 2, data)
    with open_capture(io.BytesIO(seen + ends.read())) as capture:
        list(capture)
        assert capture.packets == outflow.captured - outflow.unread > 2
        assert capture.lost == Lost(17, outflow.unread)
    assert outflow.unread > 0


def test_what_is_borrowed_is_written_or_copied(ends: Ends) -> None:
    """More than the pipe takes at once, and the room of it is used again before the pipe takes the rest."""
    outflow, room = ends.outflow, bytearray(60_000)
    expected = []
    for number in range(60):
        room[:] = bytes([number]) * len(room)
        head, payload = PACKETS[0][:40], memoryview(room)[: 50_000 + number]
        if outflow.borrow(0, START + number, [(head, payload), (b"", memoryview(room)[: 7 + number])]):
            assert outflow.size > 0
        expected += [head + payload, bytes(room[: 7 + number])]
        room[:] = bytes(len(room))
    outflow.block(frames.enhanced(0, START, PACKETS[1], len(PACKETS[1])))
    left = outflow.captured - outflow.unread
    with RawPcapNgReader(io.BytesIO(ends.read())) as reader:
        found = [data for data, _ in reader]
    assert outflow.unread > 0, "all of it had room"
    assert len(found) == left
    assert found == [packet for packet in [*expected, PACKETS[1]] if packet in found]


def test_a_reader_that_has_gone_costs_nothing(ends: Ends) -> None:
    gone = os.dup(ends.reading)
    os.close(ends.reading)
    os.close(gone)
    give(ends.outflow, 10)
    assert not ends.outflow.pump()
    assert ends.outflow.closed
    give(ends.outflow, 10)
    assert ends.outflow.size == 0
    assert ends.outflow.unread == 10
    os.dup2(ends.outflow.pipe, ends.reading)  # for the fixture to close


def test_a_reader_that_is_slow_for_a_while_misses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What memory does not hold waits on disk, in its order, and the disk is free again once it was read."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(overflow, "SEGMENT", 4 << 20)
    reading, writing = os.pipe()
    outflow = Outflow(writing, most=1 << 20, disk=1 << 30)
    outflow.add(frames.interface(RAW_IP))
    expected = []
    for number in range(1_500):
        data = PACKETS[number % len(PACKETS)] + number.to_bytes(4, "big") * 5_000
        expected.append(data)
        outflow.block(frames.enhanced(0, START + number, data, len(data)))
        if not number % 300:
            outflow.pump()
    assert outflow.size < 3 << 20
    with RawPcapNgReader(io.BytesIO(Ends(reading, outflow).read())) as reader:
        assert [data for data, _ in reader] == expected
    assert outflow.unread == 0
    assert not [fd for fd in Path("/proc/self/fd").iterdir() if fd.exists() and str(tmp_path) in str(fd.readlink())]
    os.close(reading)


@pytest.mark.parametrize("disk", [4 << 20, 1 << 30], ids=["bound", "disk full"])
def test_what_the_disk_does_not_take_is_counted(disk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets that are left out are counted where they are missing, and no block is damaged."""
    if disk > 4 << 20:
        monkeypatch.setattr(os, "pwrite", refused)
    reading, writing = os.pipe()
    outflow = Outflow(writing, most=1 << 20, disk=disk)
    outflow.add(frames.interface(RAW_IP))
    give(outflow, 2_000, bytes(10_000))
    outflow.tell(START)
    data = Ends(reading, outflow).read()
    with open_capture(io.BytesIO(data)) as capture:
        list(capture)
        assert capture.packets == outflow.captured - outflow.unread
    assert 0 < outflow.unread < 2_000
    os.close(reading)


def refused(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")
