"""What a Python program gets: exchanges of captures, entries of broker files, bytes explained; all show themselves.

A file that was named is a capture, a file of a broker's disk or a log; that is found out by what it holds. Several
captures that were recorded at several places of the same connections are one: packets of all of them come out once
each, as those of a capture do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias

from ...capture import Capture, Lost, Packet
from ...capture.keylog import KeyLog
from ...capture.source import Source, open_source
from ...errors import CaptureError, InputError
from ...exchanges.filters.filter_set import Filters
from ...protocol.findings import Finding

if TYPE_CHECKING:
    from ...analysis.logs.log import ApplicationLog
    from ...exchanges.engine.direction import Depth
    from ...exchanges.engine.driver import Pairing
    from ...exchanges.engine.engine import Engine, Watch
    from ...exchanges.multipoint.common import PacketMatcher, Together
    from ...payloads.segments import File


CAPTURES = (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a")
"""How pcap, in both orders of bytes and with micro- and nanoseconds, and pcapng begin."""

INDEXED = 20_000_000
"""Bytes of a capture from which on it gets an index: smaller ones are read at once."""
Named: TypeAlias = str | os.PathLike[str] | BinaryIO
NUMBERED = re.compile(r"(.+)#([0-9]+(?:-[0-9]+)?)", re.DOTALL)


class BrokerFile(NamedTuple):
    """A file of a broker's disk, and where its bytes come from."""

    source: Source
    file: File


def numbered(source: Named) -> tuple[str, str] | None:
    """Return the name and the numbers of `FILE#N` or `FILE#N-M`, None for anything else: a file of that name."""
    found = NUMBERED.fullmatch(source) if isinstance(source, str) else None
    return None if found is None or os.path.exists(found[0]) else (found[1], found[2])  # noqa: PTH110 - as open_source


def chosen(source: Named, filters: Filters) -> tuple[Named, Filters]:
    """Return what to open, and the filters for it: of `FILE#N`, exchange N alone is wanted.

    TLS keys of processes become a key log of the file. Raise `InputError` where exchanges are chosen by their numbers
    already, and where the memory of a process cannot be read.
    """
    found = numbered(source)
    if found is not None:
        if filters.exchange:
            raise InputError(f"{source}: #N cannot be combined with --exchange; omit one of them")
        source, filters = found[0], filters.but(exchange=found[1])
    if filters.pid:
        from .process_keys import key_log_of  # which others do without

        if not isinstance(source, (str, os.PathLike)) or source == "-":
            raise InputError("--pid reads a capture twice: save it to a file, or use kdbg watch --pid")
        logs = key_log_of(os.fspath(source), filters.pid)
        filters = filters.but(tls_keys=[*(filters.tls_keys or ()), *logs] or None, pid=None)
    return source, filters


def open_any(name: Named) -> Capture | ApplicationLog | BrokerFile:
    """Open a file, "-" or a binary stream; raise `CaptureError` where it is no capture, broker's file or log."""
    source = open_source(name)
    try:
        if source.feed.ahead(4).startswith(CAPTURES):
            return Capture(source)
        found = recognised(source)
        if found is not None:
            return BrokerFile(source, found)
        from ...analysis.logs.log import ApplicationLog, has_lines  # which captures do without

        return ApplicationLog(source) if has_lines(source) else Capture(source)
    except BaseException:
        source.close()
        raise


def engine_of(
    opened: Capture | ApplicationLog | BrokerFile,
    filters: Filters,
    reads: Depth | None,
    watch: Watch | None = None,
    *,
    timed: bool = False,
    index: bool = False,
) -> Pairing:
    """Return what makes exchanges of what was opened; raise as `KeyLog.use` for key logs that cannot be read.

    `reads` and `watch` are as for `Engine`. With `timed`, or where a filter asks for it, the exchanges of a
    capture have their `timing`. With `index`, the index of a capture is written as it is read.
    """
    if not isinstance(opened, Capture | BrokerFile):
        from ...analysis.logs.exchanges import Conversations

        return Conversations()
    from ...exchanges.engine.engine import Engine, watch_nothing

    keys = opened.secrets(filters.tls_keys) if isinstance(opened, Capture) else None
    ports, watch = filters.port or (), watch or watch_nothing
    make = opened.engine if isinstance(opened, Merged) else Engine
    engine: Pairing = make(ports=ports, watch=watch, reads=reads, keys=keys)
    if index and isinstance(opened, Capture):
        from ..index.writer import Recorded

        return Recorded(engine, opened)
    if not (timed or filters.timed):
        return engine
    from ...analysis.ledgers.latency import Timed

    return Timed(engine)


def recognised(source: Source) -> File | None:
    """Return the broker's file that a source is, if it is one; nothing of the source is used up."""
    from ...payloads.segments import more_wanted, open_file  # which captures do without

    head = source.feed.ahead(1)
    while more_wanted(head):
        seen, head = head, source.feed.ahead(len(head) + 1)
        if head == seen:
            break
    return open_file(source.name, head, source.stream.read1)


