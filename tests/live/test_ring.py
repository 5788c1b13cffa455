"""Packets on their way from the kernel: its ring as it writes one, the process that empties it, the files it writes."""

from __future__ import annotations

import errno
import gc
import io
import json
import logging
import os
import re
import resource
import signal
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from scapy.utils import RawPcapNgReader

from kdbg.capture import Lost, frames, open_capture
from kdbg.capture.pcapng import Counted
from kdbg.errors import CaptureError, CaptureRefused
from kdbg.live import interface as module
from kdbg.live.bounded_pipe import Files, Outflow, Rotation
from kdbg.live.capture_process import CaptureOptions, CaptureOutcome, CaptureProcess, Capturing, capture, tell
from kdbg.live.interface import OpenSocket, Ring, RingPacket, _program, open_interface

BLOCK = 1 << 19
LOOPBACK, ETHERNET = 772, 1
OUTGOING, INCOMING = 4, 0
VLAN = 0x10, 0x50
"""The status of a packet with a VLAN tag of the usual kind, and of one that says its kind."""


SMALL_FILE = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 100, 101) + b"".join(
    struct.pack("<IIII", *time, len(data), len(data) + more) + data
    for time, data, more in (((1, 2), b"one", 0), ((3, 4), b"two2", 5), ((5, 6), b"three", 0))
)
"""A capture of three packets, in microseconds."""


class Kernel:
    """A packet socket, as far as a ring asks one; `hand_over` writes a block into the memory that they share."""

    def __init__(self) -> None:
        self.options: list[tuple[Any, ...]] = []
        self.drops = [3, 0]
        self._file = os.memfd_create("ring")
        os.truncate(self._file, 64 * BLOCK)

    def fileno(self) -> int:
        return self._file

    def setsockopt(self, *option: Any) -> None:
        self.options.append(option)

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        self.options.append((level, option, size))
        return struct.pack("=III", 100, self.drops.pop(0) if self.drops else 0, 7)

    def hand_over(self, number: int, *packets: bytes, status: int = 1) -> None:
        data, first = b"".join(packets), 48
        os.pwrite(self._file, struct.pack("=IIIIII", 1, 0, status, len(packets), first, 0), number * BLOCK)
        os.pwrite(self._file, data, number * BLOCK + first)

    def status(self, number: int) -> int:
        return int.from_bytes(os.pread(self._file, 4, number * BLOCK + 8), "little")

    def close(self) -> None:
        os.close(self._file)


def packet(
    data: bytes, *, time: tuple[int, int] = (5, 7), interface: int = 2, hardware: int = ETHERNET,
    kind: int = INCOMING, status: int = 0, tag: int = 0, protocol: int = 0, more: int = 0,
) -> bytes:  # fmt: skip
    """A packet in a block: its header, its address, and its bytes behind a gap; the network's begin at 14."""
    start = 80
    step = start + len(data) + 9
    head = struct.pack("=IIIIIIHHIIHH8x", step, *time, len(data), len(data) + more, status, start, start + 14, 0, tag,
                       protocol, 0)  # fmt: skip
    address = struct.pack("=HHiHBB", 17, 0, interface, hardware, kind, 6)
    return (head + address).ljust(start, b"\0") + data + bytes(9)


@contextmanager
def ring(buffer: int = 4 * BLOCK, *, ethernet: bool = True) -> Iterator[tuple[Kernel, Ring]]:
    kernel = Kernel()
    found = Ring(cast(socket.socket, kernel), buffer, ethernet=ethernet)
    yield kernel, found
    found._memory.close()
    kernel.close()


FRAME = bytes(range(60))


def test_a_ring_is_asked_for_in_blocks() -> None:
    for buffer, blocks in ((0, 4), (4 * BLOCK + 5, 4), (6 * BLOCK, 6)):
        with ring(buffer) as (kernel, _):
            assert kernel.options == [
                (263, 10, 2),
                (263, 5, struct.pack("=7I", BLOCK, blocks, 2048, blocks * 256, 10, 0, 0)),
                (263, 6, 12),
            ]


