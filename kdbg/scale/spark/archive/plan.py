"""What is read: files, folders, globs and URLs go in; captures come out, in splits that tasks can take.

A capture is one file, as `kdbg decode` has it, or the pieces that one tcpdump or dumpcap wrote while it rotated its
files: same folder, same name but for the digits that rotation puts there. A connection lives through all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

from ....capture.pcap import HEADER, PACKET_HEADER, Layout
from ....capture.source import Batch, Damaged, natural, open_packets, open_source
from ....errors import CaptureError, CaptureRefused
from ....protocol.findings.amounts import count
from .cuts import cuttable, guess
from .store import StoredFile, find, identity, open_file

SPLIT = 64 << 20
"""Bytes of a file that one task reads, unless said otherwise."""
STAMP = r"\d{4}[-_.]?\d\d[-_.]?\d\d(?:[-_.T]?\d\d[-_.:]?\d\d(?:[-_.:]?\d\d)?)?|\d{10}"
ROTATED = (
    re.compile(
        r"(?<=\.pcap)\d*(?=\.|$)|(?<=\.cap)\d*(?=\.|$)|(?<=\.pcapng)\d*(?=\.|$)"
    ),  # tcpdump -C: x.pcap, x.pcap1, x.pcap10
    re.compile(r"(?<=_)\d{5}_\d{14}(?!\d)"),  # dumpcap -b: x_00001_20261121033000.pcapng
    re.compile(rf"(?<!\d)(?:{STAMP})(?!\d)"),  # tcpdump -G: x-2026-11-21_03.30.00.pcap
)
"""What rotation adds to a name."""
MARGIN = 600 * 1_000_000_000
"""Nanoseconds around the time asked for that are read too: what began before is still being answered."""
THREADS = 16
NOTHING: Mapping[str, int] = {}


class File(NamedTuple):
    """A capture file: `layout` if it is a plain pcap, the time of its first packet in nanoseconds.

    `name` is what it goes by, `place` what it is opened by on whichever machine.
    """

    name: str
    place: str
    size: int
    layout: Layout | None
    time: int | None


class Split(NamedTuple):
    """Packets that one task reads: those of a file from `start` to `stop`, all of a file that cannot be cut.

    `capture` and `file` are places in the plan's lists, `time` is the first packet's, in nanoseconds. `before` counts
    the packets of the file in front of it, `shift` those of the capture's files in front of this one. A file's last
    split reads on to the end of the file, whatever is there.
    """

    capture: int
    file: int
    start: int
    stop: int
    time: int | None
    before: int = 0
    shift: int = 0

    @property
    def size(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class Plan:
    """`captures` by name; `splits` in the order of captures, time and bytes.

    `refused` are files found in folders that are no captures or cannot be read, each with the reason.
    """

    captures: list[str]
    files: list[File]
    splits: list[Split]
    refused: list[tuple[str, str]]

    @property
    def size(self) -> int:
        """Bytes to be read."""
        return sum(split.size for split in self.splits)

    def parts(self, split: Split) -> bool:
        """Return whether the split's end is a cut inside its file."""
        return split.stop < self.files[split.file].size

    def between(self, since: int | None, until: int | None) -> Plan:
        """Return the plan without the splits that lie well outside of these times, in nanoseconds."""
        kept: list[Split] = []
        for split, following in zip(self.splits, [*self.splits[1:], None], strict=True):
            end = following.time if following is not None and following.capture == split.capture else None
            over = since is not None and end is not None and (split.time or 0) <= end < since - MARGIN
            ahead = until is not None and split.time is not None and split.time > until + MARGIN
            if not over and not ahead:
                kept.append(split)
        return replace(self, splits=kept)


def nanoseconds(seconds: float | None) -> int | None:
    """Return seconds since the epoch as nanoseconds, which plans use."""
    return None if seconds is None else round(seconds * 1e9)


