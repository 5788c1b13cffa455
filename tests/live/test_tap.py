"""The end of a proxy's view: what is left is waited for as long as the reader takes some of it."""

from __future__ import annotations

import asyncio
import os

from kdbg.live.bounded_pipe import Outflow
from kdbg.live.packet_tap import PipeTap

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
    os.close(writing)
    if reads is not None:
        await reads
    os.close(reading)
    return left, taken


def test_a_reader_that_is_slower_than_the_patience_gets_everything() -> None:
    left, taken = asyncio.run(left_over(read=True))
    assert left == 0
    assert taken > SIZE


def test_what_nobody_reads_is_counted() -> None:
    left, _ = asyncio.run(left_over(read=False))
    assert left > SIZE - (2 << 20)
