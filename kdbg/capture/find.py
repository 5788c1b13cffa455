"""Which files a name stands for: a file, a folder with all below it, or a glob; on this machine.

What of it does not depend on where files are (globs, hidden names, the order of names) holds for object stores too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from kdbg.errors import CaptureRefused

GLOB = re.compile(r"[*?]|\[!?\]?[^\]/]*\]")
_NATURAL = re.compile(r"(\d+)")
_SET = re.compile(r"\[(!?)(\]?[^\]/]*)\]")
_EVERYTHING = "**"


def find(name: str) -> list[str]:
    """Return the files that a name stands for, in natural order and without hidden ones; raise `CaptureRefused`.

    A name that is neither a folder nor a glob stands for itself, whether there is such a file or not.
    """
    if name == "-" or os.path.isfile(name):  # noqa: PTH113 - pathlib takes 3 ms to import
        return [name]
    if os.path.isdir(name):  # noqa: PTH112
        found = list(_below(name))
    elif GLOB.search(name) and not os.path.lexists(name):
        fits = glob(name).fullmatch
        found = [path for each in _below(root_of(name)) if fits(path := each.removeprefix("./"))]
    else:
        return [name]
    if not found:
        raise CaptureRefused(name, "the folder contains no files")
    return sorted(found, key=natural)


def is_hidden(path: str) -> bool:
    """Return whether any part of a path is hidden: begins with a dot, or as what a program is still writing."""
    return any(part.startswith((".", "_")) for part in path.strip("/").split("/"))


def root_of(pattern: str) -> str:
    """Return the folder below which all files are that a glob may match."""
    found = GLOB.search(pattern)
    assert found is not None, "a glob has something to match"
    return pattern[: found.start()].rpartition("/")[0] or ("/" if pattern.startswith("/") else ".")


def glob(pattern: str) -> re.Pattern[str]:
    """Return the expression of a glob: `*`, `?` and `[…]` stay within a folder's level, `**` does not."""
    steps = [".*" if step == _EVERYTHING else _step(step) for step in pattern.removeprefix("./").split("/")]
    return re.compile("/".join(steps).replace(".*/", "(?:.*/)?"))


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key for names by which x2 stands before x10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NATURAL.split(name) if part]


def _step(step: str) -> str:
    parts, at = list[str](), 0
    while at < len(step):
        inside = _SET.match(step, at)
        if inside is not None:
            unlike = "^" if inside[1] else ""
            parts.append(f"[{unlike}{inside[2].replace(chr(92), chr(92) * 2).replace('[', chr(92) + '[')}]")
            at = inside.end()
            continue
        letter = step[at]
        parts.append({"*": "[^/]*", "?": "[^/]"}.get(letter) or re.escape(letter))
        at += 1
    return "".join(parts)


def _below(folder: str) -> Iterator[str]:
    """Yield the files in a folder and its folders, hidden ones left out."""
    for here, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not is_hidden(each)]
        yield from (os.path.join(here, each) for each in files if not is_hidden(each))  # noqa: PTH118
