"""How far captures were read by all runs so far, and what is left to read of them.

A file is read up to its last complete packet, and continued there by the next run. It is the same file as before if its
first packet has the same time: a ring of files reuses names, and a compressed file takes the place of a plain one. Runs
keep what they read in their rows of the table of runs; of two states of a file or a capture point, that with the
greater number `at` is the newer one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby, zip_longest
from typing import Any, NamedTuple

from ....capture.names import capture_name, plain_name
from ....capture.pcap import PACKET_HEADER, Layout
from ....capture.source import GLOB, glob, natural
from ....errors import CaptureError, SparkError
from ....protocol.findings.amounts import count
from ..archive.blocks import NOWHERE
from ..archive.files import uncounted
from ..archive.plan import CutPoint, File, Plan, Split
from ..archive.store import StoredFile, find, identity

ALL = (1 << 63) - 1
"""A horizon that every connection lies behind."""
OVERWRITTEN = "the file was overwritten since kdbg read it last: packets between may be missing"
EARLIER = "an earlier version of kdbg added it when it had {}: create the tables again"
LATELY = 60 * 1_000_000_000
"""Nanoseconds: a file that changed since then may be being written."""


class ReadFile(NamedTuple):
    """A file of `size` bytes was read up to byte `position`, which is so many `packets`; the first of them has `time`.

    A file that is not a plain pcap is continued by packets instead. `rest`: an incomplete packet is at its end. A file
    that is damaged has no position (-1): nothing after the damage can be read. Versions of kdbg that noted the size
    alone left files with `at` 0.
    """

    at: int
    size: int
    modified: int
    time: int | None
    position: int
    packets: int
    rest: bool


@dataclass(frozen=True)
class PointState:
    """A capture point: its name in the tables, the file that was read last, and how many packets were read of all.

    `rotates`: other files follow. `newest` is the time of the last packet, `least` that before which connections are
    over in any case, in nanoseconds; `waiting` are files with connections that are open.
    """

    at: int
    capture: str
    last: str
    rotates: bool
    packets: int = 0
    newest: int | None = None
    least: int = 0
    waiting: list[str] = field(default_factory=list)


@dataclass
class Progress:
    """What all runs have read by now; `topics` are the names of topic ids that they learned."""

    files: dict[str, ReadFile] = field(default_factory=dict)
    points: dict[str, PointState] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    at: int = 0
    unchanged: set[str] = field(default_factory=set)
    """Files of which nothing was left to read when they were looked up."""

    @classmethod
    def of(cls, entries: Iterable[Mapping[str, Any]]) -> Progress:
        """Return what the entries of all runs say together."""
        found = cls()
        for entry in entries:
            found.topics |= entry.get("topics", {})
            for (name, size), said in zip_longest(entry["files"].items(), entry.get("read", ())):
                file = ReadFile(*said) if said else ReadFile(0, size, 0, None, size, 0, False)
                if name not in found.files or found.files[name].at < file.at:
                    found.files[name] = file
            for name, said in entry.get("points", {}).items():
                if name not in found.points or found.points[name].at < said["at"]:
                    found.points[name] = PointState(**said)
        numbers = [file.at for file in found.files.values()] + [state.at for state in found.points.values()]
        found.at = max(numbers, default=0)
        return found

    @property
    def waiting(self) -> set[str]:
        """The files with open connections."""
        return {name for state in self.points.values() for name in state.waiting}

    def holds(self, found: StoredFile) -> bool:
        """Return whether nothing of a file is left to read, as its size and time of change show."""
        read = self.files.get(identity(found.name))
        if read is None or read.rest or read.size != found.size:
            return False
        if 0 not in (read.modified, found.modified) and read.modified != found.modified:
            return False
        self.unchanged.add(identity(found.name))
        return True

    def has_grown(self, name: str) -> bool:
        """Return whether a file that was unchanged has changed since it was looked up."""
        with suppress(CaptureError):
            return name in self.unchanged and not all(map(self.holds, find(name)))
        return False

    def check(self, now: Progress, entry: Mapping[str, Any], out: str) -> None:
        """Raise `SparkError` if another run has read what is in the entry of a run that began with this progress."""
        for name in entry.get("points", ()):
            if now.points.get(name) != self.points.get(name):
                raise SparkError(
                    f"another run added packets of {entry['points'][name]['capture']} to {out} at the same time",
                    "run the same command again",
                )
        for name in entry["files"]:
            if now.files.get(name) != self.files.get(name):
                raise SparkError(
                    f"another run added {name} to {out} at the same time", "the tables contain the result of that run"
                )

    def earlier(self, file: File) -> ReadFile | None:
        """Return how far a file was read, by this name or by that of its plain or compressed form."""
        plain = plain_name(file.place)
        for name in (file.place, plain, f"{plain}.gz", f"{plain}.zst"):
            read = self.files.get(name)
            if read is not None and read.at and read.packets and read.time == file.time:
                return read
        return None

    def open_points(self, names: Iterable[str]) -> list[str]:
        """Return the capture points below these names that have open connections."""
        found: list[str] = []
        for name in names:
            place = identity(name)
            fits = glob(place).fullmatch if GLOB.search(place) else None
            found += [
                point for point, state in self.points.items()
                if state.waiting and (state.last == place or state.last.startswith(f"{place.rstrip('/')}/")
                                      or (fits is not None and fits(state.last)))
            ]  # fmt: skip
        return list(dict.fromkeys(found))


@dataclass
class Batch:
    """What a run reads beyond what was read before: a plan, and for each of its captures its point.

    `growing` are the captures that go on after this run; `complete` the files that nothing is added to. `horizons` are
    the times in nanoseconds after which the connections of a capture are open. `notes` are findings of files. If it
    `is_full`, some files are left to the next run.
    """

    plan: Plan
    progress: Progress
    patience: int
    points: list[str] = field(default_factory=list)
    rotating: set[int] = field(default_factory=set)
    growing: set[int] = field(default_factory=set)
    complete: set[int] = field(default_factory=set)
    notes: dict[int, str] = field(default_factory=dict)
    is_full: bool = False
    horizons: list[int] = field(default_factory=list)
    read: dict[str, ReadFile] = field(default_factory=dict)
    states_after: dict[str, PointState] = field(default_factory=dict)
    _rests: set[int] = field(default_factory=set)
    _damaged: set[int] = field(default_factory=set)

    @property
    def states(self) -> list[PointState | None]:
        """What is known of the points before this run."""
        return [self.progress.points.get(point) for point in self.points]

    @property
    def waiting(self) -> list[str]:
        """The files with connections that were open before this run."""
        return list(dict.fromkeys(name for state in self.states if state is not None for name in state.waiting))

    @property
    def touched(self) -> dict[str, Any]:
        """What an entry of the run says at least."""
        names = zip(self.points, self.plan.captures, strict=True)
        return {"files": {}, "points": {point: {"capture": name} for point, name in names}}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do: no packets, and no connections to be ended."""
        closing = (state for number, state in enumerate(self.states) if number not in self.growing)
        return not self.plan.splits and not any(state is not None and state.waiting for state in closing)

    def uncounted(self, plan: Plan) -> list[int]:
        """Return the places of splits to be counted: those of captures that go on, and of files that are continued."""
        cut, splits = set(uncounted(plan)), plan.splits
        return [i for i, split in enumerate(splits) if i in cut or split.before or split.capture in self.growing]

    def counted(self, plan: Plan, walks: Mapping[int, CutPoint]) -> None:
        """Take the plan with all packets numbered, and where the walks through its splits ended.

        What is incomplete at the end of a file that goes on is not read now. Neither is what follows a file that has
        grown since its size was looked up.
        """
        splits: list[Split] = []
        newest: dict[int, int] = {}
        stopped = set[int]()
        ends = {split.file: i for i, split in enumerate(plan.splits)}
        for i, split in enumerate(plan.splits):
            file, walk, number = plan.files[split.file], walks.get(i), split.file
            if walk is None:
                splits.append(split)
                continue
            if split.capture in stopped:
                continue
            if walk.has_grown and split.capture in self.growing:
                self.complete.discard(number)
                stopped |= {split.capture} if ends[number] == i else set()
            newest[split.capture] = walk.time if walk.time is not None else newest.get(split.capture, 0)
            is_end, is_complete, earlier = ends[number] == i, number in self.complete, self.progress.earlier(file)
            is_pcap = isinstance(file.layout, Layout)
            left = is_end and (walk.rest or (is_pcap and walk.end < split.stop))
            if left and walk.rest and not is_complete:
                self._rests.add(number)
            elif left and not is_complete:
                self._damaged.add(number)
            if is_end and not is_complete and (walk.rest or walk.has_grown):  # what was counted is read, and no more
                by_place = file.layout is not None and walk.end != NOWHERE
                split = split._replace(stop=walk.end) if by_place else split._replace(most=walk.packets)
            if walk.packets or number in self._damaged or (is_complete and (earlier is None or left)):
                splits.append(split)
            elif earlier is not None and number not in self._rests:
                self.read[file.place] = earlier._replace(
                    at=self.progress.at + 1, size=file.size, modified=file.modified
                )
        self.plan, now = replace(plan, splits=splits), time.time_ns()
        for number, state in enumerate(self.states):
            latest = newest.get(number) or (state.newest if state is not None else None) or 0
            latest = latest if number in self.rotating else max(latest, now)
            horizon = max(latest - self.patience, state.least if state is not None else 0)
            self.horizons.append(horizon if number in self.growing else ALL)

    def after(self, plan: Plan, reports: Iterable[Mapping[str, Any]], waiting: Mapping[str, Any], least: int) -> None:
        """Take the reports on the splits of a plan, and the files in which connections wait, each with its points."""
        at, newest, packets = self.progress.at + 1, dict[int, int](), dict[int, int]()
        last = dict[int, str]()
        for file in (plan.files[number] for number in {split.file for split in self.plan.splits}):
            self.read[file.place] = ReadFile(at, file.size, file.modified, file.time, file.size, 0, False)
        for report in sorted(reports, key=lambda report: int(report["split"])):
            split = plan.splits[report["split"]]
            file, number = plan.files[split.file], split.capture
            end = split.start + PACKET_HEADER * report["packets"] + report["packet_bytes"]
            end = -1 if split.file in self._damaged else end if isinstance(file.layout, Layout) else file.size
            through, rest = split.before + report["packets"], split.file in self._rests
            self.read[file.place] = ReadFile(at, file.size, file.modified, file.time, end, through, rest)
            packets[number], last[number] = split.shift + through, file.place
            newest[number] = report["last_time"] if report["last_time"] is not None else newest.get(number, 0)
        held: dict[str, list[str]] = {}
        for name, points in waiting.items():
            for point in points:
                held.setdefault(point, []).append(name)
        self.states_after = {
            point: PointState(
                at, plan.captures[number], last.get(number, state.last if state else ""), number in self.rotating,
                packets.get(number, state.packets if state else 0),
                newest.get(number, state.newest if state else None), least, held.get(point, []),
            )
            for number, (point, state) in enumerate(zip(self.points, self.states, strict=True))
            if number in self.growing or state is not None
        }  # fmt: skip

    def entry(self) -> dict[str, Any]:
        """Return what the run's entry in the table of runs says of its files and points."""
        return {
            "files": {name: read.size for name, read in self.read.items()},
            "read": [*self.read.values()],
            "points": {point: asdict(state) for point, state in self.states_after.items()},
        }


