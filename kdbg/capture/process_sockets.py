"""The TCP sockets of processes, as /proc of Linux has them: in /proc/PID/net/tcp by their ends, in /proc/PID/fd by who
has them open.

Of processes of other users only root learns.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from .packet import Endpoint

PROC = Path("/proc")
SOCKET = re.compile(r"socket:\[([0-9]+)\]")
MAPPED = "0000000000000000FFFF0000"
"""An IPv4 address as /proc/net/tcp6 has it, up to the address itself."""
LISTENS = "0A"


class SocketRow(NamedTuple):
    """A socket in a table of the kernel: its two ends as they stand there, its state, and its inode."""

    local: str
    remote: str
    state: str
    inode: int


def socket_rows(pid: int | str, proc: Path = PROC) -> Iterator[SocketRow]:
    """Yield the sockets of the network that a process is in; "self" is this one."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for row in (proc / str(pid) / "net" / table).read_text().splitlines()[1:]:
                fields = row.split()
                if len(fields) > 9 and fields[9] != "0":
                    yield SocketRow(fields[1], fields[2], fields[3], int(fields[9]))


def open_sockets(pid: int, proc: Path = PROC) -> list[int]:
    """Return the inodes of the sockets that a process has open; raise `OSError` for one of another user's."""
    with os.scandir(proc / str(pid) / "fd") as found:
        links = [os.readlink(each.path) for each in found]  # noqa: PTH115 - paths are slow, these are many
    return [int(match[1]) for match in map(SOCKET.fullmatch, links) if match]


def rows_of(local: Endpoint, remote: Endpoint) -> list[tuple[str, str]]:
    """Return how the kernel may have the two ends of a connection: IPv4 also in its table of IPv6."""
    here, there = _hex(local), _hex(remote)
    both = [(here, there)]
    if len(here) == len(there) == 13:
        both.append((MAPPED + here, MAPPED + there))
    return both


def _hex(end: Endpoint) -> str:
    """Return an address and port as the kernel prints them: words of 32 bits, in the machine's order of bytes."""
    packed = ip_address(end[0].partition("%")[0]).packed
    words = [packed[place : place + 4] for place in range(0, len(packed), 4)]
    shown = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    return f"{shown.hex().upper()}:{end[1]:04X}"


class ProcessSockets:
    """The connections that processes have open, and those to ports at which they listen, when it was looked last."""

    def __init__(self, pids: Iterable[int], proc: Path = PROC) -> None:
        self.pids, self._proc = sorted(pids), proc
        self._ends: dict[tuple[str, str], int] = {}
        self._listening: dict[str, int] = {}

    def look(self) -> None:
        """Look which sockets there are now."""
        self._ends, self._listening = {}, {}
        for pid in self.pids:
            with suppress(OSError):
                own = set(open_sockets(pid, self._proc))
                for row in socket_rows(pid, self._proc):
                    if row.inode in own and row.state == LISTENS:
                        self._listening[row.local] = pid
                    elif row.inode in own:
                        self._ends[row.local, row.remote] = pid

    def owner(self, one: Endpoint, other: Endpoint) -> int | None:
        """Return which of the processes has, or had, a connection, at either end of it."""
        for local, remote in ((one, other), (other, one)):
            for here, there in rows_of(local, remote):
                address, _, port = here.partition(":")
                anywhere = f"{'0' * len(address)}:{port}"
                for found in (self._ends.get((here, there)), *map(self._listening.get, (here, anywhere))):
                    if found is not None:
                        return found
        return None

    def is_open(self, one: Endpoint, other: Endpoint) -> bool:
        """Return whether one of the processes has a connection open."""
        return any(row in self._ends for ends in ((one, other), (other, one)) for row in rows_of(*ends))
