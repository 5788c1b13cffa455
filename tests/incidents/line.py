"""A line between brokers and clients: two network namespaces, a tun device in each, and a relay between the two.

The brokers' end is the device `near` in our own namespace, where captures of the line are made; the clients' is in a
namespace of its own. Needs root and /dev/net/tun.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from .clusters import FAR, NEAR

TUNSETIFF = 0x400454CA  # <linux/if_tun.h>
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
DEVICE = "near"
Result = TypeVar("Result")


class Line:
    """As fast as the machine until it is told otherwise."""

    def __init__(self) -> None:
        guard = ["setpriv", "--pdeathsig", "KILL"]  # both end with us, however we end
        self._far = subprocess.Popen(
            [*guard, "unshare", "-n", "sh", "-c", "echo; exec sleep 3600"], stdout=subprocess.PIPE
        )
        assert self._far.stdout is not None
        self._far.stdout.readline()  # by now the namespace is there
        ends = [_tun(DEVICE), _tun("far")]
        _run("ip", "link", "set", "far", "netns", str(self._far.pid))
        _run("ip", "address", "add", f"{NEAR}/24", "dev", DEVICE)
        _run("ip", "link", "set", DEVICE, "up")
        inside = ("nsenter", "-t", str(self._far.pid), "-n")
        for words in (
            ("address", "add", f"{FAR}/24", "dev", "far"),
            ("link", "set", "far", "up"),
            ("link", "set", "lo", "up"),
        ):
            _run(*inside, "ip", *words)
        program = [sys.executable, str(Path(__file__).with_name("relay.py")), *map(str, ends)]
        self._relay = subprocess.Popen([*guard, *program], stdin=subprocess.PIPE, pass_fds=ends)
        for end in ends:
            os.close(end)

    @property
    def enter(self) -> list[str]:
        """What to put in front of a command that is to run at the far end."""
        return ["nsenter", "-t", str(self._far.pid), "-n"]

    def becomes(self, **way: Any) -> None:
        """Tell the relay what `relay.py` lists: delay (seconds, each way), loss (0 to 1), cut, longest (bytes), …"""
        assert self._relay.stdin is not None
        self._relay.stdin.write(json.dumps(way).encode() + b"\n")
        self._relay.stdin.flush()

    def at_far_end(self, work: Callable[[], Result]) -> Result:
        """Do this with all sockets at the far end: a namespace belongs to a thread, and to those that it starts."""
        results: list[Result] = []
        problems: list[BaseException] = []

        def there() -> None:
            try:
                self._enter()
                results.append(work())
            except BaseException as problem:
                problems.append(problem)

        thread = threading.Thread(target=there)
        thread.start()
        thread.join()
        if problems:
            raise problems[0]
        return results[0]

    def close(self) -> None:
        """End the relay and what holds the namespace: the devices go with them."""
        assert self._relay.stdin is not None
        self._relay.stdin.close()
        self._relay.wait()
        self._far.kill()
        self._far.wait()
        assert self._far.stdout is not None
        self._far.stdout.close()

    def _enter(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        with Path(f"/proc/{self._far.pid}/ns/net").open() as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns: a line needs root")


def _tun(name: str) -> int:
    """A new tun device, as the descriptor that its packets are read from and written to."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    os.set_inheritable(device, True)
    return device


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
