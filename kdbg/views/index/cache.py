"""Where indexes are kept: a folder in the user's cache, a file for each capture, readable by its owner alone.

An index belongs to a capture by its size, the time of its last change, and a hash of parts of it; the name of a file
plays no part. What is not the user's own, damaged, or of another version of kdbg, counts as not there.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ... import __version__
from ...atomic import SUFFIX
from ...budget import MEMORY
from ...capture.source import GZIP, ZSTD, Source
from .layout import MAGIC, TRAILER, Bounds, Summary

MOST_KEPT = 2_000_000_000
"""Bytes of all indexes in the folder; beyond that, the one that was not used for longest is removed."""
ENDING = ".kdbgix"
PARTS, PART = 8, 4096
"""Places of a capture that are hashed beside its beginning and its end, and bytes of each."""
ENDS = 1 << 16
FIRST = 32
"""Digits at the beginning of a hash that are those of the first bytes."""
CHUNK = 1 << 20
OLD = 86_400.0
"""Seconds after which an index that was never completed is removed."""


class Identity(NamedTuple):
    """What tells captures apart: bytes, the time of the last change in nanoseconds, a hash of parts."""

    size: int
    changed: int
    parts: str


def identity(source: Source, size: int | None = None) -> Identity | None:
    """Return the identity of an opened file; None for a pipe, and for one that is compressed: it has no places.

    With `size`, it is that of so many bytes of the file.
    """
    if not isinstance(source.raw, io.FileIO):
        return None
    file = source.raw.fileno()
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or os.pread(file, len(ZSTD), 0).startswith((GZIP, ZSTD)):
        return None
    size = found.st_size if size is None else size
    first = hashlib.blake2b(os.pread(file, min(PART, size), 0), digest_size=FIRST // 2).hexdigest()
    hashed, last = hashlib.blake2b(digest_size=16), min(ENDS, size)
    hashed.update(os.pread(file, last, 0) + os.pread(file, last, size - last))
    for part in range(1, PARTS):
        place = size * part // PARTS
        hashed.update(os.pread(file, min(PART, size - place), place))
    return Identity(size, found.st_mtime_ns, first + hashed.hexdigest())


def is_longer(source: Source, capture: Identity) -> bool:
    """Return whether an opened file begins with a capture, and has more bytes."""
    size = source.extent()[1] or 0
    before = identity(source, capture.size) if size > capture.size else None
    return before is not None and before.parts == capture.parts


def environment() -> list[Any]:
    """Return what readings depend on beside the capture: versions, the memory, packages that some packets need."""
    packages = [find_spec(name) is not None for name in ("scapy", "cryptography")]
    return [__version__, list(sys.version_info[:2]), MEMORY.limit, packages]


def folder() -> Path:
    """Return the folder of indexes, whether it exists or not."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kdbg" / "index"


def path_of(capture: Identity) -> Path:
    """Return where the index of a capture is kept in the folder, also when it has grown."""
    return folder() / f"{capture.parts[:FIRST]}{ENDING}"


def path_beside(name: str) -> Path:
    """Return where the index of a capture is kept beside it, where that was requested."""
    path = Path(name)
    return path.with_name(f".{path.name}{ENDING}")


def load(path: Path) -> tuple[int, Summary] | None:
    """Return an index, open, and its summary; None where it is not there, not the user's own, damaged, or of another
    version."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        summary = _summary(file)
    except (OSError, ValueError, TypeError, MemoryError, RecursionError):
        summary = None
    if summary is None:
        os.close(file)
        return None
    return file, summary


def summary_of(path: Path) -> Summary | None:
    """Return what an index says of its capture; None for one that cannot be used."""
    found = load(path)
    if found is None:
        return None
    os.close(found[0])
    return found[1]


def _summary(file: int) -> Summary | None:
    found = os.fstat(file)
    end = found.st_size - TRAILER.size
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077 or end < len(MAGIC):
        return None
    if os.pread(file, len(MAGIC), 0) != MAGIC:
        return None
    start, size, crc = TRAILER.unpack(os.pread(file, TRAILER.size, end))
    if start + size != end or crc != checksum(file, end):
        return None
    summary = Summary(*json.loads(os.pread(file, size, start)))
    if summary.environment != environment():
        return None
    return summary._replace(blocks=[Bounds(*each) for each in summary.blocks])


def checksum(file: int, end: int) -> int:
    """Return the CRC-32 of a file up to a place."""
    found = 0
    for place in range(0, end, CHUNK):
        found = zlib.crc32(os.pread(file, min(CHUNK, end - place), place), found)
    return found


def find(source: Source, capture: Identity, *, shorter: bool = False) -> tuple[int, Summary] | None:
    """Return the index of a capture, open, and its summary; None where there is none. It counts as used now.

    With `shorter`, it is one that was written when the capture was shorter.
    """
    for path in (path_beside(source.name), path_of(capture)):
        found = load(path)
        if found is not None:
            its, resumable = Identity(*found[1].identity), shorter and found[1].checkpoint is not None
            if (resumable and is_longer(source, its)) or (its == capture and not shorter):
                with suppress(OSError):
                    os.utime(path)
                return found
            os.close(found[0])
    return None


class Kept(NamedTuple):
    """An index in the folder."""

    path: Path
    size: int
    used: float


def kept() -> Iterator[Kept]:
    """Yield the indexes in the folder."""
    with suppress(OSError):
        for path in folder().iterdir():
            with suppress(OSError):
                found = path.stat()
                if path.name.endswith((ENDING, SUFFIX)):
                    yield Kept(path, found.st_size, found.st_mtime)


def clean_up() -> None:
    """Remove the indexes that were not used for longest, as long as there are too many bytes; what was left undone."""
    left, now = MOST_KEPT, time.time()
    for one in sorted(kept(), key=lambda one: -one.used):
        left -= one.size
        if left < 0 or (one.path.name.endswith(SUFFIX) and one.used < now - OLD):
            with suppress(OSError):
                one.path.unlink()


def clear() -> list[Kept]:
    """Remove all indexes in the folder; return what was removed."""
    found = list(kept())
    for one in found:
        with suppress(FileNotFoundError):
            one.path.unlink()
    return found
