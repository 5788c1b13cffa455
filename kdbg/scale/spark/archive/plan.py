"""What is read: files, folders, globs and URLs go in; captures come out, in splits that tasks can take.

A capture is one file, as `kdbg decode` has it, or the pieces that one tcpdump or dumpcap wrote while it rotated its
files: same folder, same name but for the digits that rotation puts there. A connection lives through all of them.

Where a big pcap file is cut is guessed: near the place where it is wanted, a chain of packet headers that can be. It is
proved when a walk from the cut before it lands exactly on it; the first packet follows the file's header, so
where the walk through every part lands on the beginning of the next, all cuts are right. Where one does not (a packet
held bytes like headers, or the file is damaged), the file is walked through anew, and cut where that walk comes by.
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from mmap import ACCESS_READ, mmap
from typing import BinaryIO, NamedTuple

from ....capture.pcap import HEADER, PACKET_HEADER, Layout
from ....capture.source import Damaged, natural, open_packets, open_source
from ....errors import CaptureError
from .store import StoredFile, find, identity, open_file

CHAIN = 16
"""Headers in a row that are believed."""
WINDOW, BLOCK = 2 << 20, 4 << 20
"""Bytes looked at for a cut, and read at a time by a walk."""


def cuttable(head: bytes) -> Layout | None:
    """Read a file's first bytes; return None for what is no pcap file, or one with unusual packet headers."""
    layout = Layout.of(head)
    return layout if layout is not None and layout.record == PACKET_HEADER else None


def first_packet(file: BinaryIO) -> tuple[Layout | None, int | None]:
    """Read a file's first bytes; return its layout where it can be cut, and the time of its first packet."""
    head = file.read(HEADER + PACKET_HEADER)
    layout = cuttable(head)
    return layout, layout.time(head[HEADER:]) if layout is not None else None


class CutPoint(NamedTuple):
    """`packets` passed, the place `end` after the last, where the `last` begins and its `time`.

    `rest`: what follows is an incomplete packet; `has_grown`: the file has more bytes than it had when it was planned.
    """

    packets: int
    end: int
    last: int = 0
    time: int | None = None
    rest: bool = False
    has_grown: bool = False


def walk(file: BinaryIO, layout: Layout, start: int, stop: int) -> CutPoint:
    """Go from the packet at `start` to the first that begins at or after `stop`, or to where none can begin."""
    read, most = struct.Struct(layout.order + "8xI").unpack_from, layout.most
    data: bytes | mmap
    more: Callable[[int], bytes]
    try:  # a file of this machine is mapped whole, so that no more of it is touched than headers
        data, start, place, more = mmap(file.fileno(), 0, access=ACCESS_READ), 0, start, lambda size: b""
    except (OSError, ValueError):  # no file of this machine, or an empty one
        file.seek(start)
        data, place, more = b"", 0, file.read
    count = last = 0
    while True:
        edge, goal = len(data) - PACKET_HEADER, stop - start
        while place <= edge and place < goal:
            length = read(data, place)[0]
            behind = place + PACKET_HEADER + length
            if length > most or behind > len(data):
                break
            last, place = start + place, behind
            count += 1
        claims = read(data, place)[0] if place <= edge else 0
        if place >= goal or claims > most or not (added := more(max(BLOCK, claims))):
            return CutPoint(count, start + place, last)
        data, start, place = data[place:] + added, start + place, 0


def guess(file: BinaryIO, layout: Layout, near: int) -> int | None:
    """Return a place at or after `near` where a packet seems to begin; None where none does in the next bytes."""
    file.seek(HEADER)
    known = layout.time(file.read(PACKET_HEADER))
    file.seek(near)
    data = file.read(WINDOW)
    if known is None:
        return None
    century = known // 1_000_000_000 >> 24  # the highest byte of the seconds lasts for half a year
    high = b"[%b]" % b"".join(b"\\x%02x" % (byte & 0xFF) for byte in (century, century + 1))
    pattern = b"(?s)(?=...%b)" % high if layout.order == "<" else b"(?s)(?=%b)" % high
    for found in re.finditer(pattern, data):
        if _chained(data, found.start(), layout):
            return near + found.start()
    return None


def _chained(data: bytes, place: int, layout: Layout) -> bool:
    """Return whether plausible packet headers follow one another from `place` on, as far as the data goes."""
    read = struct.Struct(layout.order + "IIII").unpack_from
    for seen in range(CHAIN):
        if place + PACKET_HEADER > len(data):
            return seen > 0
        _, fraction, captured, sent = read(data, place)
        if fraction * layout.unit >= 1_000_000_000 or captured > layout.most or not 0 < captured <= max(sent, 1):
            return False
        place += PACKET_HEADER + captured
    return True


SPLIT = 64 << 20
"""Bytes of a file that one task reads, unless said otherwise."""
STAMP = r"\d{4}[-_.]?\d\d[-_.]?\d\d(?:[-_.T]?\d\d[-_.:]?\d\d(?:[-_.:]?\d\d)?)?|\d{10}"
ROTATED = (
    re.compile(
        r"(?<=\.pcap)\d*(?=\.|$)|(?<=\.cap)\d*(?=\.|$)|(?<=\.pcapng)\d*(?=\.|$)"
    ),  # tcpdump -C: x.pcap, x.pcap1, x.pcap10
    re.compile(r"(?<=_)(?:\d{5}_\d{14}|\d{14}_\d{5})(?!\d)"),  # dumpcap -b: x_00001_20261121033000.pcapng
    re.compile(rf"(?<!\d)(?:{STAMP})(?!\d)"),  # tcpdump -G: x-2026-11-21_03.30.00.pcap
)
"""What rotation adds to a name."""
HOUR = re.compile(r"(?:^|(?<=[-_]))(?P<hour>[01]\d|2[0-3])(?:[-_.:]?[0-5]\d){0,2}(?=\.p?cap|$)")
"""What `tcpdump -G 3600 -w kafka-%H.pcap` adds, if the first packet is of that hour."""
DATED = re.compile(r"(?<!\d)20\d\d([-_./]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])(?:/\d\d(?=/|$))?(?!\d)")
"""The date in the path of a folder."""
MARGIN = 600 * 1_000_000_000
"""Nanoseconds around the time asked for that are read too: what began before is still being answered."""
THREADS = 16


