"""The source of exchanges behind the screen: an index that grows, exchanges to look at, questions over all of them.

Where they come from is told by a `Read` alone: files, a pipe, a live stream. Processes do the work beside the screen:
one that reads, one that answers a question, one that keeps both. The keeper is a copy of the process with the screen,
made before that has threads; reader and jobs are copies of the keeper. They tell by pipes, and end when the keeper
does, which ends when nobody holds the pipe in which it is asked.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, TypeAlias

from ...atomic import terminated
from ...exchanges.messages.exchange import Exchange
from .index import Batch, Index, Parcel
from .spool import SpoolReader, give_back, new_file

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
    """How many bytes of a source were read, and how many there are (None: unknown); `lost` packets came too fast."""

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


def keep(spool: int, read: Read, jobs: Mapping[str, Job], asked: int, rows: int, answers: int) -> NoReturn:
    """Start the reader, then jobs, as is asked by the pipe `asked` until nobody is there to ask.

    A job ends the one of the same name before it.
    """

    def tell(what: Batch | Note | Progress | Causes) -> None:
        data = pickle.dumps(what)
        write_all(rows, SIZE.pack(len(data)) + data)

    def read_all() -> None:
        try:
            read(spool, tell)
        except Exception as error:  # there is nobody else to whom it could be said
            tell(Note(f"reading ended: {type(error).__name__}: {error}"))
            raise

    def answer(number: int, name: str, arguments: tuple[Any, ...]) -> None:
        problem = ""
        try:
            for what in jobs[name](spool, *arguments):
                _tell(answers, number, what)
        except Exception as error:  # as above
            problem = str(error) or type(error).__name__
        _tell(answers, number, JobDone(problem))

    children, undo = dict[str, int](), ExitStack()
    try:
        undo.enter_context(terminated())
        tempfile.tempdir = undo.enter_context(tempfile.TemporaryDirectory(prefix="kdbg-"))  # that of all children
        os.nice(BEHIND)  # the terminal, its Ctrl-C and the processor are the screen's
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for file in (1, 2):
            os.dup2(nothing, file)
        os.close(nothing)
        children[""] = _copy(read_all, asked, answers)
        os.close(rows)
        questions = open(asked, "rb", closefd=False)  # noqa: SIM115 - as long as this process lives
        while head := questions.read(SIZE.size):
            number, name, arguments = pickle.loads(questions.read(*SIZE.unpack(head)))  # what the screen wrote
            _end(children.pop(name, 0))
            if arguments is not None:
                children[name] = _copy(partial(answer, number, name, arguments), asked)
    finally:
        for child in children.values():
            _end(child)
        undo.close()
        os._exit(0)


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


Hear = Callable[[Any], None]
MOST_NOTES = 1000
SHARE = 8
"""One part in so many of the exchanges that are kept is forgotten at once."""
STALLED = 2
"""Times as many as are kept wait for a screen that stands still; then no more is read, and what is missing counted."""


class ExchangeFeed:
    """Make it before there are threads; then `listen`. `index` grows until `over`; `notes` are lines about the source.

    `causes` are what diagnosis finds, file by file, and `updates` how often these changed.

    `ask` starts a job, in place of the one of its name; what it yields is given to `hear`, in another thread, last an
    `JobDone`. Of a stream without an end `most` exchanges are kept, and `forget` is called now and then; while nobody
    does, reading stops before memory is full.
    """

    over: bool = False
    updates: int = 0

    def __init__(self, read: Read, jobs: Mapping[str, Job], *, most: int | None = None) -> None:
        self.index: Index = Index()
        self.most = most
        self.notes: list[str] = []
        self.progress: Progress = Progress(0, None)
        self.causes: dict[int, Causes] = {}
        self._file = new_file()
        self._spool = SpoolReader(self._file, self.index.topics)
        self._number = 0
        self._asked: dict[str, int] = {}
        self._hear: dict[int, Hear] = {}
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._forgot = threading.Condition()
        self._closed = False
        asked, self._ask = os.pipe()
        self._rows, rows = os.pipe()
        self._answers, answers = os.pipe()
        self._keeper: int = os.fork()
        if not self._keeper:
            for file in (self._ask, self._rows, self._answers):
                os.close(file)
            keep(self._file, read, jobs, asked, rows, answers)
        for file in (asked, rows, answers):
            os.close(file)

    def listen(self) -> None:
        """Take what comes, in threads; nothing where that is so already."""
        if self._threads:
            return
        for target in (self._take_rows, self._take_answers):
            thread = threading.Thread(target=target, daemon=True)
            self._threads.append(thread)
            thread.start()

    def exchange(self, position: int) -> Exchange:
        """Return an exchange, to be read."""
        with self._lock:
            return self._spool.read(*self.index.place(position))

    def data(self, parcel: Parcel) -> bytes:
        """Return what a parcel holds after numbers and what exchanges share."""
        return os.pread(self._file, parcel.data, parcel.start + parcel.numbers + parcel.common)

    def ask(self, job: str, *arguments: Any, hear: Hear) -> None:
        """Start a job, in place of the one of this name."""
        self._hear[self._number + 1] = hear
        self._write(job, (self.index.start, *arguments))

    def forget(self) -> bool:
        """Forget the first exchanges where there are more than `most`; return whether that was so."""
        if self.most is None or len(self.index) - self.index.first <= self.most:
            return False
        with self._forgot:
            until = self.index.forget(self.most // SHARE)
            self._forgot.notify()
        give_back(self._file, until)
        return bool(until)

    def stop(self, job: str) -> None:
        """End the job of this name; nothing more is heard of it."""
        self._write(job, None)

    def _write(self, job: str, arguments: tuple[Any, ...] | None) -> None:
        self._hear.pop(self._asked.get(job, 0), None)
        self._number += 1
        self._asked[job] = self._number
        data = pickle.dumps((self._number, job, arguments))
        write_all(self._ask, SIZE.pack(len(data)) + data)

    def close(self) -> None:
        """End it all."""
        with self._forgot:
            self._closed = True
            self._forgot.notify()
        os.close(self._ask)
        os.waitpid(self._keeper, 0)
        for thread in self._threads:
            thread.join()
        for file in (self._rows, self._answers, self._file):
            os.close(file)

    def _take_rows(self) -> None:
        with open(self._rows, "rb", closefd=False) as rows:
            while len(head := rows.read(SIZE.size)) == SIZE.size:
                data = rows.read(*SIZE.unpack(head))
                if len(data) != SIZE.unpack(head)[0]:
                    break
                what: Batch | Note | Progress | Causes = pickle.loads(data)  # what a copy of this process wrote
                if isinstance(what, Batch):
                    with self._forgot:
                        self._forgot.wait_for(self._has_room)
                    self.index.add(what)
                elif isinstance(what, Progress):
                    self.progress = what
                elif isinstance(what, Causes):
                    self.causes[what.file] = what
                    self.updates += 1
                elif len(self.notes) < MOST_NOTES:
                    self.notes.append(what.text)
        self.over = True

    def _has_room(self) -> bool:
        """Whether more may come: the last parcel is never forgotten, however much it holds."""
        held = len(self.index) - self.index.first
        return self._closed or self.most is None or held < STALLED * self.most or len(self.index.parcels) < 2

    def _take_answers(self) -> None:
        parts: dict[int, list[bytes]] = {}
        with open(self._answers, "rb", closefd=False) as answers:
            while head := answers.read(PART.size):
                number, last, size = PART.unpack(head)
                data = answers.read(size)
                hear = self._hear.get(number)
                if hear is None:
                    parts.pop(number, None)
                    continue
                parts.setdefault(number, []).append(data)
                if last:
                    hear(pickle.loads(b"".join(parts.pop(number))))  # as above
