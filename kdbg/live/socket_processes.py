"""Who speaks: the ends of a connection go in, the processes that have its socket come out, as /proc of Linux tells.

/proc/net/tcp says which socket a connection is, /proc/PID/fd who has it open, /proc/PID/cgroup in which container and
pod that is. Of processes of other users only root learns.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from time import monotonic
from typing import TypeAlias

from ..capture.packet import Endpoint
from ..exchanges.messages.peers import Process

PROC = Path("/proc")
SOCKET = re.compile(r"socket:\[([0-9]+)\]")
CONTAINER = re.compile(r"[0-9a-f]{64}")
POD = re.compile(r"pod([0-9a-f]{8}([-_])[0-9a-f]{4}\2[0-9a-f]{4}\2[0-9a-f]{4}\2[0-9a-f]{12})")
MAPPED = "0000000000000000FFFF0000"
"""An IPv4 address as /proc/net/tcp6 has it, up to the address itself."""
SHARE = 10
"""Looking takes one part in so many of the time, at most."""
SHORT = 12
"""Digits of a container's id that are shown, as docker shows them."""
Ends: TypeAlias = tuple[Endpoint, Endpoint]


def process_text(process: Process) -> str:
    """Return a process in words; the name is not escaped."""
    inside = [f"container {process.container[:SHORT]}"] if process.container else []
    inside += [f"pod {process.pod}"] if process.pod else []
    return f"{process.name} {process.pid}" + (f" ({', '.join(inside)})" if inside else "")


class Owners:
    """Finds who has a socket. What was seen is remembered, and looked for again where a socket is not known.

    `pids` and `containers`, beginnings of ids, narrow down whose sockets are looked for; without them looking is held
    back where it would take too much of the time.
    """

    def __init__(self, pids: Iterable[int] = (), containers: Iterable[str] = (), proc: Path = PROC) -> None:
        self.proc = proc
        self.pids, self.containers = frozenset(pids), tuple(containers)
        self._inodes: dict[tuple[str, str], int] = {}
        self._owners: dict[int, Process] = {}
        self._next = 0.0

    @property
    def narrowed(self) -> bool:
        """Whether only some are looked for."""
        return bool(self.pids or self.containers)

    def find(self, local: Endpoint, remote: Endpoint) -> Process | None:
        """Return who has the socket of this end of a connection, of those that were seen when it was looked last."""
        here, there = _hex(local), _hex(remote)
        keys = [(here, there)]
        if len(here) == len(there) == 13:  # IPv4, which the kernel may have in its table of IPv6
            keys.append((MAPPED + here, MAPPED + there))
        for key in keys:
            inode = self._inodes.get(key)
            if inode in self._owners:
                return self._owners[inode]
        return None

    def look(self, *, at_once: bool = False) -> bool:
        """Look who has which socket now; return False where it is too early to look again, and not asked `at_once`."""
        start = monotonic()
        if start < self._next and not (at_once or self.narrowed):
            return False
        self._owners = {}
        processes = list(self._processes())
        self._inodes = dict(self._sockets(processes))
        for pid in processes:  # of several that have the same socket, the first is its owner
            try:
                with os.scandir(self.proc / str(pid) / "fd") as found:
                    links = [os.readlink(each.path) for each in found]  # noqa: PTH115 - paths are slow, these are many
            except OSError:  # it has ended, or is another user's
                continue
            inodes = [int(match[1]) for match in map(SOCKET.fullmatch, links) if match]
            if inodes:
                owner = Process(pid, self._read(pid, "comm").rstrip("\n"), *_inside(self._read(pid, "cgroup")))
                for inode in inodes:
                    self._owners.setdefault(inode, owner)
        self._next = monotonic() + SHARE * (monotonic() - start)
        return True

    def _processes(self) -> Iterator[int]:
        """Yield the numbers of the processes to look at."""
        with suppress(OSError):
            for pid in sorted(int(each.name) for each in self.proc.iterdir() if each.name.isdigit()):
                if self.pids and pid not in self.pids:
                    continue
                inside = _inside(self._read(pid, "cgroup")) if self.containers else ()
                if not self.containers or any(found.startswith(self.containers) for found in inside if found):
                    yield pid

    def _sockets(self, processes: Iterable[int]) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield the sockets of each network that processes are in: its two ends, as they stand there, and its inode.

        This process's own network is last, and counts.
        """
        networks: dict[Path, str] = {}
        for pid in processes:
            with suppress(OSError):
                networks.setdefault((self.proc / str(pid) / "ns" / "net").readlink(), str(pid))
        for one in [*networks.values(), "self"]:
            for table in ("tcp", "tcp6"):
                for row in self._read(one, f"net/{table}").splitlines()[1:]:
                    fields = row.split()
                    if len(fields) > 9 and fields[9] != "0":
                        yield (fields[1], fields[2]), int(fields[9])

    def _read(self, pid: int | str, name: str) -> str:
        try:
            return (self.proc / str(pid) / name).read_text("utf-8", "replace")
        except OSError:
            return ""


def _inside(cgroup: str) -> tuple[str, str]:
    """Return the ids of container and pod in the lines of /proc/PID/cgroup, "" where there are none."""
    containers, pod = CONTAINER.findall(cgroup), POD.search(cgroup)
    return (containers[-1] if containers else ""), (pod[1].replace("_", "-") if pod else "")


def _hex(end: Endpoint) -> str:
    """Return an address and port as the kernel prints them: words of 32 bits, in the machine's order of bytes."""
    packed = ip_address(end[0].partition("%")[0]).packed
    words = [packed[place : place + 4] for place in range(0, len(packed), 4)]
    shown = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    return f"{shown.hex().upper()}:{end[1]:04X}"
