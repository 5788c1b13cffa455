"""Captures that are there twice: recognised by their packets, whatever they are called and however they are compressed.

Files that begin with the same packets are looked at more closely. Two of a run are the same if all their packets are.
Of a file that the tables hold, how many packets it had, their bytes and the time of the last are known; or its size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from itertools import islice
from typing import BinaryIO, NamedTuple

from ....capture.source import Damaged, open_packets, open_source
from ....views.tables.cells import storable
from .store import open_file

KNOWN = "the tables already contain its packets"
FIRST = 8
"""Packets that files must have in common to be looked at more closely."""


class Contents(NamedTuple):
    """What a file holds: `head` stands for its first packets, "" for none; the counts are None if not all was read."""

    head: str
    size: int
    packets: int | None = None
    packet_bytes: int | None = None
    last: int | None = None


def beginning(file: BinaryIO) -> tuple[int | None, str]:
    """Return the time of a file's first packet, and what stands for its first packets; raise `UnknownCapture`."""
    first = [*islice(_packets(file), FIRST)]
    return (first[0][0], _digest(first)) if first else (None, "")


def duplicates(
    files: Mapping[str, Contents], known: Iterable[Contents], kept: Collection[str] = frozenset()
) -> dict[str, str]:
    """Return the places of files that hold what another one does, with its place, or "" for one that is `known`.

    Those that are `kept` are none, whatever they hold.
    """
    earlier: dict[str, list[tuple[str, Contents]]] = {}
    for one in known:
        earlier.setdefault(one.head, []).append(("", one))
    measured, found = cache(_measure), dict[str, str]()

    def same(place: str, file: Contents, other: str, holds: Contents) -> bool:
        if other:
            return measured(place)[1] == measured(other)[1]
        if holds.packets is None or file.size == holds.size:
            return file.size == holds.size
        return measured(place)[0][2:] == holds[2:]

    for place in sorted(files, key=lambda place: place not in kept):
        file = files[place]
        others = earlier.setdefault(file.head, []) if file.head else []
        alike = (other for other, holds in others if same(place, file, other, holds))
        of = None if place in kept else next(alike, None)
        if of is None:
            others.append((place, file))
        else:
            found[place] = of
    return found


def _measure(place: str) -> tuple[Contents, str]:
    """Read a file to its end; return what it holds, and what stands for all its packets."""
    packets = size = 0
    last: int | None = None

    def counted(file: BinaryIO) -> Iterator[tuple[int | None, bytes]]:
        nonlocal packets, size, last
        for time, data in _packets(file):
            packets, size, last = packets + 1, size + len(data), time if time is not None else last
            yield time, data

    with open_file(place) as opened:
        digest = _digest(counted(opened))
    return Contents("", 0, packets, size, None if last is None else storable(last)), digest


def _packets(file: BinaryIO) -> Iterator[tuple[int | None, bytes]]:
    """Yield (time, bytes) of the packets of a file, up to where it is damaged."""
    arrived = open_packets(open_source(file), lambda problem: None)
    with suppress(Damaged):
        for data, packets in arrived:
            for time, _, start, end in packets:
                yield time, bytes(data[start:end])


def _digest(packets: Iterable[tuple[int | None, bytes]]) -> str:
    found = blake2b(digest_size=16)
    for time, data in packets:
        found.update(b"%d %d " % (-1 if time is None else time, len(data)))
        found.update(data)
    return found.hexdigest()
