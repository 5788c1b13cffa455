"""The memory of a running process, as /proc of Linux has it: chunks of what is resident and may be written to.

The process goes on and nothing is loaded into it. Whoever may attach a debugger to a process may read its memory:
the same user, or one with CAP_SYS_PTRACE (ptrace(2)).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from kdbg.errors import InputError

PROC = Path("/proc")
CHUNK = 1 << 20
"""Bytes that are read at once: few enough for a processor's cache."""
LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)")
AT_ONCE = 1 << 30
"""Bytes of memory whose pages are looked at at once."""
THERE = 0b11 << 62
"""Bits of a page in /proc/PID/pagemap: it is in memory, or swapped out."""
PAGE = 4096
JAVA_HEAP = "memfd:java_heap"
"""The heap of ZGC, which is shared memory."""
GO_BUILD = b"\xff Go buildinf:"
"""What stands in every Go program (debug/buildinfo), stripped or not."""


class Mapping(NamedTuple):
    """A mapping of memory: the addresses of its first byte and of the one after it, and the file that it shows."""

    start: int
    end: int
    name: str


class ProcessMemory:
    """The memory of one process. Raise `InputError` where it cannot be read, or where the process has ended."""

    def __init__(self, pid: int, proc: Path = PROC) -> None:
        self.pid = pid
        self._folder = proc / str(pid)
        if not sys.platform.startswith("linux"):
            raise InputError("--pid reads the memory of a process, which needs Linux")
        try:
            self.name = (self._folder / "comm").read_text("utf-8", "replace").strip()
            self._maps = (self._folder / "maps").read_text("utf-8", "surrogateescape")
            self._memory = os.open(self._folder / "mem", os.O_RDONLY)
        except PermissionError:
            raise InputError(_not_permitted(pid, self._folder)) from None
        except (FileNotFoundError, ProcessLookupError):
            raise InputError(f"--pid {pid}: there is no such process") from None

    def __enter__(self) -> ProcessMemory:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._memory)

    @property
    def runtime(self) -> str:
        """Return java or go; "" for all others, whose libraries keep keys as OpenSSL does."""
        if "/libjvm.so" in self._maps:
            return "java"
        with (
            suppress(OSError, ValueError),
            (self._folder / "exe").open("rb") as program,
            mmap(program.fileno(), 0, access=ACCESS_READ) as content,
        ):
            return "go" if content.find(GO_BUILD) >= 0 else ""
        return ""

    def mappings(self) -> Iterator[Mapping]:
        """Yield the mappings that can hold keys: those that are the process's own, and Java's heap."""
        for found in map(LINE.match, self._maps.splitlines()):
            if found is not None:
                start, end, rights, name = int(found[1], 16), int(found[2], 16), found[3], found[4]
                own = rights.startswith("rw") and rights[3] == "p" and not name.startswith(("[v", "/dev/"))
                if own or (rights.startswith("rw") and JAVA_HEAP in name):
                    yield Mapping(start, end, name)

    def resident(self) -> Iterator[Mapping]:
        """Yield the parts of mappings that exist: to read others would make them."""
        import numpy as np  # which is optional

        with suppress(OSError), (self._folder / "pagemap").open("rb", buffering=0) as pages:
            for start, end, name in self.mappings():
                for first in range(start, end, AT_ONCE):
                    pages.seek(first // PAGE * 8)
                    entries = np.frombuffer(pages.read(min(end - first, AT_ONCE) // PAGE * 8), "<u8")
                    there = np.concatenate(([False], entries & np.uint64(THERE) != 0, [False]))
                    edges = (first + np.flatnonzero(there[1:] != there[:-1]) * PAGE).tolist()
                    yield from (Mapping(*run, name) for run in zip(edges[::2], edges[1::2], strict=True))

    @property
    def size(self) -> int:
        """Bytes that are resident."""
        return sum(one.end - one.start for one in self.resident())

    def read(self, address: int, size: int) -> bytes:
        """Return so many bytes at an address, or less."""
        try:
            return os.pread(self._memory, size, address)
        except OSError:
            return b""

    def chunks(self, overlap: int) -> Iterator[tuple[int, bytes]]:
        """Yield chunks of what is resident, each with its address; they overlap by so many bytes."""
        for start, end, _ in self.resident():
            while start < end:
                try:
                    data = os.pread(self._memory, min(CHUNK + overlap, end - start), start)
                except OSError:  # it was unmapped since
                    break
                if not data:
                    return  # the process has ended
                yield start, data
                start += CHUNK


def _not_permitted(pid: int, folder: Path) -> str:
    """Return why a process's memory may not be read, and what to do."""
    with suppress(OSError):
        scope = Path("/proc/sys/kernel/yama/ptrace_scope").read_text().strip()
        if folder.stat().st_uid == os.geteuid() and scope != "0":
            return (
                f"--pid {pid}: reading its memory needs CAP_SYS_PTRACE (kernel.yama.ptrace_scope is {scope}): "
                "run kdbg with sudo"
            )
    return f"--pid {pid}: its memory belongs to another user: run kdbg as that user or with sudo (CAP_SYS_PTRACE)"