class Merged(Capture):
    """The captures of several places as one, which has every byte once; its times are by the clock of the first.

    `files` are their names, the one nearest to the clients first. `merger` is what makes one of them.
    """

    def __init__(self, names: Sequence[str], together: Together) -> None:
        from ...exchanges.multipoint.merge import Merger

        self.files: tuple[str, ...] = tuple(names[capture] for capture in together.captures)
        self.keys = KeyLog()
        with ExitStack() as opened:
            self._captures = [opened.enter_context(Capture(open_source(name), keys=self.keys)) for name in self.files]
            opened.pop_all()
        self.name = " + ".join(self.files)
        self.source = self._captures[0].source
        self.first_time = self.last_time = None
        self.merger: Merger = Merger(together.feeds([capture.blocks() for capture in self._captures]))

    def __str__(self) -> str:
        return self.name

    @property
    def packets(self) -> int:  # type: ignore[override]  # those of all places
        """How many packets were read, of all places."""
        return sum(capture.packets for capture in self._captures)

    @property
    def bytes(self) -> int:  # type: ignore[override]
        """How many bytes these have."""
        return sum(capture.bytes for capture in self._captures)

    @property
    def other(self) -> int:  # type: ignore[override]
        """How many of them are no TCP."""
        return sum(capture.other for capture in self._captures)

    @property
    def lost(self) -> Lost | None:
        """How many packets are missing, where one of the captures says so."""
        found = [lost for capture in self._captures if (lost := capture.lost) is not None]
        return Lost(*map(sum, zip(*found, strict=True))) if found else None

    @property
    def problems(self) -> list[Finding]:
        """What is wrong with any of the captures."""
        return [problem for capture in self._captures for problem in capture.problems]

    def __iter__(self) -> Iterator[Packet]:
        return (packet for block in self.blocks() for packet in block)

    def blocks(self, *, pause: float | None = None, singly: bool = False) -> Iterator[list[Packet]]:
        """Return an iterator of the packets, as many at a time as are told; `singly`: one at a time."""
        for block in self.merger.blocks(singly=singly):
            if self.first_time is None:
                self.first_time = block[0][1]
            self.last_time = block[-1][1]
            yield block

    def engine(self, **given: Any) -> Engine:
        """Return what makes exchanges of its packets, given what any `Engine` is given."""
        from ...exchanges.multipoint.annotate import PlacedEngine

        return PlacedEngine(self.merger, self.files, **given)

    def close(self) -> None:
        """End the iteration, and close all captures."""
        for capture in self._captures:
            capture.close()


MOST_FILES = 16
"""Files that are compared unasked, at most: more are an archive."""
LOOK = 100_000
"""Packets of each file that are looked at unasked."""


def grouped(files: Sequence[str], merge: bool | None) -> Sequence[str | Merged]:
    """Return the files as they are to be read: each by itself, or those of several places merged.

    Unasked (`merge` is None) these are such as have the same connections among their first packets. Asked, the files
    are read through for that; raise `InputError` where none belong together. The others keep their order.
    """
    if merge is False or len(files) < 2 or (merge is None and len(files) > MOST_FILES):
        return files
    captures = [file for file in dict.fromkeys(files) if _is_capture(file)]
    found = _compared(captures, None if merge else LOOK) if len(captures) > 1 else []
    if merge and not found:
        raise InputError("--merge: these captures have no connection in common")
    groups = [one for one in found if merge or not one.same]
    leaders = {captures[min(one.captures)]: one for one in groups}
    members = {captures[at] for one in groups for at in one.captures}
    left = [file for file in files if file in leaders or file not in members]
    return [Merged(captures, leaders[file]) if file in leaders else file for file in left]


def merged(files: Sequence[str]) -> Merged:
    """Return captures of several places as one; raise `InputError` where not all of them belong together."""
    found = grouped(files, True)
    if len(found) == 1 and isinstance(found[0], Merged):
        return found[0]
    for one in found:
        if isinstance(one, Merged):
            one.close()
    alone = ", ".join(one for one in found if isinstance(one, str))
    raise InputError(f"--merge: captures without a connection in common: {alone or 'there are several groups'}")


def _is_capture(file: str) -> bool:
    """Return whether a file is a capture that can be read twice."""
    if file == "-" or numbered(file) is not None:
        return False
    try:
        source = open_source(file)
    except CaptureError:
        return False
    try:
        return source.pipe is None and source.feed.ahead(4).startswith(CAPTURES)
    finally:
        source.close()


def _compared(files: Sequence[str], most: int | None) -> list[Together]:
    """Return which files belong together, by `most` packets of each, or all where that is None."""
    from ...exchanges.multipoint.common import PacketMatcher

    comparison, turns = PacketMatcher(len(files)), []
    with ExitStack() as opened:
        for at, file in enumerate(files):
            with suppress(CaptureError):  # which is told when the file is read
                capture = opened.enter_context(Capture(open_source(file)))
                turns.append((at, capture, capture.blocks()))
        while turns and not comparison.enough():
            turns = [turn for turn in turns if _take(comparison, *turn, most)]
    return comparison.together()


def _take(
    comparison: PacketMatcher, at: int, capture: Capture, blocks: Iterator[list[Packet]], most: int | None
) -> bool:
    """Let a file have its turn; return whether it has more."""
    taken = 0
    for block in blocks:
        comparison.take(at, block)
        taken += len(block)
        if most is not None and capture.packets >= most:
            return False
        if taken >= 4_096:
            return True
    return False