def test_blocks_are_taken_in_turn_and_given_back() -> None:
    with ring() as (kernel, found):
        assert found.take() is None
        for number in range(9):
            kernel.hand_over(number % 4, packet(FRAME, time=(number, 9), more=4), packet(b"x" * 20, interface=3))
            assert found.take() == [RingPacket(2, number * 1_000_000_000 + 9, FRAME, 64),
                                    RingPacket(3, 5_000_000_007, b"x" * 20,
                                                                                           20)]  # fmt: skip
            assert kernel.status(number % 4) == 0
            assert found.take() is None
        kernel.hand_over(1, packet(FRAME), status=4)
        assert found.take() is None, "the kernel's own"


def test_drops_are_those_since_the_ring_was_there() -> None:
    with ring() as (kernel, found):
        assert (found.dropped, found.count()) == (0, 0)
        kernel.drops = [2, 5]
        assert [found.count(), found.count(), found.count(), found.dropped] == [2, 7, 7, 7]


def test_what_leaves_by_loopback_comes_back_and_is_taken_once() -> None:
    with ring() as (kernel, found):
        ways = [(b"0", LOOPBACK, OUTGOING), (b"1", LOOPBACK, INCOMING), (b"2", ETHERNET, OUTGOING)]
        kernel.hand_over(0, *(packet(data, hardware=hardware, kind=kind) for data, hardware, kind in ways))
        assert [one.data for one in found.take() or ()] == [b"1", b"2"]


def test_tags_of_vlans_are_put_back_into_ethernet_alone() -> None:
    tagged = [packet(FRAME, status=status, tag=0x2007, protocol=0x88A8) for status in (0, *VLAN)]
    with ring() as (kernel, found):
        kernel.hand_over(0, *tagged)
        expected = [FRAME, *(FRAME[:12] + kind + b"\x20\x07" + FRAME[12:] for kind in (b"\x81\x00", b"\x88\xa8"))]
        assert [(one.data, one.sent) for one in found.take() or ()] == list(zip(expected, (60, 64, 64), strict=True))
    with ring(ethernet=False) as (kernel, found):
        kernel.hand_over(0, *tagged)
        assert [(one.data[:46], one.sent) for one in found.take() or ()] == [(FRAME[14:], 60)] * 3


# Files


def test_a_ring_of_files_keeps_the_latest(tmp_path: Path) -> None:
    (tmp_path / "x-000007.pcapng").write_bytes(b"old")
    for other in ("x-9.txt", "x-y.pcapng", "8.pcapng", "x-8"):
        (tmp_path / other).write_bytes(b"")
    files = Files(str(tmp_path / "x.pcapng"), Rotation(20, 2))
    files.head(b"head")
    for block in (b"a" * 16, b"b" * 8, b"c" * 8, b"d", b"e" * 40, b"f"):
        files.add(block)
    files.flush()
    files.close()
    assert {path.name: path.read_bytes() for path in tmp_path.glob("x-0*")} == {
        "x-000007.pcapng": b"old", "x-000011.pcapng": b"head" + b"e" * 40, "x-000012.pcapng": b"headf"}  # fmt: skip
    assert [path.name for path in files.names] == ["x-000011.pcapng", "x-000012.pcapng"]


def test_a_ring_of_files_begins_with_1_and_with_a_file_each_that_it_may_have(tmp_path: Path) -> None:
    """Also where somebody took one of them away."""
    files = Files(str(tmp_path / "x.pcapng"), Rotation(10, 2))
    for letter in b"abcd":
        files.add(bytes([letter]) * 10)
        if letter == ord("b"):
            (tmp_path / "x-000001.pcapng").unlink()
    files.close()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "x-000003.pcapng": b"c" * 10, "x-000004.pcapng": b"d" * 10}  # fmt: skip


def test_a_file_without_rotation_takes_everything(tmp_path: Path) -> None:
    files = Files(str(tmp_path / "x.pcapng"))
    files.head(b"head")
    files.add(b"a" * 100_000)
    files.flush()
    assert (tmp_path / "x.pcapng").read_bytes() == b"head" + b"a" * 100_000
    assert (tmp_path / "x.pcapng").stat().st_mode & 0o777 == 0o600
    files.close()
    assert list(files.names) == [tmp_path / "x.pcapng"]


