"""One input, run and watched: what is wrong with it, if anything.

Time is CPU time of this process, and memory what the process had at most above what it had before: another load on the
machine changes neither. What seems slow is measured again before it counts (`confirmed`).
"""

from __future__ import annotations

import gc
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import kdbg
from kdbg.errors import KdbgError

Run = Callable[[bytes], Any]
SECONDS, MEMORY = 1.0, 300 << 20
"""CPU seconds and bytes that one input may take."""
ROOMY = 2 << 30
"""Bytes of addresses that a process may take beyond those it has: then it is out of memory, not the machine."""
TRIES, WARMING = 3, 10
"""How often an input is run before it counts, and how much more time it has before."""
ROOT = Path(kdbg.__file__).parent


class TooSlow(BaseException):
    """Too much CPU time has gone; no `except Exception` holds it up."""


class Trouble(NamedTuple):
    """What is wrong with an input: `what` is crash, slow or memory; `where` the innermost place of kdbg's, in words."""

    what: str
    where: str
    text: str

    @property
    def name(self) -> str:
        """A name that inputs with the same trouble share."""
        return f"{self.what} {self.where}"


def watched(run: Run, data: bytes, seconds: float = SECONDS) -> Trouble | None:
    """Run one input; return what is wrong with it. What kdbg refuses with an error of its own is refused well."""
    before = _start_of_peak()
    began = time.process_time()
    try:
        with _alarm(seconds):
            run(data)
    except KdbgError:
        pass
    except MemoryError as error:
        return Trouble("memory", _place(error), "MemoryError")
    except TooSlow as error:
        return Trouble("slow", _place(error), f"more than {seconds} s")
    except Exception as error:
        return Trouble("crash", f"{type(error).__name__} {_place(error)}", traceback.format_exc())
    took, grown = time.process_time() - began, _peak() - before
    if took > seconds:
        return Trouble("slow", "", f"{took:.2f} s")
    return Trouble("memory", "", f"{grown >> 20} MiB") if grown > MEMORY else None


def confirmed(run: Run, data: bytes, seconds: float = SECONDS) -> Trouble | None:
    """Return what is wrong with an input however often it is run: the first time may be slow or large by chance.

    Code is imported and generated then, for which there is time, and the machine may be busy.
    """
    watched(run, data, seconds * WARMING)
    found = None
    for _ in range(TRIES):
        gc.collect()
        found = watched(run, data, seconds)
        if found is None or found.what == "crash":
            break
    return found


def bounded() -> None:
    """Bound the memory of this process, so that an input that wants all of the machine's fails here."""
    taken = _pages(0)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOMY, hard))


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` inside once so many CPU seconds have gone."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    old = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds * 1.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def _place(error: BaseException) -> str:
    """Return file and function of the innermost place in kdbg that an exception came through."""
    found = ""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT):
            found = f"{path.relative_to(ROOT)}:{frame.f_code.co_name}"
        elif frame.f_code.co_filename.startswith("<"):
            found = f"{frame.f_code.co_filename}:{frame.f_code.co_name}"
    return found


def _start_of_peak() -> int:
    """Begin a new peak where the system can; return the bytes that the process has now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return _peak()
    return _pages(1)


def _pages(number: int) -> int:
    """Return a figure of /proc/self/statm in bytes: 0 is all addresses, 1 what is resident."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[number]) * resource.getpagesize()
    except OSError:
        return 0


def _peak() -> int:
    """Return the most bytes that the process had since the peak began, or ever."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) << 10
    except (OSError, IndexError):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
