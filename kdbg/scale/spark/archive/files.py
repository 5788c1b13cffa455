"""Packets counted before they are read: what proves that cuts are right, and gives every packet its number.

Only captures that consist of several splits need it. A walk from header to header through each split, a task each; the
numbers that findings name are then those that `kdbg decode` would have given, in a capture that was never cut.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from struct import unpack_from
from typing import Any

from ....capture.pcap import PACKET_HEADER, Layout, PcapReader
from ....capture.pcapng import PcapngReader
from ....capture.source import Damaged, open_packets, open_source
from ....protocol.findings import Finding, Kind, unpack
from ....protocol.findings.facts import CaptureTrouble
from ....views.tables.cells import TableRow, moment
from ....views.tables.rows import NO_ENDS, NO_EXCHANGE, problem_columns
from .blocks import NOWHERE
from .duplicates import Contents
from .plan import CutPoint, File, Plan, Split, between, time_at, walk
from .store import open_file


def uncounted(plan: Plan) -> list[int]:
    """Return the splits to be counted, by their places in the plan."""
    parts = Counter(split.capture for split in plan.splits)
    return [i for i, split in enumerate(plan.splits) if parts[split.capture] > 1]


def counted(file: File, split: Split) -> CutPoint:
    """Walk through one split, and count its packets; some files can only be read from their beginning on."""
    count, time, damage = 0, None, ""
    with open_file(file.place) as opened:
        has_grown = opened.seek(0, os.SEEK_END) > file.size
        opened.seek(0)
        if file.layout is not None:
            found = walk(opened, file.layout, split.start, split.stop)._replace(has_grown=has_grown)
            if not isinstance(file.layout, Layout):
                return found
            time = time_at(opened, file.layout, found.last) if found.packets else None
            opened.seek(found.end)
            head = opened.read(PACKET_HEADER)
            rest = len(head) < PACKET_HEADER or unpack_from(f"{file.layout.order}8xI", head)[0] <= file.layout.most
            return found._replace(time=time, rest=found.end < split.stop and rest)
        source = open_source(opened)
        try:  # the reader of the split reports damage
            for _, packets in open_packets(source, lambda problem: None):
                count += len(packets)
                time = packets[-1][0]
        except Damaged as error:
            damage = str(error)
        trouble = source.feed.trouble
        rest = trouble.endswith("truncated") or (not trouble and damage in (PcapReader.cut, PcapngReader.cut))
    return CutPoint(max(count - split.before, 0), split.stop, time=time, rest=rest, has_grown=has_grown)


def missed(plan: Plan, walks: Mapping[int, CutPoint]) -> list[int]:
    """Return the files in which a walk did not end where the next split begins."""
    landed = ((plan.splits[place], found.end) for place, found in walks.items())
    return list(
        dict.fromkeys(
            split.file for split, end in landed if end == NOWHERE or (plan.parts(split) and end != split.stop)
        )
    )


def walked_cuts(file: File, first: Split, size: int) -> dict[int, int | None]:
    """Return places where a file can be cut that a walk from its first split on has reached, each with its time.

    A pcapng file that was cut wrong is not cut.
    """
    place = first.start
    cuts = {place: first.time}
    if not isinstance(file.layout, Layout):
        return cuts
    with open_file(file.place) as opened:
        while (end := walk(opened, file.layout, place, place + size).end) >= place + size and end < file.size:
            cuts[end], place = time_at(opened, file.layout, end), end
    return cuts


def recut(plan: Plan, cuts: Mapping[int, Mapping[int, int | None]]) -> Plan:
    """Return the plan with some files, by their numbers, cut anew at these places."""
    splits: list[Split] = []
    for number, old in groupby(plan.splits, key=lambda split: split.file):
        first, *others = old
        if number in cuts:
            anew, *others = between(first.capture, number, plan.files[number], cuts[number])
            first = anew._replace(before=first.before, shift=first.shift)
        splits += [first, *others]
    return replace(plan, splits=splits)


def numbered(plan: Plan, walks: Mapping[int, CutPoint]) -> Plan:
    """Return the plan with the number of packets in front of each split, from those that its first splits say on."""
    splits: list[Split] = []
    before = shift = 0
    for i, split in enumerate(plan.splits):
        last = splits[-1] if splits else None
        if last is None or split.capture != last.capture:
            before, shift = split.before, split.shift
        elif split.file != last.file:
            before, shift = split.before, shift + before - split.before
        splits.append(split._replace(before=before, shift=shift))
        before += walks[i].packets if i in walks else 0
    return replace(plan, splits=splits)


SET_BACK = 1_000_000
"""Microseconds by which files may overlap while the clock is right."""
JUMP = "the file begins {:,.0f} s before the previous one ends: the clock was set back, or the files overlap"
COUNTED = ("packets", "tcp_packets", "other_packets", "skipped_packets", "packet_bytes")


@dataclass
class Read:
    """What all splits of a file say together; a file that lies outside the time asked for says nothing."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    first: int | None = None
    last: int | None = None
    problems: list[Finding] = field(default_factory=list)