def test_256_kib_wait_to_be_written_at_most(tmp_path: Path) -> None:
    files = Files(str(tmp_path / "x.pcapng"))
    for size, written in ((262_143, 0), (1, 262_144), (262_143, 262_144), (1, 524_288)):
        files.add(bytes(size))
        assert (tmp_path / "x.pcapng").stat().st_size == written
    files.close()


def test_files_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(CaptureRefused, match=r"none/x\.pcapng: cannot be written: No such file"):
        Files(str(tmp_path / "none" / "x.pcapng"))
    if Path("/dev/full").exists():
        files = Files("/dev/full")
        files.head(b"head")
        with pytest.raises(CaptureError, match="/dev/full: cannot be written further: No space left"):
            files.flush()
        files.add(b"more")
        files.close()  # the error was raised, and once is enough


@pytest.mark.parametrize(("limit", "left"), [(20, 20), (25, 20), (9, 0)])
def test_a_file_ends_after_its_last_complete_block(limit: int, left: int, tmp_path: Path) -> None:
    files, hard = Files(str(tmp_path / "x.pcapng")), resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    for letter in b"abc":
        files.add(bytes([letter]) * 10)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(CaptureError, match=r"x\.pcapng: cannot be written further: File too large$"):
            files.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert (tmp_path / "x.pcapng").read_bytes() == (b"a" * 10 + b"b" * 10)[:left]


# The process that captures


class Rings:
    """A ring whose blocks a test gives; `dropped` is what it counts."""

    def __init__(self, *batches: list[RingPacket]) -> None:
        self.batches, self.dropped = list(batches), 0

    def take(self) -> list[RingPacket] | None:
        return self.batches.pop(0) if self.batches else None

    def count(self) -> int:
        return self.dropped


