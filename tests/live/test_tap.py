"""What goes through a proxy, for whoever shows or saves it: packets in a pipe or a file, and no connection waits."""

from __future__ import annotations

import asyncio
import io
import os
import resource
import select
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scapy.utils import RawPcapNgReader

import kdbg
from kdbg.capture import Lost, frames, open_capture
from kdbg.live.bounded_pipe import Outflow
from kdbg.live.proxy import PipeTap, SavingTap

from .proxies import answered, asked

CLIENT, BROKER = ("127.0.0.1", 40_000), ("127.0.0.1", 9092)
SIZE, PATIENCE = 6 << 20, 1.0


async def left_over(read: bool) -> tuple[int, int]:
    """How many bytes are left, and how many were read, of a reader that takes its time or none."""
    reading, writing = os.pipe()
    tap = PipeTap(Outflow(writing))
    tap.tap(CLIENT, BROKER, True, bytes(SIZE), 1, 1)
    taken = 0

    async def reader() -> None:
        nonlocal taken
        while data := os.read(reading, 1 << 17):
            taken += len(data)
            await asyncio.sleep(PATIENCE / 20)

    reads = asyncio.create_task(reader()) if read else None
    left = await tap.close(PATIENCE)
    assert not asyncio.get_running_loop().remove_writer(writing), "nobody waits for the pipe"
    tap.tap(CLIENT, BROKER, True, b"late", 1, 1)
    tap.tap(CLIENT, BROKER, True, bytes(SIZE), 1, 1)
    tap.ended(CLIENT, BROKER, 1, 1)
    await asyncio.sleep(0)
    os.close(writing)
    if reads is not None:
        await reads
    os.close(reading)
    return left, taken


def test_a_reader_that_is_slower_than_the_patience_gets_everything() -> None:
    left, taken = asyncio.run(left_over(read=True))
    assert left == 0
    assert SIZE < taken < SIZE + 10_000


def test_what_nobody_reads_is_counted() -> None:
    left, _ = asyncio.run(left_over(read=False))
    assert SIZE - (2 << 20) < left < SIZE + 10_000


def piped(work: Callable[[PipeTap], Any]) -> tuple[bytes, list[tuple[bytes, bytes, int]]]:
    """What a reader gets of what a tap is told, and each packet in it: its bytes, its interface, its nanoseconds."""
    (reading, writing), found = os.pipe(), list[bytes]()

    def read() -> None:
        with os.fdopen(reading, "rb") as stream:
            found.append(stream.read())

    async def run() -> int:
        tap = PipeTap(Outflow(writing))
        await work(tap)
        return await tap.close(60)

    reader = threading.Thread(target=read)
    reader.start()
    assert asyncio.run(run()) == 0
    os.close(writing)
    reader.join()
    with RawPcapNgReader(io.BytesIO(found[0])) as packets:
        rows = [(bytes(data), meta.ifname, (meta.tshigh << 32) + meta.tslow) for data, meta in packets]
    return found[0], rows


def test_what_goes_over_connections_comes_in_its_order() -> None:
    """Little and much of it, of connections that end, and of those that are left."""
    request = kdbg.encode(
        {"topics": [{"name": "t" * 20_000}]}, api="Metadata", version=1, direction="request",
        header={"correlation_id": 3, "client_id": "me"},
    )  # fmt: skip
    other = ("127.0.0.1", 40_001)

    async def work(tap: PipeTap) -> None:
        tap.tap(CLIENT, BROKER, True, asked(1), 1_000, 1)
        tap.tap(CLIENT, BROKER, True, memoryview(len(request).to_bytes(4) + request), 2_000, 1)
        tap.tap(other, BROKER, True, asked(2), 3_000, 2)
        tap.tap(CLIENT, BROKER, False, answered(1) + answered(3), 4_000, 1)
        tap.ended(CLIENT, BROKER, 5_000, 1)
        await asyncio.sleep(0)

    data, packets = piped(work)
    with kdbg.read_capture(io.BytesIO(data)) as reading:
        found = [
            (one.correlation_id, one.time, one.latency, one.peers.client, {f.kind.value for f in one.findings})
            for one in reading
        ]
    assert found == [
        (1, 1_000, 3_000, CLIENT, set()),
        (3, 2_000, 2_000, CLIENT, set()),
        (2, 3_000, None, other, {"no-response"}),
    ]
    assert {name for _, name, _ in packets} == {b"proxy"}
    last = [time for _, _, time in packets[-6:]]
    assert last[:3] == [5_000] * 3, "each connection ends once, by three packets"
    assert min(last[3:]) > 5_000