def resume(
    plan: Plan, progress: Progress, names: Iterable[str], *, patience: int, rolled: bool = False, follows: bool = False,
    room: int = ALL,
) -> Batch:  # fmt: skip
    """Return what is left to read of the files of a plan, and which connections were open before.

    Connections stay open in captures that go on: of which several files are known or whose names show that they rotate,
    and those that were changed in the last minute. `patience`, in nanoseconds, is how long they may be silent; with 0
    all are over. A run takes files of `room` bytes, but at least one. Captures that begin and end in the run may be
    whole (see `Split`).
    """
    batch, splits, captures, now = Batch(plan, progress, patience), list[Split](), list[str](), time.time_ns()
    refused, all_files = [*plan.refused], [*plan.files]
    by_file = {number: list(group) for number, group in groupby(plan.splits, key=lambda split: split.file)}
    for name, group in groupby(plan.splits, key=lambda split: split.capture):
        numbers = [*dict.fromkeys(split.file for split in group)]
        files = [plan.files[number] for number in numbers]
        point = capture_name(files[0].place, files[0].time, rolled=rolled)
        state = progress.points.get(point)
        if state is not None and progress.has_grown(state.last):  # before the files that were found; it comes first
            continue
        rotates = rolled or len(files) > 1 or (state is not None and state.rotates) or is_rotated(files[0])
        goes_on = patience > 0 and (follows or rotates or any(now - file.modified < LATELY for file in files))
        capture = len(captures)
        ordered = _in_order(numbers, plan, progress, state)
        kept: list[Split] = []
        for number in ordered:
            old = progress.files.get(plan.files[number].place)
            if old is not None and not old.at:
                refused.append((plan.files[number].name, EARLIER.format(count(old.size, "byte"))))
                continue
            file, own = plan.files[number], _left(by_file[number], plan.files[number], progress)
            read = progress.earlier(file)
            if not own and read is not None:
                batch.read[file.place] = read._replace(at=progress.at + 1, size=file.size, modified=file.modified)
            elif read is not None and not isinstance(file.layout, Layout):
                all_files[number] = file._replace(layout=None)  # to be read from its beginning, and packets skipped
            is_over = number != ordered[-1] or not goes_on
            batch.is_full |= bool(own) and room <= 0
            if not own or room <= 0:
                continue
            room -= sum(split.size for split in own)
            if is_over:
                batch.complete.add(number)
            if state is not None and _is_overwritten(file, state, progress):
                batch.notes[number] = OVERWRITTEN
            kept += [split._replace(capture=capture) for split in own]
        if not kept:
            continue
        if goes_on or state is not None or any(split.before for split in kept):
            kept = [split._replace(whole=False) for split in kept]
        splits += [kept[0]._replace(shift=state.packets - kept[0].before if state is not None else 0), *kept[1:]]
        captures.append(plan.captures[name] if state is None else state.capture)
        batch.points.append(point)
        batch.rotating |= {capture} if rotates or follows else set()
        batch.growing |= {capture} if goes_on else set()
    points = {*batch.points}
    for point in progress.open_points(names):
        state = progress.points[point]
        read = progress.files.get(state.last)
        is_quiet = not state.rotates and (read is None or now - read.modified > LATELY)
        if point not in points and (not patience or is_quiet):
            captures.append(state.capture)
            batch.points.append(point)
    batch.plan = replace(plan, captures=captures, files=all_files, splits=splits, refused=refused)
    return batch