def test_packets_go_to_the_reader_and_into_the_file(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    here = socket.if_nametoindex("lo")
    batches = [[RingPacket(here, 1, b"one", 3), RingPacket(9999, 2, b"two", 9)], [RingPacket(9999, 3, b"three", 5)], []]
    rings, path = Rings(*batches), str(tmp_path / "x.pcapng")
    with socket.socket() as sock:
        found = Capturing("lo", OpenSocket(sock, 101), cast(Ring, rings), Outflow(writing), Files(path), -1)
        assert found.take(2)
        assert Path(path).stat().st_size > 0
        rings.dropped = 3
        assert found.take(2)
        assert not found.take(2)
        for rings.dropped in (3, 4):
            found._look_after(at_once=True)
            assert found.outflow.dropped == rings.dropped
        found.end_files()
        found.outflow.drain(found.now)
    os.close(writing)
    assert found.outcome() == CaptureOutcome(3, 4, 0, [path], "")
    with os.fdopen(reading, "rb") as stream:
        data = stream.read()
    for each in (data, Path(path).read_bytes()):
        with RawPcapNgReader(io.BytesIO(each)) as reader:
            packets = list(reader)
        assert [(bytes(one), meta.wirelen, meta.tslow) for one, meta in packets] == [
            (b"one", 3, 1), (b"two", 9, 2), (b"three", 5, 3)]  # fmt: skip
        assert [meta.ifname for _, meta in packets] == [b"lo", None, None], "the other one has gone"
        with open_capture(io.BytesIO(each)) as capture:
            assert (list(capture), capture.packets, capture.lost) == ([], 3, Lost(4, 0))


def captured(wanted: CaptureOptions, work: Any, last: bytes = b"") -> tuple[bytes, list[Any]]:
    """What a reader gets while `work` is done, until it got `last`, and what is reported."""
    packets, control, report = os.pipe(), os.pipe(), os.pipe()

    def run() -> None:
        try:
            capture(wanted, packets[1], control[0], report[1])
        finally:
            gc.collect()  # what the end of the process would close
            for end in (packets[1], control[0], report[1]):
                os.close(end)

    thread = threading.Thread(target=run)
    thread.start()
    with os.fdopen(packets[0], "rb") as stream, os.fdopen(report[0], "rb") as said:
        first = json.loads(said.readline())
        data = b""
        if not first["problem"]:
            work()
            while last not in data:
                data += os.read(stream.fileno(), 1 << 16)
        os.close(control[1])
        data += stream.read()
        lines = [first, *map(json.loads, said)]
    thread.join()
    return data, lines


def datagrams(count: int, size: int) -> tuple[str, Any]:
    """A filter, and what sends so many datagrams that it takes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def work() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, socket.socket(type=socket.SOCK_DGRAM) as other:
            one.bind(("127.0.0.1", port))
            for number in range(count):
                other.sendto(bytes([number % 250]) * size, ("127.0.0.1", port))

    return f"udp port {port}", work


@pytest.mark.usefixtures("capturing")
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # the process closes its socket by ending
@pytest.mark.parametrize(("interface", "link"), [("lo", 14), ("any", 0)])
def test_each_datagram_is_captured_once(interface: str, link: int, tmp_path: Path) -> None:
    expression, work = datagrams(5, 100)
    path = str(tmp_path / "x.pcapng")
    data, lines = captured(CaptureOptions(interface, expression, link + 28 + 40, 1 << 21, path), work, b"\4" * 40)
    assert lines == [{"problem": ""}, CaptureOutcome(5, 0, 0, [path])._asdict()]
    for each in (data, Path(path).read_bytes()):
        with RawPcapNgReader(io.BytesIO(each)) as reader:
            found = [(bytes(one)[link + 28 :], meta.wirelen) for one, meta in reader]
        assert found == [(bytes([number]) * 40, link + 128) for number in range(5)]


def in_thread(work: Any) -> Any:
    """What is returned in a thread of its own, which has a priority of its own."""
    found = list[Any]()
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def raised() -> int:
    """The priority that this process may have: its own where that may not be raised."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    return os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.usefixtures("capturing")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_captures_comes_before_others_and_ends_when_its_reader_has_gone() -> None:
    expression, _ = datagrams(1, 100)
    packets, control, report = os.pipe(), os.pipe(), os.pipe()

    def run() -> int:
        capture(CaptureOptions("lo", expression, 100, 1 << 21), packets[1], control[0], report[1])
        gc.collect()
        return os.getpriority(os.PRIO_PROCESS, 0)

    os.close(packets[0])
    assert in_thread(run) == in_thread(raised)
    first, outcome = map(json.loads, os.read(report[0], 1 << 16).splitlines())
    assert (first, outcome["files"], outcome["problem"]) == ({"problem": ""}, [], "")
    for end in (packets[1], *control, *report):
        os.close(end)


@pytest.mark.usefixtures("capturing")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_packets_are_captured_until_that_is_ended(tmp_path: Path) -> None:
    """One comes once the one before has been read and a moment has passed; what a file lacks is its last block."""
    expression, one = datagrams(1, 100)
    path = tmp_path / "x.pcapng"

    def work() -> None:
        for _ in range(3):
            threading.Event().wait(0.05)
            one()

    data, lines = captured(CaptureOptions("lo", expression, 200, 1 << 21, str(path)), work)
    assert lines[1] == CaptureOutcome(3, 0, 0, [str(path)])._asdict()
    with RawPcapNgReader(io.BytesIO(data)) as reader:
        *_, (_, meta) = reader
    last = (meta.tshigh << 32) + meta.tslow
    assert path.read_bytes().endswith(frames.statistics(0, last, Counted(0, 3, 3)))


@pytest.mark.usefixtures("capturing")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_kernel_leaves_out_what_leaves_by_loopback() -> None:
    opened = open_interface("lo", "tcp", 100)
    assert (opened.link, opened.socket.getsockopt(263, 23)) == (1, 1)
    opened.socket.close()


@pytest.mark.usefixtures("capturing")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_cannot_be_opened_is_said() -> None:
    interfaces = [name for _, name in socket.if_nameindex()]
    for wanted, problem in (
        (
            CaptureOptions("nowhere", "", 100, 1),
            f"nowhere: no such interface; use one of {', '.join([*interfaces, 'any'])}",
        ),
        (CaptureOptions("lo", "tcp prot 1", 100, 1), "--bpf: Failed to compile filter expression"),
        (CaptureOptions("lo", "tcp", 100, 1, "/nowhere/x"), "/nowhere/x: cannot be written: No such file or directory"),
    ):
        data, (said,) = captured(wanted, None)
        assert (data, said["problem"][: len(problem)]) == (b"", problem)


def test_where_there_is_no_right_to_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> None:
        raise PermissionError

    python = os.path.realpath(sys.executable)
    rights = f"use sudo kdbg watch …, or once sudo setcap cap_net_raw+ep {python}; kdbg proxy needs no privileges"
    monkeypatch.setattr("kdbg.live.interface._open", refuse)
    with pytest.raises(CaptureRefused, match=f"^any: no permission to capture packets; {re.escape(rights)}$"):
        open_interface("any", "", 100)
    monkeypatch.setattr("kdbg.live.interface._hardware", lambda name: 1)
    with pytest.raises(CaptureRefused, match="lo: no permission to capture packets"):
        open_interface("lo", "", 100)
    monkeypatch.delattr(socket, "AF_PACKET")
    with pytest.raises(
        CaptureRefused,
        match=r"^lo: kdbg watch requires Linux; on other systems use tcpdump -U -w - … \| kdbg decode -$",
    ):
        open_interface("lo", "", 100)


def test_where_an_interface_or_libpcap_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*given: Any) -> None:
        raise OSError(errno.ENODEV, "No such device")

    def missing(*given: Any, linktype: int) -> None:
        raise ImportError

    logging.getLogger("scapy").setLevel(0)
    with monkeypatch.context() as patch:
        patch.setattr("kdbg.live.interface._open", gone)
        with pytest.raises(CaptureRefused, match=r"^any: capturing failed: No such device$"):
            open_interface("any", "", 100)
    assert logging.getLogger("scapy").level == logging.CRITICAL, "it says nothing by itself"
    monkeypatch.setattr("scapy.arch.common.compile_filter", missing)
    text = r"libpcap: not installed; kdbg needs it to compile filters; apt install libpcap0\.8"
    with pytest.raises(CaptureRefused, match=f"^{text}$"):
        _program("tcp", 1, 100)


