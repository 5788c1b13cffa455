"""Folders that tcpdump is filling, as Spark's Structured Streaming reads them: which whole packets have come.

A capture point is what the files of one rotating capture have in common (see archive/plan.py). Its offset says how far
it was read: file, byte, packets up to there, and when the file began, for a file of the same name that begins at
another time is another file. Rows tell of stretches of files, not of their packets: those are read by the batch's own
tasks.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes
from pyspark.sql.types import StructType

from ....capture.names import capture_name, named_files
from ....capture.pcap import HEADER
from ....capture.source import natural
from ....errors import SparkError
from ..archive.plan import SPLIT, File, Plan, Split, cuttable, first_packet, walk
from ..archive.store import find, identity, open_file

NAME = "kdbg-tail"
SCHEMA = "point string, name string, start bigint, stop bigint, packets bigint"
ROTATE = "rotate with tcpdump without -W, which reuses names"


class TailPosition(NamedTuple):
    """How far a capture point was read: all of its files before `name`, and of that one the bytes before `position`.

    `packets` were in them; `time` is that of the file's first packet, in nanoseconds.
    """

    name: str
    position: int
    packets: int
    time: int


class Stretch(NamedTuple):
    """Whole packets of a file: the bytes from `start` to `stop`; the capture point had so many `packets` before."""

    point: str
    name: str
    start: int
    stop: int
    packets: int


def points(paths: Iterable[str], *, rolled: bool) -> dict[str, list[str]]:
    """Return the files of each capture point in the order of writing; with `rolled` a folder is one point."""
    names = [*{identity(found.name): (path, found.name) for path in paths for found in find(path)}.values()]
    found: dict[str, list[str]] = {}
    ordered = sorted(zip(names, named_files(names, rolled=rolled), strict=True), key=lambda one: natural(one[0][1]))
    for (_, name), file in ordered:
        found.setdefault(capture_name(file.name, rolled=rolled), []).append(name)
    return found


def strangers(points: dict[str, list[str]]) -> list[str]:
    """Return the files that cannot be followed: only plain pcap can be read while it grows."""
    found: list[str] = []
    for name in (name for names in points.values() for name in names):
        with open_file(name) as opened:
            head = opened.read(HEADER)
        if len(head) == HEADER and cuttable(head) is None:
            found.append(name)
    return found


def stretches(
    point: str, names: list[str], start: TailPosition | None, room: int, end: TailPosition | None = None
) -> Iterator[tuple[Stretch, TailPosition]]:
    """Yield what there is to read from `start` on, as (stretch, position after it): `room` bytes or so, or up to `end`.

    A file that another one follows is complete: what is wrong with it then is for its reader to say. A ring of files
    that came round to its first one again is refused.
    """
    if start is not None and names and natural(names[0]) < natural(start.name):
        with open_file(names[0]) as opened:
            _, begun = first_packet(opened)
        if begun is not None and begun > start.time:
            raise SparkError(f"{names[0]} was started after {start.name}, the next by name", ROTATE)
    packets = start.packets if start is not None else 0
    ahead = [name for name in names if start is None or natural(name) >= natural(start.name)]
    ahead = [name for name in ahead if end is None or natural(name) <= natural(end.name)]
    for name in ahead:
        with open_file(name) as opened:
            layout, begun = first_packet(opened)
            if layout is None or begun is None:
                continue
            size = opened.seek(0, os.SEEK_END)
            stop = end.position if end is not None and name == end.name else size
            complete = end is not None or name != ahead[-1]
            place = HEADER
            if start is not None and name == start.name:
                place = start.position
                if start.time != begun:
                    raise SparkError(f"{name} was overwritten while it was being followed", ROTATE)
            while place < stop and room > 0:
                goal = min(place + min(SPLIT, room), stop)
                found = walk(opened, layout, place, goal)
                reached = stop if complete and found.end < goal else found.end
                if reached == place:
                    break
                yield (
                    Stretch(point, name, place, reached, packets),
                    TailPosition(name, reached, packets := packets + found.packets, begun),
                )
                room -= reached - place
                place = reached
        if place < stop:
            return


def plan_of(found: Iterable[Stretch], points: Iterable[str]) -> Plan:
    """Return the stretches as a plan; `points` have connections that are not over."""
    ordered = sorted(found, key=lambda each: (each.point, each.packets, each.start))
    captures = {name: number for number, name in enumerate(sorted({each.point for each in ordered} | set(points)))}
    files: dict[str, File] = {}
    numbers: dict[str, int] = {}
    splits: list[Split] = []
    for each in ordered:
        with open_file(each.name) as opened:
            layout, time = first_packet(opened)
        named = _named(each.point, each.name)
        files[each.name] = File(each.name, identity(each.name), each.stop, layout, time, named)  # the last says how far
        number = numbers.setdefault(each.name, len(numbers))
        splits.append(Split(captures[each.point], number, each.start, each.stop, time, shift=each.packets))
    return Plan([*captures], list(files.values()), splits, [])


def _named(point: str, name: str) -> str:
    """Return what tables call a file of a capture point, which has the name of its files, or of their folder."""
    (folder, _, last), file = point.rpartition("/"), name.rpartition("/")[2]
    return f"{folder if last == capture_name(file) else point}/{file}".lstrip("/")


class Tail(DataSourceStreamReader):
    """Spark asks it how far the files go, and what lies between two offsets."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.paths: list[str] = json.loads(options["captures"])
        self.rolled: bool = options["rolled"] == "true"
        self.most: int = int(options["most"])

    def initialOffset(self) -> dict[str, Any]:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxBytes(self.most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        room = limit.max_bytes if isinstance(limit, ReadMaxBytes) else sys.maxsize
        latest = dict(start)
        for point, names in points(self.paths, rolled=self.rolled).items():
            for stretch, place in stretches(point, names, _place(start, point), room):
                latest[point] = place._asdict()
                room -= stretch.stop - stretch.start
        return latest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        found: list[Stretch] = []
        names = points(self.paths, rolled=self.rolled)
        for point in end:
            first, last = _place(start, point), _place(end, point)
            if last is None or first == last:
                continue
            between = list(stretches(point, names.get(point, []), first, sys.maxsize, last))
            if not between or between[-1][1] != last:
                raise SparkError(f"{last.name} has changed since it was first read", "start in a new folder")
            found += [stretch for stretch, _ in between]
        return [InputPartition(found)] if found else []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        yield from partition.value


def _place(offset: dict[str, Any], point: str) -> TailPosition | None:
    return TailPosition(**offset[point]) if point in offset else None


class TailSource(DataSource):
    """`spark.readStream.format("kdbg-tail")`: for `follow` alone."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType | str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return Tail(self.options)