def plan(names: Iterable[str], size: int = SPLIT, *, rolled: bool = False, known: Mapping[str, int] = NOTHING) -> Plan:
    """Find the captures and cut them into splits of about `size` bytes.

    `rolled` takes all files of a folder for pieces of one capture. Files that are `known`, by `identity` and size, are
    passed over; one that is known by another size has been read too early, and is refused. Raises
    `CaptureRefused` for a name that nothing is found under, `UnknownCapture` for a file given by its name that is no
    capture; what is found in folders is passed over where it cannot be read.
    """
    wanted: dict[str, tuple[StoredFile, bool]] = {}
    for name in names:
        for found in find(name):
            size_then = known.get(identity(found.name))
            if size_then is None:
                wanted.setdefault(identity(found.name), (found, found.name == name))
            elif size_then != found.size:
                raise CaptureRefused(
                    found.name,
                    f"already in the tables, from when it had {count(size_then, 'byte')}",
                    "create the tables again without --append",
                )
    with ThreadPoolExecutor(THREADS) as threads:
        looked_at = list(threads.map(_look, [found for found, _ in wanted.values()]))
    files: list[File] = []
    refused: list[tuple[str, str]] = []
    for (_, asked_for), file in zip(wanted.values(), looked_at, strict=True):
        if isinstance(file, File):
            files.append(file)
        elif asked_for:
            raise file
        else:
            refused.append((file.source, file.problem))
    return Plan(*_arranged(files, size, rolled), refused)


def _arranged(files: list[File], size: int, rolled: bool) -> tuple[list[str], list[File], list[Split]]:
    """Put captures and their pieces in order, and cut them into splits."""
    captures: dict[str, list[File]] = {}
    for file in sorted(files, key=lambda file: natural(file.name)):
        captures.setdefault(_folder(file.name) if rolled else whole(file.name), []).append(file)
    ordered: list[File] = []
    splits: list[Split] = []
    for number, pieces in enumerate(captures.values()):
        for file in in_order(pieces):
            splits += _cut(number, len(ordered), file, size)
            ordered.append(file)
    names = [name if len(pieces) > 1 else pieces[0].name for name, pieces in captures.items()]
    return names, ordered, splits


def in_order(pieces: list[File]) -> list[File]:
    """Return the pieces of a capture in the order in which they were written; they come by name.

    That is the order of their names too, but where tcpdump wrote into a ring of files (-W) and came round again.
    """
    times = [file.time or 0 for file in pieces]
    falls = [i for i in range(1, len(times)) if times[i] < times[i - 1]]
    turned = len(falls) == 1 and times[-1] < times[0]
    return pieces[falls[0] :] + pieces[: falls[0]] if turned else pieces


def whole(name: str) -> str:
    """Return a file's name with `*` for what rotation added: the name of the capture that it is a piece of."""
    folder, slash, last = name.rpartition("/")
    for added in ROTATED:
        last = added.sub("*", last)
    return f"{folder}{slash}{last.replace('**', '*')}"


def _folder(name: str) -> str:
    return f"{name.rpartition('/')[0]}/*"


def _look(found: StoredFile) -> File | CaptureError:
    """Look at a file's first bytes: return what it is and when it begins, or why it is no capture."""
    place = identity(found.name)
    try:
        with open_file(place) as opened:
            head = opened.read(HEADER + PACKET_HEADER)
            if (layout := cuttable(head)) is not None:
                return File(found.name, place, found.size, layout, layout.time(head[HEADER:]))
            opened.seek(0)
            arrived = open_packets(open_source(opened), lambda problem: None)
            return File(found.name, place, found.size, None, first_time(arrived))
    except CaptureError as error:
        return type(error)(found.name, error.problem, error.remedy)


def first_time(arrived: Iterator[Batch]) -> int | None:
    """Return when the first packet was captured, in nanoseconds."""
    try:
        _, packets = next(arrived)
    except (Damaged, StopIteration):
        return None
    return packets[0][0]


def _cut(capture: int, number: int, file: File, size: int) -> Iterator[Split]:
    """Cut one file into splits, at places where packets seem to begin."""
    if file.layout is None or file.size <= size + HEADER:
        yield Split(capture, number, 0 if file.layout is None else HEADER, file.size, file.time)
        return
    cuts = {HEADER: file.time}
    with open_file(file.place) as opened:
        for near in range(size, file.size - HEADER, size):
            place = guess(opened, file.layout, near)
            if place is not None:
                opened.seek(place)
                cuts[place] = file.layout.time(opened.read(PACKET_HEADER))
    yield from between(capture, number, file, cuts)


def between(capture: int, number: int, file: File, cuts: dict[int, int | None]) -> list[Split]:
    """Return splits that begin at these places, each with its time."""
    places = sorted(place for place in cuts if place < file.size or place == HEADER)
    return [
        Split(capture, number, start, stop, cuts[start])
        for start, stop in zip(places, [*places[1:], file.size], strict=True)
    ]
