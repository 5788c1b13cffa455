"""What captures are called: files by their paths below what the user named, capture points by what their files share.

A path says where a file is on one machine today. The names here are the same on every machine, and however many files
of a capture point are read together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from time import gmtime, localtime
from typing import NamedTuple
from urllib.parse import urlsplit

from .source import GLOB, root_of

URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
STAMP = r"\d{4}[-_.]?\d\d[-_.]?\d\d(?:[-_.T]?\d\d[-_.:]?\d\d(?:[-_.:]?\d\d)?)?|\d{10}"
COMPRESSED = re.compile(r"(?<=[^/])\.(?:gz|zst)$")
ROTATED = (
    (re.compile(r"(?<=\.pcap)\d+(?=\.|$)|(?<=\.cap)\d+(?=\.|$)|(?<=\.pcapng)\d+(?=\.|$)"), ""),
    # tcpdump -C: x.pcap, x.pcap1, x.pcap10
    (re.compile(r"(?<=_)(?:\d{5}_\d{14}|\d{14}_\d{5})(?!\d)"), "*"),  # dumpcap -b: x_00001_20261121033000.pcapng
    (re.compile(rf"(?<!\d)(?:{STAMP})(?!\d)"), "*"),  # tcpdump -G: x-2026-11-21_03.30.00.pcap
    (COMPRESSED, ""),  # tcpdump -z gzip: x.pcap1.gz, beside one that is not compressed yet
)
"""What rotation adds to a name, and what stands for it."""
HOUR = re.compile(r"(?:^|(?<=[-_]))(?P<hour>[01]\d|2[0-3])(?:[-_.:]?[0-5]\d){0,2}(?=\.p?cap|$)")
"""What `tcpdump -G 3600 -w kafka-%H.pcap` adds, if the first packet is of that hour."""
DATED = re.compile(r"(?<!\d)20\d\d([-_./]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])(?:/\d\d(?=/|$))?(?!\d)")
"""The date in the path of a folder."""
UNTIMED: Mapping[str, int | None] = {}


def capture_name(name: str, time: int | None = None, *, rolled: bool = False) -> str:
    """Return a file's name without what rotation added, or, with `rolled`, that of its folder.

    `time` is that of its first packet in nanoseconds: digits that are its hour were added by rotation.
    """
    folder, slash, last = name.rpartition("/")
    if rolled:
        return folder or "*"
    for added, instead in ROTATED:
        last = added.sub(instead, last)
    found = HOUR.search(last)
    if found is not None and time is not None and int(found["hour"]) in _hours(time // 1_000_000_000):
        last = f"{last[: found.start()]}*{last[found.end() :]}"
    return f"{DATED.sub('*', folder)}{slash}{last}"


def plain_name(name: str) -> str:
    """Return a file's name without what compression added."""
    return COMPRESSED.sub("", name)


def _hours(seconds: int) -> set[int]:
    """Return the hour of a time in UTC and in this machine's zone."""
    try:
        return {gmtime(seconds).tm_hour, localtime(seconds).tm_hour}
    except (OverflowError, OSError, ValueError):
        return set()


class Named(NamedTuple):
    """A file: the folder below which it is, and its path from there; a URL has no folder."""

    root: str
    name: str

    @property
    def path(self) -> str:
        """Where it is."""
        return os.path.join(self.root, self.name)  # noqa: PTH118 - pathlib takes 3 ms to import

    def lifted(self, levels: int = 1) -> Named:
        """Return the same file with so many folders more in its name."""
        root, name = self
        for _ in range(levels if root else 0):
            root, _, folder = root.rpartition("/")
            name = f"{folder}/{name}" if folder else name
        return Named(root or ("/" if self.root else ""), name)


def named_files(
    found: Iterable[tuple[str, str]], *, rolled: bool = False, times: Mapping[str, int | None] = UNTIMED
) -> list[Named]:
    """Return the names of files, each given as (what the user named, path or URL).

    A folder's files are named by their paths below it, a file by its last name. Of several folders, and of files of one
    name in different folders, as much of the folder is in the name as distinguishes them. `times` are those of the
    first packets, by path (see `capture_name`).
    """
    found = [*found]
    both = [_named(argument, path) for argument, path in found]
    begun = [times.get(path) for _, path in found]
    folders = {file.root for file, is_below in both if is_below}
    levels = int(rolled or len(folders) > 1)
    while len({"/".join(folder.split("/")[-levels:]) for folder in folders}) < len(folders):
        levels += 1
    files = [file.lifted(levels if file.root in folders else int(rolled)) for file, _ in both]
    while True:
        points: dict[str, set[str]] = {}
        shown = [capture_name(file.name, time, rolled=rolled) for file, time in zip(files, begun, strict=True)]
        for file, name, time in zip(files, shown, begun, strict=True):
            points.setdefault(name, set()).add(capture_name(file.path, time, rolled=rolled))
        longer = [file.lifted(len(points[name]) > 1) for file, name in zip(files, shown, strict=True)]
        if longer == files:
            return files
        files = longer


def _named(argument: str, path: str) -> tuple[Named, bool]:
    """Return a file by its path below what the user named, and whether that was a folder or a glob."""
    argument, path = argument.removeprefix("file://"), path.removeprefix("file://")
    if path == "-" or URL.match(path):
        parts = urlsplit(path)
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")
        return Named("", shown.geturl()), False
    whole = os.path.abspath(path)  # noqa: PTH100
    if path == argument:
        root, _, name = whole.rpartition("/")
        return Named(root or "/", name), False
    is_glob = GLOB.search(argument) is not None and not os.path.lexists(argument)
    root = os.path.abspath(root_of(argument) if is_glob else argument)  # noqa: PTH100
    return Named(root, whole[len(root.rstrip("/")) + 1 :]), True


def path_of(roots: Sequence[str], name: str) -> str:
    """Return the path of a file of this name below the first of these folders that has it; short where that can be."""
    paths = [Named(root, name).path for root in roots if root]
    path = next((path for path in paths if os.path.exists(path)), paths[0] if paths else name)  # noqa: PTH110
    return path.removeprefix(f"{os.getcwd()}/")  # noqa: PTH109