def test_little_waits_for_the_event_loop_and_16_kib_do_not() -> None:
    """A reader learns at once what comes; a packet more costs no call of the system while others come."""

    async def work() -> None:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        tap = PipeTap(Outflow(writing))
        assert os.read(reading, SIZE) == frames.section() + frames.interface(101, "proxy")
        for size, at_once in ((16_383, False), (16_384, True), (1, False)):
            for _ in range(2):
                tap.tap(CLIENT, BROKER, True, bytes(size), 1, 1)
                assert bool(ready(reading)) is at_once
            await asyncio.sleep(0)
            assert len(os.read(reading, SIZE)) > 2 * size
        tap.ended(CLIENT, BROKER, 1, 1)
        assert not ready(reading)
        assert await tap.close(60) == 0
        assert os.read(reading, SIZE)
        os.close(writing)
        os.close(reading)

    asyncio.run(work())


def ready(reading: int) -> list[int]:
    return select.select([reading], [], [], 0)[0]


def test_what_found_no_room_is_told_at_once() -> None:
    async def work() -> tuple[bytes, Outflow]:
        reading, writing = os.pipe()
        out = Outflow(writing, most=1 << 19)
        PipeTap(out).tap(CLIENT, BROKER, True, bytes(1 << 20), 1, 1)
        data = os.read(reading, SIZE)
        os.close(reading)
        os.close(writing)
        return data, out

    data, out = asyncio.run(work())
    assert (out.captured, out.unread) == (3 + 5, 2)
    with open_capture(io.BytesIO(data)) as capture:
        assert (len(list(capture)), capture.lost) == (6, Lost(0, 2))


def test_packets_go_on_once_the_pipe_takes_more() -> None:
    async def work() -> tuple[bytes, Outflow]:
        (reading, writing), found = os.pipe(), bytearray()
        os.set_blocking(reading, False)
        out = Outflow(writing, most=3 << 20)
        tap = PipeTap(out)
        tap.tap(CLIENT, BROKER, True, bytes(1 << 22), 1, 1)
        unread = out.unread
        assert (out.captured, unread > 2) == (3 + 17, True), "a handshake, and long packets, which cost less"
        while out.size or ready(reading):  # the pipe takes more, which the event loop notices
            found += os.read(reading, SIZE) if ready(reading) else b""
            await asyncio.sleep(0)
        tap.tap(CLIENT, BROKER, True, bytes(1), 2, 1)
        assert await tap.close(60) == 0
        found += os.read(reading, SIZE)
        assert out.unread == unread
        os.close(writing)
        os.close(reading)
        return bytes(found), out

    data, out = asyncio.run(work())
    with open_capture(io.BytesIO(data)) as capture:
        packets = len(list(capture))
        assert (packets, capture.packets, capture.lost) == (*[out.captured - out.unread] * 2, Lost(0, out.unread))


# Files


def exchanges(path: Path) -> list[Any]:
    with kdbg.read_capture(path) as reading:
        return [(one.correlation_id, one.latency) for one in reading]


def test_a_capture_is_saved_while_connections_go_on(tmp_path: Path) -> None:
    path, said = tmp_path / "x.pcap", list[str]()
    with SavingTap(str(path), said.append) as tap:
        tap.tap(CLIENT, BROKER, True, asked(1), 1_000, 1)
        tap.tap(CLIENT, BROKER, False, answered(1), 3_000, 1)
        before = path.stat().st_size
        assert exchanges(path) == [(1, 2_000)]
        tap.ended(CLIENT, BROKER, 4_000, 1)
        ending = path.stat().st_size - before
        tap.tap(CLIENT, BROKER, True, asked(2), 5_000, 2)
        before = path.stat().st_size
    assert path.stat().st_size - before == ending > 0, "a connection that is left ends with the file"
    assert exchanges(path) == [(1, 2_000), (2, None)]
    assert (tap.failed, said) == (False, [])
    tap.tap(CLIENT, BROKER, True, asked(3), 6_000, 3)
    assert path.stat().st_size - before == ending, "the file is closed"


def test_that_a_file_takes_no_more_is_said_once(tmp_path: Path) -> None:
    """The process would end by a signal otherwise; Python ignores it."""
    path, said = tmp_path / "x.pcap", list[str]()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with SavingTap(str(path), said.append) as tap:
        tap.tap(CLIENT, BROKER, True, asked(1), 1_000, 1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
        try:
            for number in (1, 2):
                tap.tap(CLIENT, BROKER, False, answered(number), 2_000, 1)
                tap.ended(CLIENT, BROKER, 3_000, 1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (exchanges(path), tap.failed) == ([(1, None)], True)
    assert said == [f"{path}: cannot be written further: File too large; kdbg does not save later packets"]
