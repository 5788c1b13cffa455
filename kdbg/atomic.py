"""Files that are complete or not there: written beside their target, and renamed to it at the end.

Every command that writes a file which users take to be complete does so by `AtomicFile`. Files that grow while users
watch (`--write` of live commands, logs of TLS secrets) are opened by `private` alone, where they may hold passwords.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from tempfile import mkstemp
from types import FrameType
from typing import Any, BinaryIO

from .errors import WriteError

SUFFIX = ".part"
"""The end of the name of a file that is not complete."""
LONGEST = 200
"""Bytes of the target's name in that name: file systems allow 255 in all."""
SIGNALS = ("SIGTERM", "SIGHUP")
"""What ends a process politely: the incomplete file is deleted first."""


class AtomicFile:
    """A context manager: a binary file that replaces the file `path` when the context ends without an exception.

    After an exception, SIGTERM or SIGHUP nothing is written: an older file stays as it was. A process that is killed
    leaves at most the file `partial`, whose name ends with `.part`. A symbolic link is followed. The mode and owner of
    an older file are kept; if `private`, only its owner may read the new file.

    Devices, pipes and descriptors (/dev/stdout) are written directly; if `staged`, only when all is complete.
    Raise `WriteError` where the operating system refuses.
    """

    partial: str
    """The file that has the bytes while the context lasts, after `flush`."""

    def __init__(self, path: str | os.PathLike[str], *, private: bool = False, staged: bool = False) -> None:
        self.name: str = os.fspath(path)
        self._private, self._staged = private, staged
        self._target: str | None = None

    def __enter__(self) -> AtomicFile:
        with ExitStack() as undo:
            undo.enter_context(terminated())
            try:
                self._file = undo.enter_context(self._open())
            except OSError as error:
                raise WriteError(self.name, error.strerror or str(error)) from None
            self._undo = undo.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._undo:
            try:
                if kind is None:
                    self._commit()
            except OSError as refused:
                raise WriteError(self.name, refused.strerror or str(refused)) from None
            finally:
                with suppress(OSError):  # what a full disk did not take
                    self._file.close()
                if self.partial != self.name:
                    with suppress(OSError):  # it has its final name
                        os.unlink(self.partial)  # noqa: PTH108

    def write(self, data: bytes) -> None:
        """Write bytes at the end."""
        try:
            self._file.write(data)
        except OSError as error:
            raise WriteError(self.name, error.strerror or str(error)) from None

    def flush(self) -> None:
        """Write what is buffered, so that `partial` has all bytes so far."""
        try:
            self._file.flush()
        except OSError as error:
            raise WriteError(self.name, error.strerror or str(error)) from None

    def _open(self) -> BinaryIO:
        """Open the file that takes the bytes; keep its name as `partial`, and what that is renamed to as `_target`."""
        older: os.stat_result | None = None
        with suppress(FileNotFoundError):
            older = os.stat(self.name)  # noqa: PTH116
        if (older is not None and not stat.S_ISREG(older.st_mode)) or _is_descriptor(self.name):
            self.partial = self.name
            if not self._staged:
                return open(self.name, "wb")  # noqa: PTH123 - pathlib takes 3 ms to import
            descriptor, self.partial = mkstemp(SUFFIX, "kdbg-")
            return os.fdopen(descriptor, "wb")
        if older is not None and not os.access(self.name, os.W_OK):
            raise PermissionError(13, "Permission denied")
        self._target = os.path.realpath(self.name)
        folder, name = os.path.split(self._target)
        name = os.fsdecode(os.fsencode(name)[:LONGEST])
        self.partial = os.path.join(folder, f".{name}.{os.getpid()}-{secrets.token_hex(3)}{SUFFIX}")  # noqa: PTH118
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(self.partial, flags, 0o600 if self._private or older is not None else 0o666)
        if older is not None:  # the owner and the mode of that, as far as it is allowed
            mode = stat.S_IMODE(older.st_mode)
            with suppress(OSError):
                os.fchown(descriptor, older.st_uid, older.st_gid)
            with suppress(OSError):
                os.fchmod(descriptor, 0o600 if self._private and mode & 0o077 else mode)
        return os.fdopen(descriptor, "wb")

    def _commit(self) -> None:
        self._file.flush()
        if self._target is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self.partial, self._target)  # noqa: PTH105
        elif self.partial != self.name:
            with open(self.partial, "rb") as complete, open(self.name, "wb") as target:  # noqa: PTH123
                shutil.copyfileobj(complete, target)


def private(path: str, flags: int) -> int:
    """Open a file so that it is its owner's alone, for there may be passwords in it; return its descriptor.

    One that was there is made so too; devices and pipes stay as they are.
    """
    found = os.open(path, flags, 0o600)
    try:
        said = os.fstat(found)
        if stat.S_ISREG(said.st_mode) and said.st_mode & 0o077:
            os.fchmod(found, 0o600)
    except OSError:
        os.close(found)
        raise
    return found


@contextmanager
def terminated() -> Iterator[None]:
    """In the context SIGTERM and SIGHUP raise `SystemExit`, unless the process hears or ignores them already."""
    before = _handled(_end, SIGNALS, lambda handler: handler is signal.SIG_DFL)
    try:
        yield
    finally:
        for number in before:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    """End the process with the exit status of shells for a signal."""
    raise SystemExit(128 + number)


@contextmanager
def interrupting(interrupt: Callable[[], None]) -> Iterator[None]:
    """In the context SIGINT, SIGTERM and SIGHUP call `interrupt`; their handlers are called when the context ends."""
    heard = list[int]()

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        interrupt()

    before = _handled(hear, ("SIGINT", *SIGNALS), callable)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in heard:
            before[number](number, None)


def _handled(handler: Any, names: Iterable[str], replaces: Callable[[Any], bool]) -> dict[int, Any]:
    """Have a handler hear signals in the place of some handlers; return these. In another thread none is heard."""
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.signal(number, handler) for number in numbers if replaces(signal.getsignal(number))}


def _is_descriptor(name: str) -> bool:
    """Return whether a name leads to an open descriptor, such as /dev/stdout and /proc/self/fd/1."""
    for _ in range(40):  # symbolic links: Linux follows no more
        folder = os.path.realpath(os.path.dirname(name))  # noqa: PTH120
        name = os.path.join(folder, os.path.basename(name))  # noqa: PTH118, PTH119
        if folder.startswith("/proc/") or folder == "/dev/fd":
            return True
        if not os.path.islink(name):  # noqa: PTH114
            return False
        name = os.path.join(folder, os.readlink(name))  # noqa: PTH118, PTH115
    return False
