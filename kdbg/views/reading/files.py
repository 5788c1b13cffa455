"""A file that was named: a capture, or a file of a broker's disk; found out by what it holds."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias

from ...analysis.logs.log import ApplicationLog, has_lines
from ...capture import Capture
from ...capture.source import Source, open_source
from ...errors import InputError
from ...exchanges.filters.filter_set import Filters

if TYPE_CHECKING:
    from ...exchanges.engine.direction import Depth
    from ...exchanges.engine.driver import Pairing
    from ...exchanges.engine.engine import Watch
    from ...payloads.segments import File

CAPTURES = (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a")
"""How pcap, in both orders of bytes and with micro- and nanoseconds, and pcapng begin."""

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

    Raise `InputError` where exchanges are chosen by their numbers already.
    """
    found = numbered(source)
    if found is None:
        return source, filters
    if filters.exchange:
        raise InputError(f"{source}: #N cannot be combined with --exchange; omit one of them")
    return found[0], filters.but(exchange=found[1])


def open_any(name: Named) -> Capture | ApplicationLog | BrokerFile:
    """Open a file, "-" or a binary stream; raise `CaptureError` where it is no capture, broker's file or log."""
    source = open_source(name)
    try:
        if source.feed.ahead(4).startswith(CAPTURES):
            return Capture(source)
        found = recognised(source)
        if found is not None:
            return BrokerFile(source, found)
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
) -> Pairing:
    """Return what makes exchanges of what was opened; raise as `KeyLog.use` for key logs that cannot be read.

    `reads` and `watch` are as for `Engine`. With `timed`, or where a filter asks for it, the exchanges of a
    capture have their `timing`.
    """
    if isinstance(opened, ApplicationLog):
        from ...analysis.logs.conversations import Conversations

        return Conversations()
    from ...exchanges.engine.engine import Engine, nobody_watches
    from ...exchanges.engine.tls import NO_KEYS

    keys = opened.secrets(filters.tls_keys) if isinstance(opened, Capture) else NO_KEYS
    ports, watch = filters.port or (), watch or nobody_watches
    engine: Pairing | None = None
    if type(opened) is not Capture and isinstance(opened, Capture):
        from .merge import Merged

        if isinstance(opened, Merged):
            engine = opened.engine(ports=ports, watch=watch, reads=reads, keys=keys)
    engine = engine or Engine(ports=ports, watch=watch, reads=reads, keys=keys)
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
