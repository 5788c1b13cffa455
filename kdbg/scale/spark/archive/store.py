"""Files wherever they are: a path or a URL goes in, pyarrow's file system and the path in it come out.

URLs are those that pyarrow knows: file://, s3://, gs://, hdfs://, abfs://. What an operating system or an object store
refuses becomes one of kdbg's own errors.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pyarrow as pa
from pyarrow import fs

from ....capture.source import GLOB, glob, is_hidden, root_of
from ....errors import CaptureRefused
from .s3 import access, is_s3

URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
READ_AHEAD = 1 << 20
SETUP = "; kdbg guide pipeline lists how to set endpoint, region and credentials"
HIDDEN = ".kdbg-"
"""What the name of a run's folder for temporary files begins with."""


class StoredFile(NamedTuple):
    """A file: its name as kdbg shows it and opens it again, its size in bytes, and when it was changed.

    That is in nanoseconds since the epoch, 0 where the file system does not say.
    """

    name: str
    size: int
    modified: int = 0


def resolve(name: str) -> tuple[fs.FileSystem, str, str]:
    """Return (file system, path in it, what stands before the path in a name)."""
    if not URL.match(name):
        return fs.LocalFileSystem(), str(Path(name)), ""
    with refusals(name):
        if is_s3(name):
            return (*access().filesystem(name), name[: name.index("://") + 3])
        system, path = fs.FileSystem.from_uri(name)
    return system, path, name.removesuffix("/").removesuffix(path.removesuffix("/"))


def identity(name: str) -> str:
    """Return a name that is the same however the path was written."""
    system, path, _ = resolve(name)
    return str(Path(path).resolve()) if isinstance(system, fs.LocalFileSystem) else name


@contextmanager
def refusals(name: str) -> Iterator[None]:
    """Make a context in which errors of the file system become `SparkError`s that name the file."""
    words: dict[type[Exception], str] = {
        FileNotFoundError: "no such file",
        IsADirectoryError: "a folder, not a capture",
        PermissionError: "permission denied",
    }
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, CaptureRefused):
            raise
        problem = words.get(type(error)) or getattr(error, "strerror", None) or str(error)
        hint = SETUP if "AWS Error" in problem else ""
        raise CaptureRefused(name, problem.splitlines()[0].rstrip(".") + hint) from error


def find(name: str) -> list[StoredFile]:
    """Return the files that a path, a folder, a glob or a URL stands for, without hidden ones."""
    system, path, prefix = resolve(name)
    with refusals(name):
        info = system.get_file_info(path)
        if info.type == fs.FileType.File:
            return [StoredFile(name, info.size, info.mtime_ns or 0)]
        if info.type == fs.FileType.Directory:
            return [StoredFile(prefix + each.path, each.size, each.mtime_ns or 0) for each in _below(system, path)]
        if info.type == fs.FileType.NotFound and GLOB.search(path):
            root, fits = root_of(path), glob(path).fullmatch
            files = _below(system, root)
            names = (each.path.removeprefix("./") if root == "." else each.path for each in files)
            return [
                StoredFile(prefix + name, each.size, each.mtime_ns or 0)
                for name, each in zip(names, files, strict=True)
                if fits(name)
            ]
    if info.type == fs.FileType.NotFound:
        raise CaptureRefused(name, "no such file")
    raise CaptureRefused(name, "not a file or folder")


def _below(system: fs.FileSystem, folder: str) -> list[fs.FileInfo]:
    """Return the files in a folder and its folders."""
    found = system.get_file_info(fs.FileSelector(folder, recursive=True))
    start = len(folder)
    return [info for info in found if info.type == fs.FileType.File and not is_hidden(info.path[start:])]


def open_file(name: str) -> BinaryIO:
    """Open a file to read and to seek in."""
    if not URL.match(name):
        with refusals(name):
            return Path(name).open("rb")
    system, path, _ = resolve(name)
    with refusals(name):
        return io.BufferedReader(system.open_input_file(path), READ_AHEAD)