def read_files(plan: Plan, reports: Iterable[dict[str, Any]]) -> dict[int, Read]:
    """Return what was read of each file, by its number in the plan."""
    found: dict[int, Read] = {}
    for report in sorted(reports, key=lambda report: int(report["split"])):
        file = found.setdefault(report["file"], Read())
        for name in COUNTED:
            file.counts[name] += report[name]
        file.first = file.first if file.first is not None else report["first_time"]
        file.last = report["last_time"] if report["last_time"] is not None else file.last
        file.problems += map(unpack, report["problems"])
    return found


def contents_of(plan: Plan, read: dict[int, Read]) -> dict[str, Contents]:
    """Return what the files of the plan hold; of one that was not read from end to end, the counts are unknown."""
    sizes: dict[int, int] = {}
    for split in plan.splits:
        first = -split.before or min(split.start, plan.files[split.file].first)
        sizes[split.file] = sizes.get(split.file, first) + split.size
    contents: dict[str, Contents] = {}
    for number, file in enumerate(plan.files):
        found = read.get(number) if sizes.get(number) == file.size else None
        counts = (found.counts["packets"], found.counts["packet_bytes"], found.last) if found is not None else ()
        contents[file.place] = Contents(file.head, file.size, *counts)
    return contents


def file_rows(
    plan: Plan, read: dict[int, Read], newest: Iterable[int | None] = ()
) -> Iterator[tuple[str, int | None, TableRow, str]]:
    """Yield (table, time, row, "") for every file in the plan, and with a finding's kind for what is wrong with it.

    `newest` are the times of the last packets of each capture that were read before, in nanoseconds.
    """
    for capture, file, reason in plan.duplicates:
        time, counts = None if file.time is None else moment(file.time), (None for _ in COUNTED)
        row = capture, file.named, file.size, *counts, None, time, None, None, f"skipped: {reason}", None
        yield "files", time, row, ""
    splits = {split.file: split for split in reversed(plan.splits)}
    before = {number: None if time is None else moment(time) for number, time in enumerate(newest)}
    for number, split in reversed(splits.items()):
        file, found, capture = plan.files[number], read.get(number, Read()), plan.captures[split.capture]
        first, last = (None if time is None else moment(time) for time in (found.first, found.last))
        end = before.get(split.capture)
        before[split.capture] = end if last is None else last
        if first is not None and end is not None and end - first > SET_BACK:
            found.problems.append(Finding(Kind.DAMAGED_CAPTURE, facts=CaptureTrouble(JUMP.format((end - first) / 1e6))))
        yield "files", first, (
            capture, file.named, file.size, *found.counts.values(), split.shift + split.before + 1, first, last,
            None if first is None or end is None else first - end,
            "; ".join(finding.text for finding in found.problems) or None, found.counts["skipped_packets"],
        ), ""  # fmt: skip
        for problem in found.problems:
            row = capture, *NO_ENDS, *NO_EXCHANGE, *problem_columns(problem, file.named)
            begun = first if first is not None or file.time is None else moment(file.time)
            yield "problems", begun, row, problem.kind
