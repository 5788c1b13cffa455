"""One conversation recorded at both its ends, which are on different hosts: packets are under way for some time.

Each end has a network namespace of its own, and a TUN device in it. A program between them carries the packets, those
to the broker for 3 ms, those to the client for 5 ms. The clock of the broker's end is 1.5 s ahead: by editcap.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from shutil import move

from brokers.cluster import Cluster
from brokers.releases import release

from recording.network import CLONE_NEWNET
from recording.tcpdump import recording_all

CLIENT, BROKER = "10.77.0.1", "10.77.0.2"
THERE, BACK = 0.003, 0.005
AHEAD = 1.5
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
"""<linux/if_tun.h>"""
LETTERS = """
import sys
from confluent_kafka import Consumer, Producer
servers = {"bootstrap.servers": sys.argv[1], "client.id": "office"}
producer = Producer({**servers, "linger.ms": 0})
for number in range(3):
    producer.produce("letters", f"letter {number}".encode())
    producer.flush()
reader = Consumer({**servers, "group.id": "readers", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 100})
reader.subscribe(["letters"])
left = 3
while left:
    message = reader.poll(1)
    left -= message is not None and message.error() is None
reader.close()
"""


def two_places(out: Path) -> None:
    """Letters that a producer sends and a consumer reads; `out` is the client's capture, the broker's stands beside it.

    The process is in a network of its own already, which is the broker's end.
    """
    out.parent.mkdir(exist_ok=True)
    broker_end = _device("kbroker", BROKER)
    with ExitStack() as stack:
        cluster = Cluster(release("4"), hosts=(BROKER,), ports=({"PLAINTEXT": 9092, "CONTROLLER": 9093},))
        stack.enter_context(cluster)
        cluster.start()
        cluster.create_topic("letters")
        far = out.with_name("broker.pcap")
        ahead = out.with_name("ahead.pcap")
        with recording_all(far, "tcp port 9092", interface="kbroker"):
            _elsewhere(lambda: _client(out, broker_end, cluster.bootstrap))
        subprocess.run(["editcap", "-F", "pcap", "-t", str(AHEAD), far, ahead], check=True)
        move(ahead, far)


def _elsewhere(work: Callable[[], None]) -> None:
    """Do something in a thread that is in another network namespace."""
    failed = list[BaseException]()

    def run() -> None:
        try:
            import ctypes

            if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "unshare(CLONE_NEWNET): recording needs root")
            work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def _client(out: Path, broker_end: int, bootstrap: str) -> None:
    """Run the client at its end, and record there."""
    client_end = _device("kclient", CLIENT)
    over = threading.Event()
    carrier = threading.Thread(target=_carry, args=(client_end, broker_end, over))
    carrier.start()
    try:
        with recording_all(out, "tcp port 9092", interface="kclient"):
            subprocess.run([sys.executable, "-c", LETTERS, bootstrap], check=True, timeout=60)
    finally:
        over.set()
        carrier.join()


def _device(name: str, address: str) -> int:
    """Make a TUN device with an address in the namespace of this thread; return its descriptor."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    for command in (["addr", "add", f"{address}/24", "dev", name], ["link", "set", name, "mtu", "1500", "up"]):
        subprocess.run(["ip", *command], check=True)
    return descriptor


def _carry(client: int, broker: int, over: threading.Event) -> None:
    """Carry packets between two devices, each of them for as long as its way takes."""
    waiting: list[tuple[float, int, int, bytes]] = []
    count = 0
    while not over.is_set():
        pause = max(0.0, min(waiting[0][0] - time.monotonic(), 0.1)) if waiting else 0.1
        for ready in select.select([client, broker], [], [], pause)[0]:
            count += 1
            delay, to = (THERE, broker) if ready == client else (BACK, client)
            heapq.heappush(waiting, (time.monotonic() + delay, count, to, os.read(ready, 65_536)))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, to, packet = heapq.heappop(waiting)
            os.write(to, packet)
