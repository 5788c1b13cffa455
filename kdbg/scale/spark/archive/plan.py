"""What is read: files, folders, globs and URLs go in; captures come out, in splits that tasks can take.

A capture is one file, as `kdbg decode` has it, or the pieces that one tcpdump or dumpcap wrote while it rotated its
files: same folder, same name but for the digits that rotation puts there. A connection lives through all of them.

Where a big file is cut is guessed: near the place where it is wanted, a chain of packet headers that can be (pcapng:
see blocks.py). It is proved when a walk from the cut before it lands exactly on it; the first packet follows the file's
header, so where the walk through every part lands on the beginning of the next, all cuts are right. Where one does not
(a packet held bytes like headers, or the file is damaged), the file is walked through anew, and cut where that walk
comes by.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from mmap import ACCESS_READ, mmap
from typing import BinaryIO, NamedTuple, TypeAlias, TypeVar

from ....capture.names import capture_name, named_files
from ....capture.pcap import HEADER, PACKET_HEADER, Layout
from ....capture.source import natural
from ....errors import CaptureError
from .blocks import Blocks
from .duplicates import KNOWN, Contents, beginning, duplicates
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


def walk(file: BinaryIO, layout: Layout | Blocks, start: int, stop: int) -> CutPoint:
    """Go from the packet at `start` to the first that begins at or after `stop`, or to where none can begin."""
    if isinstance(layout, Blocks):
        packets, end, time, rest = layout.walk(file, start, stop)
        return CutPoint(packets, end, time=time, rest=rest)
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


def time_at(file: BinaryIO, layout: Layout | Blocks, place: int) -> int | None:
    """Return the time of the packet that begins at a place."""
    if isinstance(layout, Blocks):
        return layout.time(file, place)
    file.seek(place)
    return layout.time(file.read(PACKET_HEADER))


def guess(file: BinaryIO, layout: Layout | Blocks, near: int) -> int | None:
    """Return a place at or after `near` where a packet seems to begin; None where none does in the next bytes."""
    if isinstance(layout, Blocks):
        file.seek(near)
        place = layout.guess(file.read(WINDOW))
        return None if place is None else near + place
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
MARGIN = 600 * 1_000_000_000
"""Nanoseconds around the time asked for that are read too: what began before is still being answered."""
THREADS = 16


class File(NamedTuple):
    """A capture file: `layout` if it is a pcap or large pcapng, the time of its first packet in nanoseconds.

    `name` is what it goes by, `place` what it is opened by on whichever machine, `named` what tables call it, and
    `modified` when it was changed. `head` stands for its first packets (see duplicates.py).
    """

    name: str
    place: str
    size: int
    layout: Layout | Blocks | None
    time: int | None
    modified: int = 0
    named: str = ""
    head: str = ""

    @property
    def first(self) -> int:
        """Where its first packet is, in a file that can be cut; else where it begins."""
        return 0 if self.layout is None else len(self.layout.head)


class Split(NamedTuple):
    """Packets that one task reads: those of a file from `start` to `stop`, all of a file that cannot be cut.

    `capture` and `file` are places in the plan's lists, `time` is the first packet's, in nanoseconds. `before` counts
    the packets of the file in front of it, `shift` those of the capture's files in front of this one. A file's last
    split reads on to the end of the file, whatever is there. A file that cannot be cut is read from its beginning, and
    packets `before` are skipped; no more than `most` are read. `whole`: one task takes all splits of its capture.
    """

    capture: int
    file: int
    start: int
    stop: int
    time: int | None
    before: int = 0
    shift: int = 0
    most: int | None = None
    whole: bool = False

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
    roots: list[str] = field(default_factory=list)
    """The folders below which the files are that tables name by their paths."""
    duplicates: list[tuple[str, File, str]] = field(default_factory=list)
    """Files that are not read: capture, file, and which other one holds its packets."""

    @property
    def size(self) -> int:
        """Bytes to be read."""
        return sum(split.size for split in self.splits)

    def parts(self, split: Split) -> bool:
        """Return whether the split's end is a cut inside its file."""
        return split.stop < self.files[split.file].size

    def of_captures(self) -> Iterator[tuple[str, list[tuple[File, Split]]]]:
        """Yield each capture that has splits: its name, and its files, each with one split of all that is read of it.

        The packets of these splits are numbered in their files alone.
        """
        for capture, splits in groupby(self.splits, key=lambda split: split.capture):
            files: list[tuple[File, Split]] = []
            for number, cut in groupby(splits, key=lambda split: split.file):
                first, *others = cut
                stop = others[-1].stop if others else first.stop
                files.append((self.files[number], first._replace(stop=stop, shift=0)))
            yield self.captures[capture], files

    def between(self, since: int | None, until: int | None) -> Plan:
        """Return the plan without the splits that lie well outside of these times, in nanoseconds."""
        kept, divided = list[Split](), set[int]()
        for split, following in zip_longest(self.splits, self.splits[1:]):
            end = following.time if following is not None and following.capture == split.capture else None
            over = since is not None and end is not None and (split.time or 0) <= end < since - MARGIN
            ahead = until is not None and split.time is not None and split.time > until + MARGIN
            if not over and not ahead:
                kept.append(split)
            else:
                divided.add(split.capture)
        return replace(self, splits=[each._replace(whole=each.whole and each.capture not in divided) for each in kept])


def nanoseconds(seconds: float | None) -> int | None:
    """Return seconds since the epoch as nanoseconds, which plans use."""
    return None if seconds is None else round(seconds * 1e9)


Item = TypeVar("Item")
OPENING = 1 << 20
"""Bytes that a task reads in the time in which it opens a file, about."""