def is_rotated(file: File) -> bool:
    """Return whether the name of a file shows that it is one of several of a capture."""
    return capture_name(file.place, file.time) != plain_name(file.place)


def _in_order(numbers: list[int], plan: Plan, progress: Progress, state: PointState | None) -> list[int]:
    """Return the files of a capture as they were written: from that on which was read last.

    Files that came late are first: those of earlier names, none of which was read before. Of a file and its compressed
    form one remains.
    """
    forms = {(plain_name(plan.files[number].place), plan.files[number].time): number for number in reversed(numbers)}
    numbers = [number for number in numbers if number in forms.values()]
    read = progress.files.get(state.last) if state is not None else None
    current = [number for number in numbers if state is not None and plan.files[number].place == state.last]
    if state is None or read is None or (current and progress.earlier(plan.files[current[0]]) is None):
        return numbers
    now, late, after, turned = natural(plain_name(state.last)), list[int](), list[int](), list[int]()
    for number in sorted(numbers, key=lambda number: natural(plan.files[number].place)):
        file = plan.files[number]
        is_before = natural(plain_name(file.place)) < now
        is_late = file.place not in progress.files and (file.time or 0) < (state.newest or 0)
        (after if not is_before else late if is_late else turned).append(number)
    return [*late, *after, *turned]


def _left(splits: list[Split], file: File, progress: Progress) -> list[Split]:
    """Return what is left to read of the splits of a file."""
    read = progress.earlier(file)
    if read is None:
        return splits
    is_pcap = isinstance(file.layout, Layout)
    if read.position < 0 or (is_pcap and file.size <= read.position):
        return []
    if not is_pcap:
        return [splits[0]._replace(start=0, stop=file.size, before=read.packets)]
    first, *others = [split for split in splits if split.stop > read.position]
    return [first._replace(start=max(first.start, read.position), before=read.packets), *others]


def _is_overwritten(file: File, state: PointState, progress: Progress) -> bool:
    """Return whether another file has the name of the one that was read last."""
    return file.place == state.last and progress.files[file.place].packets > 0 and progress.earlier(file) is None
