"""What captures are called: files by their paths below what the user named, capture points by what their files share.

A path says where a file is on one machine today. The names here are the same on every machine, and however many files
of a capture point are read together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from .source import GLOB, root_of

URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
STAMP = r"\d{4}[-_.]?\d\d[-_.]?\d\d(?:[-_.T]?\d\d[-_.:]?\d\d(?:[-_.:]?\d\d)?)?|\d{10}"
ROTATED = (
    (re.compile(r"(?<=\.pcap)\d+(?=\.|$)|(?<=\.cap)\d+(?=\.|$)|(?<=\.pcapng)\d+(?=\.|$)"), ""),
    # tcpdump -C: x.pcap, x.pcap1, x.pcap10
    (re.compile(r"(?<=_)\d{5}_\d{14}(?!\d)"), "*"),  # dumpcap -b: x_00001_20261121033000.pcapng
    (re.compile(rf"(?<!\d)(?:{STAMP})(?!\d)"), "*"),  # tcpdump -G: x-2026-11-21_03.30.00.pcap
    (re.compile(r"(?<=.)\.(?:gz|zst)$"), ""),  # tcpdump -z gzip: x.pcap1.gz, beside one that is not compressed yet
)
"""What rotation adds to a name, and what stands for it."""


def capture_name(name: str, *, rolled: bool = False) -> str:
    """Return a file's name without what rotation added, or, with `rolled`, that of its folder."""
    folder, slash, last = name.rpartition("/")
    if rolled:
        return folder or "*"
    for added, instead in ROTATED:
        last = added.sub(instead, last)
    return f"{folder}{slash}{last}"


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


def named_files(found: Iterable[tuple[str, str]], *, rolled: bool = False) -> list[Named]:
    """Return the names of files, each given as (what the user named, path or URL).

    A folder's files are named by their paths below it, a file by its last name. Of several folders, and of files of one
    name in different folders, as much of the folder is in the name as distinguishes them.
    """
    both = [_named(argument, path) for argument, path in found]
    folders = {file.root for file, is_below in both if is_below}
    levels = int(rolled or len(folders) > 1)
    while len({"/".join(folder.split("/")[-levels:]) for folder in folders}) < len(folders):
        levels += 1
    files = [file.lifted(levels if file.root in folders else int(rolled)) for file, _ in both]
    while True:
        points: dict[str, set[str]] = {}
        for file in files:
            points.setdefault(capture_name(file.name, rolled=rolled), set()).add(capture_name(file.path, rolled=rolled))
        longer = [file.lifted(len(points[capture_name(file.name, rolled=rolled)]) > 1) for file in files]
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
