"""The processes beside the screen: one that reads, one that answers a question, one that keeps both.

The keeper is a copy of the process with the screen, made before that has threads; reader and jobs are copies of the
keeper. They tell by pipes, and end when the keeper does, which ends when nobody holds the pipe in which it is asked.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, TypeAlias

from .index import Batch

SIZE = struct.Struct("<I")
PART = struct.Struct("<I?I")
"""In front of a part of what a job tells: number of the job, whether it is the last part, bytes."""
BEHIND = 5
"""How much less these processes matter to the system than the screen."""
LARGEST = 3072
"""Bytes of such a part: a pipe takes it whole or not at all, so a job may be ended at any time."""


@dataclass(frozen=True)
class Note:
    """A line about the source, such as what is wrong with a file."""

    text: str


@dataclass(frozen=True)
class Progress:
    """How many bytes of a source were read, and how many there are; None if unknown.

    `lost` counts packets of a stream that are missing here, as they came faster than they are read.
    """

    read: int
    whole: int | None
    lost: int = 0


@dataclass(frozen=True)
class JobDone:
    """A job is done; with what went wrong, "" for nothing."""

    problem: str = ""


@dataclass(frozen=True)
class Causes:
    """What diagnosis finds in a file, so far or (`over`) at its end: objects, as `kdbg diagnose --format json` prints
    them, the weightiest first. `more` causes of less weight are left out."""

    file: int
    objects: tuple[Mapping[str, Any], ...]
    over: bool
    more: int = 0


Tell: TypeAlias = "Callable[[Batch | Note | Progress | Causes], None]"
Read: TypeAlias = Callable[[int, Tell], None]
"""Reads a source to its end: writes into the spool of this descriptor, and tells."""
Job: TypeAlias = Callable[..., Iterator[Any]]
"""Answers a question over the spool of this descriptor; yields what comes of it."""


class Keeper:
    """Starts the reader, then jobs; a job ends the one of the same name before it."""

    def __init__(self, spool: int, read: Read, jobs: Mapping[str, Job]) -> None:
        self._spool, self._read, self._jobs = spool, read, jobs

    def serve(self, asked: int, rows: int, answers: int) -> NoReturn:
        """Do what is asked by the pipe `asked` until nobody is there to ask."""
        children = dict[str, int]()
        try:
            _be_silent()
            children[""] = _copy(lambda: self._reader(rows), asked, answers)
            os.close(rows)
            while head := exactly(asked, SIZE.size):
                number, name, arguments = pickle.loads(exactly(asked, *SIZE.unpack(head)))  # what the screen wrote
                _end(children.pop(name, 0))
                if arguments is not None:
                    children[name] = _copy(partial(self._job, number, name, arguments, answers), asked)
        finally:
            for child in children.values():
                _end(child)
            os._exit(0)

    def _reader(self, rows: int) -> None:
        def tell(what: Batch | Note | Progress | Causes) -> None:
            data = pickle.dumps(what)
            write_all(rows, SIZE.pack(len(data)) + data)

        try:
            self._read(self._spool, tell)
        except Exception as error:  # there is nobody else to whom it could be said
            tell(Note(f"reading ended: {type(error).__name__}: {error}"))
            raise

    def _job(self, number: int, name: str, arguments: tuple[Any, ...], answers: int) -> None:
        problem = ""
        try:
            for what in self._jobs[name](self._spool, *arguments):
                _tell(answers, number, what)
        except Exception as error:  # as above
            problem = str(error) or type(error).__name__
        _tell(answers, number, JobDone(problem))


def exactly(file: int, size: int) -> bytes:
    """Read so many bytes from a pipe; fewer only at its end."""
    parts = list[bytes]()
    while size and (part := os.read(file, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write_all(file: int, data: bytes) -> None:
    """Write all of the data into a pipe."""
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def _tell(answers: int, number: int, what: Any) -> None:
    data = pickle.dumps(what)
    for start in range(0, len(data), LARGEST):
        part = data[start : start + LARGEST]
        os.write(answers, PART.pack(number, start + LARGEST >= len(data), len(part)) + part)


def _copy(work: Callable[[], None], *unused: int) -> int:
    """Start a copy of this process that does some work; return its id."""
    process = os.fork()
    if process:
        return process
    try:
        for file in unused:
            os.close(file)
        work()
    finally:
        os._exit(0)


def _end(process: int) -> None:
    if process:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _be_silent() -> None:
    """Leave the terminal, its Ctrl-C, and the processor where both want it, to the process with the screen."""
    os.nice(BEHIND)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in (1, 2):
        os.dup2(nothing, file)
    os.close(nothing)
