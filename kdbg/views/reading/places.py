"""Which of the captures that were named were recorded at several places of the same connections, and are one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ...capture import Capture, Packet
from ...capture.source import open_source
from ...errors import CaptureError, InputError
from .files import CAPTURES, numbered
from .merge import Merged

if TYPE_CHECKING:
    from ...exchanges.multipoint.common import PacketMatcher, Together

MOST_FILES = 16
"""Files that are compared unasked, at most: more are an archive."""
LOOK = 100_000
"""Packets of each file that are looked at unasked."""
TURN = 4_096
"""Packets of a file that are looked at before the next file has its turn."""


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
    return [
        Merged(captures, leaders[file]) if file in leaders else file
        for file in files
        if file in leaders or file not in members
    ]


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

    comparison = PacketMatcher(len(files))
    with ExitStack() as opened:
        turns = [(at, turn) for at, file in enumerate(files) if (turn := _turns(opened, file, most)) is not None]
        while turns and not comparison.enough():
            turns = [(at, turn) for at, turn in turns if _take(comparison, at, turn)]
    return comparison.together()


def _turns(opened: ExitStack, file: str, most: int | None) -> Iterator[list[Packet]] | None:
    """Return an iterator of so many packets of a file; None where it cannot be read, which is told when it is."""
    try:
        capture = opened.enter_context(Capture(open_source(file)))
    except CaptureError:
        return None
    return _first(capture, most)


def _first(capture: Capture, most: int | None) -> Iterator[list[Packet]]:
    for block in capture.blocks():
        yield block
        if most is not None and capture.packets >= most:
            return


def _take(comparison: PacketMatcher, at: int, turn: Iterator[list[Packet]]) -> bool:
    """Let a file have its turn; return whether it has more."""
    taken = 0
    for block in turn:
        comparison.take(at, block)
        taken += len(block)
        if taken >= TURN:
            return True
    return False
