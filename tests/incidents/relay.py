"""The middle of a line: packets from one tun device to the other, later, not at all, or only the short ones.

Run as a process of its own, so that nothing else keeps packets waiting: `python relay.py FD FD`, with an object of JSON
a line on its standard input: delay (seconds, each way), loss (0 to 1), cut (true or false), longest (bytes).
"""

from __future__ import annotations

import heapq
import json
import os
import random
import select
import sys
import time
from itertools import count

LONGEST = 65_535


def relay(ends: tuple[int, int], orders: int) -> None:
    """Pass packets on until `orders` is closed."""
    random.seed(7)
    way = {"delay": 0.0, "loss": 0.0, "cut": False, "longest": LONGEST}
    waiting: list[tuple[float, int, int, bytes]] = []
    other, numbers, said = {ends[0]: ends[1], ends[1]: ends[0]}, count(), b""
    while True:
        pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for ready in select.select([*ends, orders], [], [], pause)[0]:
            if ready == orders:
                if not (more := os.read(orders, 4096)):
                    return
                *lines, said = (said + more).split(b"\n")
                for line in lines:
                    way |= json.loads(line)
                continue
            packet = os.read(ready, LONGEST)
            if not way["cut"] and len(packet) <= way["longest"] and random.random() >= way["loss"]:
                heapq.heappush(waiting, (time.monotonic() + way["delay"], next(numbers), other[ready], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(waiting)
            os.write(end, packet)


if __name__ == "__main__":
    relay((int(sys.argv[1]), int(sys.argv[2])), sys.stdin.fileno())
