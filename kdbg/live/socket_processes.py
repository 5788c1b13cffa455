"""Who speaks: the ends of a connection go in, the processes that have its socket come out, as /proc of Linux tells.

Sockets are those of capture/process_sockets.py; /proc/PID/cgroup says in which container and pod a process is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TypeAlias

from ..capture.packet import Endpoint
from ..capture.process_sockets import PROC, open_sockets, rows_of, socket_rows
from ..exchanges.messages.peers import Process

CONTAINER = re.compile(r"[0-9a-f]{64}")
POD = re.compile(r"pod([0-9a-f]{8}([-_])[0-9a-f]{4}\2[0-9a-f]{4}\2[0-9a-f]{4}\2[0-9a-f]{12})")
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
        for key in rows_of(local, remote):
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
        processes = list(self.processes())
        self._inodes = dict(self._sockets(processes))
        for pid in processes:  # of several that have the same socket, the first is its owner
            try:
                inodes = open_sockets(pid, self.proc)
            except OSError:  # it has ended, or is another user's
                continue
            if inodes:
                owner = Process(pid, self._read(pid, "comm").rstrip("\n"), *_inside(self._read(pid, "cgroup")))
                for inode in inodes:
                    self._owners.setdefault(inode, owner)
        self._next = monotonic() + SHARE * (monotonic() - start)
        return True

    def processes(self) -> Iterator[int]:
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
            for row in socket_rows(one, self.proc):
                yield (row.local, row.remote), row.inode

    def _read(self, pid: int | str, name: str) -> str:
        try:
            return (self.proc / str(pid) / name).read_text("utf-8", "replace")
        except OSError:
            return ""


def _inside(cgroup: str) -> tuple[str, str]:
    """Return the ids of container and pod in the lines of /proc/PID/cgroup, "" where there are none."""
    containers, pod = CONTAINER.findall(cgroup), POD.search(cgroup)
    return (containers[-1] if containers else ""), (pod[1].replace("_", "-") if pod else "")
