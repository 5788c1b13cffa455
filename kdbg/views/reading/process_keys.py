"""TLS keys out of the memory of running processes: a capture goes in, a key log for its connections comes out.

The key log is a file in memory alone: it has a path for all who read key logs, and is gone with this process.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from ...budget import MEMORY
from ...capture import open_capture
from ...capture.keylog import bound_line, key_line
from ...capture.process_memory import ProcessMemory
from ...capture.process_sockets import ProcessSockets
from ...errors import InputError
from ...extras import require
from ...protocol.findings.amounts import count

if TYPE_CHECKING:
    from ...streams.tls.record import BoundKey
    from ...streams.tls.recovery.memory import Layout
    from ...streams.tls.recovery.proofs import FoundSecrets, Proved
    from ...streams.tls.session import TlsConnection, TlsSample

MOST_WINDOWS, BYTES_OF_ONE = 1 << 18, 1 << 11
"""Windows that may be secrets, of each size, that are kept; and the bytes of `--max-memory` that each needs."""
AT_ONCE, SHARE = 64 << 20, 8
"""Bytes of memory that are read before any is searched, so that secrets of short connections are not gone by then; and
the part of `--max-memory` that they are at most."""
GIB = OFTEN = 1 << 30
"""Bytes of memory after which a search reports its progress."""
SMALL = 256 << 20
"""Bytes of memory in which secrets are looked for at any place, where they are not where libraries keep them."""


def check(pids: Iterable[int]) -> list[str]:
    """Return the names of processes; raise `InputError` where their memory cannot be searched, and why."""
    require("--pid", "tls", "numpy", "cryptography")
    names = []
    for pid in pids:
        with ProcessMemory(pid) as memory:
            names.append(memory.name)
    return names


def search(
    pid: int,
    samples: Sequence[TlsSample],
    *,
    thorough: bool,
    whole: bool,
    seen: deque[FoundSecrets] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Proved]:
    """Return the keys of connections that are found in the memory of a process.

    `thorough`: secrets are looked for also where the process's own library would not keep them, and for connections
    with millions of records. `whole`: those of handshakes too, which Wireshark needs. `seen` is what was found before,
    and gets what is found now: secrets are in memory before the records that prove them, and gone when the connection
    is closed. `tell` gets the progress of a long search. Raise `InputError` where the memory cannot be read.
    """
    from ...streams.tls.recovery.chacha20 import states
    from ...streams.tls.recovery.memory import MemorySearch, present
    from ...streams.tls.recovery.proofs import FoundSecrets, proved, unproved

    found: list[Proved] = []
    left = list(samples)
    for before in seen or ():
        found += proved(left, before, thorough=False, whole=whole)
        left = unproved(left, found)
    with ProcessMemory(pid) as memory:
        for layouts in _layouts(memory) if thorough else _layouts(memory)[:1]:
            if not left:
                break
            now, done = MemorySearch(layouts, min(MOST_WINDOWS, MEMORY.limit // BYTES_OF_ONE)), 0
            for address, data in _chunks(memory, now.OVERLAP):
                now.take(address, data)
                done += len(data)
                if done // OFTEN > (done - len(data)) // OFTEN:
                    tell(
                        f"searched {done / GIB:.1f} of {memory.size / GIB:.1f} GiB of the memory of {memory.name} {pid}"
                    )
            secrets = FoundSecrets(
                now.keys, now.windows, partial(present, memory.chunks(now.OVERLAP)),
                partial(states, memory.chunks(now.OVERLAP), memory.read, memory.runtime),
            )  # fmt: skip
            found += proved(left, secrets, thorough=thorough, whole=whole)
            left = unproved(left, found)
            if seen is not None:
                seen.append(FoundSecrets(now.keys, now.windows, lambda keys: (), tuple))
    return found


def _layouts(memory: ProcessMemory) -> list[frozenset[Layout]]:
    """Return where to look for secrets, first where the process's own library keeps them."""
    from ...streams.tls.recovery.memory import Layout

    own = {"java": {Layout.JAVA}, "go": {Layout.GO, Layout.PADDED}}.get(memory.runtime, {Layout.PADDED})
    tried = [frozenset(own), frozenset(Layout) - {Layout.ANY}]
    return [*tried, frozenset({Layout.ANY})] if memory.size <= SMALL else tried