# Apart


def test_a_feed_is_what_the_process_writes_until_it_is_stopped() -> None:
    def work(packets: int, control: int, report: int) -> None:
        tell(report, {"problem": ""})
        os.write(packets, b"begun")
        os.read(control, 1)
        os.write(packets, b" ended")
        tell(report, CaptureOutcome(7, 1, 2, ["x"])._asdict())

    with CaptureProcess("lo", work) as feed:
        assert feed.stream.read(5) == b"begun"
        feed.stop()
        feed.stop()
        assert feed.stream.read() == b" ended"
        assert feed.finish() == CaptureOutcome(7, 1, 2, ["x"], "")


def test_a_process_that_fails_or_breaks_off_is_an_error() -> None:
    def fails(packets: int, control: int, report: int) -> None:
        tell(report, {"problem": "lo: no right"})

    with pytest.raises(CaptureError, match=r"^lo: no right$"):
        CaptureProcess("lo", fails).__enter__()
    with pytest.raises(CaptureError, match=r"^lo: the capture process ended$"):
        CaptureProcess("lo", lambda packets, control, report: None).__enter__()
    with CaptureProcess("lo", lambda packets, control, report: tell(report, {"problem": ""})) as feed:
        assert feed.finish() == CaptureOutcome(0, None, 0, [], "the capture process failed")


def test_nobody_who_is_told_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    tell(writing, {"problem": ""})
    os.close(writing)


def test_the_address_of_a_packet_is_behind_its_header() -> None:
    assert (module.ADDRESS, module.HAND_OVER) == (52, 10)
