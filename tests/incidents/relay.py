"""The middle of a line: packets from one tun device to the other, later, not at all, or only the short ones.

Run as a process of its own, so that nothing else keeps packets waiting: `python relay.py FD FD`, with an object of JSON
a line on its standard input: delay (seconds, each way), loss (0 to 1), cut (true or false), longest (bytes), rate
(bytes a second, each way; 0: any), queue (seconds that a packet may wait for its turn), forgets (seconds after which
the packets of a silent connection are dropped; 0: never), jitter (seconds of delay more, at random).
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
    way: dict[str, float] = {
        "delay": 0.0, "loss": 0.0, "cut": False, "longest": LONGEST, "rate": 0, "queue": 1.0, "forgets": 0,
        "jitter": 0.0,
    }  # fmt: skip
    free, seen = dict.fromkeys(ends, 0.0), dict[bytes, float]()
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
            now = time.monotonic()
            if way["cut"] or len(packet) > way["longest"] or random.random() < way["loss"]:
                continue
            if way["forgets"] and forgotten(packet, seen, now, way["forgets"]):
                continue
            at = max(now, free[ready]) if way["rate"] else now
            if way["rate"]:
                if at - now > way["queue"]:
                    continue
                free[ready] = at = at + len(packet) / way["rate"]
            at += way["delay"] + random.random() * way["jitter"]
            heapq.heappush(waiting, (at, next(numbers), other[ready], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(waiting)
            os.write(end, packet)


def forgotten(packet: bytes, seen: dict[bytes, float], now: float, limit: float) -> bool:
    """Whether a packet (IPv4, no options) belongs to a connection that was silent for longer than the limit.

    The connection stays forgotten; a SYN begins it anew.
    """
    ends = sorted((packet[12:16] + packet[20:22], packet[16:20] + packet[22:24]))
    flow, syn = b"".join(ends), packet[33] & 2
    if not syn and now - seen.get(flow, now) > limit:
        return True
    seen[flow] = now
    return False


if __name__ == "__main__":
    relay((int(sys.argv[1]), int(sys.argv[2])), sys.stdin.fileno())
