"""A network of our own: this process moves into a fresh Linux network namespace that has only a loopback interface.

So nobody else's traffic can reach a capture, the brokers can have the ports one expects (9092 and up), and the
interface can be given an Ethernet-like MTU. Needs root, iproute2 and, for small segments, ethtool. Must be called
before the process starts threads: a namespace belongs to a thread and is inherited by the threads it starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

CLONE_NEWNET = 0x40000000  # <linux/sched.h>; os.unshare exists only from Python 3.12 on
PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST_BROKER_PORT = 9092
CLIENT_PORTS = (50000, 60000)


def enter_private_network(mtu: int | None = None) -> None:
    """Leave the machine's network for an empty one; with an mtu, TCP sends segments no longer than that.

    The process also stays on one CPU from here on: the loopback device queues packets per CPU, and a capture of
    threads on several shows segments out of order that no network has disturbed.
    """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare(CLONE_NEWNET): recording needs root")
    size = [] if mtu is None else ["mtu", str(mtu)]
    subprocess.run(["ip", "link", "set", "lo", *size, "up"], check=True)
    if mtu is not None:  # else the kernel would hand tcpdump segments of up to 64 KB all the same
        subprocess.run(["ethtool", "-K", "lo", "tso", "off", "gso", "off", "gro", "off"], check=True)
    _set_ports(*CLIENT_PORTS)


@contextlib.contextmanager
def only_free_port(port: int) -> Iterator[None]:
    """Within this block, "any free port" means this one: a mock broker can't be asked for a certain port."""
    _set_ports(port, port)
    try:
        yield
    finally:
        _set_ports(*CLIENT_PORTS)


def _set_ports(lowest: int, highest: int) -> None:
    PORT_RANGE.write_text(f"{lowest} {highest}\n")