class File(NamedTuple):
    """A capture file: `layout` if it is a plain pcap, the time of its first packet in nanoseconds.

    `name` is what it goes by, `place` what it is opened by on whichever machine, `modified` when it was changed.
    """

    name: str
    place: str
    size: int
    layout: Layout | None
    time: int | None
    modified: int = 0


class Split(NamedTuple):
    """Packets that one task reads: those of a file from `start` to `stop`, all of a file that cannot be cut.

    `capture` and `file` are places in the plan's lists, `time` is the first packet's, in nanoseconds. `before` counts
    the packets of the file in front of it, `shift` those of the capture's files in front of this one. A file's last
    split reads on to the end of the file, whatever is there. A file that cannot be cut is read from its beginning, and
    packets `before` are skipped; no more than `most` are read.
    """

    capture: int
    file: int
    start: int
    stop: int
    time: int | None
    before: int = 0
    shift: int = 0
    most: int | None = None

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
        for split, following in zip_longest(self.splits, self.splits[1:]):
            end = following.time if following is not None and following.capture == split.capture else None
            over = since is not None and end is not None and (split.time or 0) <= end < since - MARGIN
            ahead = until is not None and split.time is not None and split.time > until + MARGIN
            if not over and not ahead:
                kept.append(split)
        return replace(self, splits=kept)


def nanoseconds(seconds: float | None) -> int | None:
    """Return seconds since the epoch as nanoseconds, which plans use."""
    return None if seconds is None else round(seconds * 1e9)


def plan(
    names: Iterable[str], size: int = SPLIT, *, rolled: bool = False, known: Callable[[StoredFile], bool] | None = None
) -> Plan:
    """Find the captures and cut them into splits of about `size` bytes.

    `rolled` takes all files of a folder for pieces of one capture. Files that are `known` are skipped. Raises
    `CaptureRefused` for a name that nothing is found under, `UnknownCapture` for a file given by its name that is no
    capture; what is found in folders is skipped where it cannot be read, and so is a file without a complete header if
    other files are known, for it may be being written.
    """
    wanted: dict[str, tuple[StoredFile, bool]] = {}
    for name in names:
        for found in find(name):
            if known is None or not known(found):
                asked_for = found.name == name and (known is None or found.size >= HEADER)
                wanted.setdefault(identity(found.name), (found, asked_for))
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
    captures: dict[str, list[File]] = {}
    for file in sorted(files, key=lambda file: natural(file.name)):
        captures.setdefault(capture_name(file.name, file.time, rolled=rolled), []).append(file)
    ordered: list[File] = []
    splits: list[Split] = []
    for number, pieces in enumerate(captures.values()):
        for file in in_order(pieces):
            splits += _cut(number, len(ordered), file, size)
            ordered.append(file)
    names = [name if len(pieces) > 1 else pieces[0].name for name, pieces in captures.items()]
    return Plan(names, ordered, splits, refused)


def in_order(pieces: list[File]) -> list[File]:
    """Return the pieces of a capture in the order in which they were written; they come by name.

    That is the order of their names too, but where tcpdump wrote into a ring of files (-W) and came round again.
    """
    times = [file.time or 0 for file in pieces]
    falls = [i for i in range(1, len(times)) if times[i] < times[i - 1]]
    turned = len(falls) == 1 and times[-1] < times[0]
    return pieces[falls[0] :] + pieces[: falls[0]] if turned else pieces


def capture_name(name: str, time: int | None = None, *, rolled: bool = False) -> str:
    """Return a file's name with `*` for what rotation added, or, with `rolled`, for all but its folder.

    `time` is that of its first packet in nanoseconds: digits that are its hour were added by rotation.
    """
    folder, slash, last = plain_name(name).rpartition("/")
    if rolled:
        return f"{folder}/*"
    for added in ROTATED:
        last = added.sub("*", last)
    found = HOUR.search(last)
    if found is not None and time is not None and int(found["hour"]) in _hours(time // 1_000_000_000):
        last = f"{last[: found.start()]}*{last[found.end() :]}"
    return f"{DATED.sub('*', folder)}{slash}{last.replace('**', '*')}"


def plain_name(name: str) -> str:
    """Return a file's name without what compression added."""
    return name.removesuffix(".gz").removesuffix(".zst")


def _hours(seconds: int) -> set[int]:
    """Return the hour of a time in UTC and in this machine's zone."""
    try:
        return {time.gmtime(seconds).tm_hour, time.localtime(seconds).tm_hour}
    except (OverflowError, OSError, ValueError):
        return set()


def _look(found: StoredFile) -> File | CaptureError:
    """Look at a file's first bytes: return what it is and when it begins, or why it is no capture."""
    place = identity(found.name)
    try:
        with open_file(place) as opened:
            layout, time = first_packet(opened)
            if layout is None:
                opened.seek(0)
                arrived = open_packets(open_source(opened), lambda problem: None)
                with suppress(Damaged, StopIteration):
                    time = next(arrived)[1][0][0]
            return File(found.name, place, found.size, layout, time, found.modified)
    except CaptureError as error:
        return type(error)(found.name, error.problem, error.remedy)


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