def _chunks(memory: ProcessMemory, overlap: int) -> Iterator[tuple[int, bytes]]:
    """Yield the chunks of a memory; small ones are read before they are searched."""
    chunks, first, size = memory.chunks(overlap), deque[tuple[int, bytes]](), 0
    for chunk in chunks:
        first.append(chunk)
        size += len(chunk[1])
        if size > min(AT_ONCE, MEMORY.limit // SHARE):
            break
    while first:
        yield first.popleft()
    yield from chunks


def line_of(key: Proved) -> str:
    """Return the line of a key log for a key."""
    sample = key.sample
    if key.bound is None:
        return key_line(key.label, sample.client_random, key.secret)
    return bound_line(sample.ends[key.side], sample.ends[1 - key.side], key.bound)


class Samples:
    """The `Keys` of an engine that takes samples of all connections whose secrets are not known."""

    def __init__(self) -> None:
        self.connections: dict[TlsConnection, None] = {}

    def find(self, _: bytes) -> Mapping[str, bytes] | None:
        """Return None: nothing is known yet."""
        return None

    def bound(self, *_: object) -> Sequence[BoundKey]:
        """Return nothing: nothing is known yet."""
        return ()

    def awaits(self, connection: TlsConnection) -> bool:
        """Take note of a connection."""
        self.connections[connection] = None
        return True

    def __bool__(self) -> bool:
        return True


def samples_of(source: str) -> list[TlsSample]:
    """Return samples of the encrypted connections of a capture."""
    from ...exchanges.engine.engine import Engine

    samples = Samples()
    with open_capture(source) as capture:
        engine = Engine(keys=samples)
        for packets in capture.blocks():
            engine.receive_all(packets)
        found = [sample for one in samples.connections if any((sample := one.sample()).records)]
        engine.close()
    return found


class FoundKeys(NamedTuple):
    """The lines of a key log; how many connections of a capture are encrypted, how many of those a process has open (or
    has the keys of), and of how many the keys were found."""

    lines: list[str]
    encrypted: int
    open: int
    opened: int

    @property
    def problem(self) -> str:
        """Why there are no keys; "" where there are some, and where none are needed."""
        if self.opened or not self.encrypted:
            return ""
        of_them = count(self.open or self.encrypted, "TLS connection")
        if not self.open:
            return f"none of the {of_them} is open in the process now"
        return f"no keys of the {of_them} that the process has open are in its memory"


def lines_of(source: str, pids: Collection[int], tell: Callable[[str], None] = lambda text: None) -> FoundKeys:
    """Return the keys of a capture's connections that are in the memory of processes; `tell` is as for `search`."""
    keys: list[Proved] = []
    samples, sockets = samples_of(source), ProcessSockets(pids)
    sockets.look()
    still_open = {sample for sample in samples if sockets.is_open(*sample.ends)}
    for pid in sorted(pids):
        own = [sample for sample in samples if sockets.owner(*sample.ends) == pid]
        closed = [sample for sample in own if sample.client_random and sample not in still_open]
        for some, thorough in (([sample for sample in own if sample in still_open], True), (closed, False)):
            keys += search(pid, some, thorough=thorough, whole=True, tell=tell) if some else []
    opened = {key.sample for key in keys}
    return FoundKeys([*map(line_of, keys)], len(samples), len(still_open | opened), len(opened))


@lru_cache(maxsize=64)
def key_log_of(source: str, pids: frozenset[int]) -> tuple[str, ...]:
    """Return the path of a key log with the keys of a capture's connections that are in the memory of processes.

    None where no connection is encrypted. Raise `InputError` where some are, and no keys are found.
    """
    found = lines_of(source, pids)
    if found.problem:
        raise InputError(f"{source}: --pid {', '.join(map(str, sorted(pids)))}: {found.problem}")
    if not found.lines:
        return ()
    log = os.memfd_create("kdbg-tls-keys")
    os.write(log, "".join(f"{line}\n" for line in found.lines).encode())
    return (f"/proc/{os.getpid()}/fd/{log}",)