def bundled(items: Iterable[Item], size: Callable[[Item], int], room: int) -> list[list[Item]]:
    """Return the items in bundles, in their order; a bundle is full once its items have `room` bytes in all."""
    found: list[list[Item]] = []
    left = 0
    for item in items:
        if left <= 0:
            found.append([])
            left = room
        found[-1].append(item)
        left -= size(item)
    return found


Looked: TypeAlias = "tuple[File, dict[int, int | None]] | CaptureError"
"""What was found at the beginning of a file: the file, and where it may be cut, each place with the time of the packet
there; or why it is not a capture."""
Look: TypeAlias = Callable[[Sequence[StoredFile], int], Iterable[Looked]]
"""Looks at files, to cut them into splits of so many bytes."""


def look_here(found: Sequence[StoredFile], size: int) -> list[Looked]:
    """Look at files in this process."""
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(look, found, [size] * len(found)))


def plan(
    names: Iterable[str], size: int = SPLIT, *, rolled: bool = False, known: Callable[[StoredFile], bool] | None = None,
    continues: Callable[[File], object] = lambda file: None, contents: Iterable[Contents] = (),
    allow_duplicates: bool = False, look: Look = look_here,
) -> Plan:  # fmt: skip
    """Find the captures and cut them into splits of about `size` bytes; `look` opens the files.

    `rolled` takes all files of a folder for pieces of one capture. Files that are `known` are skipped. A file that
    holds what another one does, or what is known by its `contents`, is not read unless duplicates are allowed, or it
    `continues` what was read of it before. Raises `CaptureRefused` for a name that nothing is found under,
    `UnknownCapture` for a file given by its name that is no capture; what is found in folders is skipped where it
    cannot be read, and so is a file without a complete header if other files are known, for it may be being written.
    """
    wanted: dict[str, tuple[StoredFile, str]] = {}
    for name in names:
        for found in sorted(find(name), key=lambda found: natural(found.name)):
            if known is None or not known(found):
                wanted.setdefault(identity(found.name), (found, name))
    looked_at = [*look([found for found, _ in wanted.values()], size)]
    times = {one[0].name: one[0].time for one in looked_at if not isinstance(one, CaptureError)}
    named = named_files([(name, found.name) for found, name in wanted.values()], rolled=rolled, times=times)
    files: list[File] = []
    cuts: dict[str, dict[int, int | None]] = {}
    refused: list[tuple[str, str]] = []
    for (found, name), looked, shown in zip(wanted.values(), looked_at, named, strict=True):
        if not isinstance(looked, CaptureError):
            files.append(looked[0]._replace(named=shown.name))
            cuts[looked[0].place] = looked[1]
        elif found.name == name and (known is None or found.size >= HEADER):
            raise looked
        else:
            refused.append((looked.source, looked.problem))
    holding = {file.place: Contents(file.head, file.size) for file in files}
    kept = {file.place for file in files if continues(file)}
    twice = duplicates({} if allow_duplicates else holding, contents, kept)
    files.sort(key=lambda file: natural(file.name))
    same = {file.place: f"the same packets as {file.name}" for file in files} | {"": KNOWN}
    skipped = [(capture_name(file.named, file.time, rolled=rolled), file, same[twice[file.place]])
               for file in files if file.place in twice]  # fmt: skip
    refused += [(file.name, problem) for _, file, problem in skipped]
    captures: dict[str, list[File]] = {}
    for file in (file for file in files if file.place not in twice):
        captures.setdefault(capture_name(file.place, file.time, rolled=rolled), []).append(file)
    ordered: list[File] = []
    splits: list[Split] = []
    for number, pieces in enumerate(captures.values()):
        first = len(splits)
        for file in in_order(pieces):
            splits += between(number, len(ordered), file, cuts[file.place])
            ordered.append(file)
        if len(splits) == first + len(pieces) and sum(split.size for split in splits[first:]) <= size:
            splits[first:] = [split._replace(whole=True) for split in splits[first:]]
    names = [capture_name(one.named, one.time, rolled=rolled) for one, *_ in captures.values()]
    return Plan(names, ordered, splits, refused, sorted({each.root for each in named} - {""}), skipped)


def in_order(pieces: list[File]) -> list[File]:
    """Return the pieces of a capture in the order in which they were written; they come by name.

    That is the order of their names too, but where tcpdump wrote into a ring of files (-W) and came round again.
    """
    times = [file.time or 0 for file in pieces]
    falls = [i for i in range(1, len(times)) if times[i] < times[i - 1]]
    turned = len(falls) == 1 and times[-1] < times[0]
    return pieces[falls[0] :] + pieces[: falls[0]] if turned else pieces


def look(found: StoredFile, size: int) -> Looked:
    """Look at a file's first bytes, and at those where it may be cut into splits of `size` bytes."""
    place = identity(found.name)
    layout: Layout | Blocks | None
    try:
        with open_file(place) as opened:
            layout, time = first_packet(opened)
            opened.seek(0)
            begun, head = beginning(opened)
            if layout is None:
                time = begun
                layout = Blocks.of(opened) if found.size > size + HEADER else None
            file = File(found.name, place, found.size, layout, time, found.modified, found.name, head)
            cuts = {file.first: time}
            if layout is not None:
                guesses = (guess(opened, layout, near) for near in range(size, found.size - HEADER, size))
                cuts |= {cut: time_at(opened, layout, cut) for cut in guesses if cut is not None}
            return file, cuts
    except CaptureError as error:
        return type(error)(found.name, error.problem, error.remedy)


def between(capture: int, number: int, file: File, cuts: Mapping[int, int | None]) -> list[Split]:
    """Return splits that begin at these places, each with its time."""
    places = sorted(place for place in cuts if place < file.size or place == file.first)
    return [
        Split(capture, number, start, stop, cuts[start])
        for start, stop in zip(places, [*places[1:], file.size], strict=True)
    ]
