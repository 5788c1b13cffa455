"""An agent in a running JVM: its jar goes in, the TLS keys that it logs come out, by the attach socket of HotSpot.

The JVM opens the socket when it gets SIGQUIT while the file .attach_pidPID is there, and talks to its own user alone.
See src/hotspot/os/posix/attachListener_posix.cpp in https://github.com/openjdk/jdk.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from ..errors import InputError
from .key_sources import LineReader

PROC = Path("/proc")
OPENED, REPLIED = 10.0, 60.0
"""Seconds until a JVM has opened its socket, and until it has loaded an agent."""
PAUSE = 0.05
NOWHERE = "/dev/null"
LOADED = re.compile(r"0\n(?:return code: )?0\s*")
"""The reply to a request that succeeded: the status of the request, and that of the agent."""


@contextmanager
def loaded_agent(pid: int, agent: str, say: Callable[[str], object]) -> Iterator[LineReader]:
    """Make a context in which an agent logs the TLS keys of a JVM's new connections; the keys are its lines.

    `say` is told what happens to the process. Raise `InputError` where the agent cannot be loaded.
    """
    try:
        jvm = JavaProcess(pid)
        with ExitStack() as undo:
            tmp = os.open(jvm.root / "tmp", os.O_RDONLY | os.O_DIRECTORY)
            undo.callback(os.close, tmp)
            folder, path = f".kdbg-{pid}-{secrets.token_hex(8)}", os.path.abspath(agent)  # noqa: PTH100 - it may be a link
            log = undo.enter_context(_key_file(jvm, tmp, folder))
            jvm.check_sees(path)
            say(f"loading the agent {path} into {jvm.name} {pid}: it logs the TLS keys of new connections, "
                "and its code stays in the process until that ends")  # fmt: skip
            jvm.load(tmp, path, f"/tmp/{folder}/keys.log")
            undo.callback(_stop_logging, jvm, tmp, path)
            yield LineReader(log, f"the agent in {jvm.name} {pid}")
    except (FileNotFoundError, ProcessLookupError):
        raise InputError(f"--attach: there is no process {pid}, or it has no /tmp") from None
    except PermissionError as error:
        raise InputError(
            f"--attach: process {pid} belongs to another user, or its /tmp is read-only: {error.strerror}; "
            "run kdbg as that user or with sudo"
        ) from None
    except OSError as error:
        raise InputError(f"--attach: process {pid}: {error.strerror or error}") from None


class JavaProcess:
    """A running JVM. Raise `InputError` for a process that is none or takes no agents, `OSError` where /proc does."""

    def __init__(self, pid: int) -> None:
        self.pid, self.root = pid, PROC / str(pid) / "root"
        status = dict(re.findall(r"(\w+):\s*(.*)", (PROC / str(pid) / "status").read_text("utf-8", "replace")))
        self.name, self.own_pid = status["Name"], int(status["NSpid"].split()[-1])
        """The name, and the pid in the process's own container."""
        self._user, self._group = int(status["Uid"].split()[1]), int(status["Gid"].split()[1])
        handles = int(status["SigCgt"], 16) >> signal.SIGQUIT - 1 & 1  # SIGQUIT would end all others
        if not handles or "/libjvm.so" not in (PROC / str(pid) / "maps").read_text("utf-8", "replace"):
            raise InputError(f"--attach: process {self.name} {pid} is not a JVM that accepts agents (-Xrs disables it)")

    @contextmanager
    def as_user(self) -> Iterator[None]:
        """Make a context in which this process acts as the JVM's user; raise `PermissionError` where it may not."""
        group, user = os.getegid(), os.geteuid()
        os.setegid(self._group)
        try:
            os.seteuid(self._user)
            yield
        finally:
            os.seteuid(user)
            os.setegid(group)

    def check_sees(self, path: str) -> None:
        """Raise `InputError` where the JVM cannot read a file, by the path that it has for the JVM."""
        seen = f"{self.root}{path}"
        if not os.path.isfile(seen):  # noqa: PTH113
            raise InputError(
                f"--attach {path}: process {self.name} {self.pid} has no such file; copy the agent into its container"
            )
        with self.as_user():
            if not os.access(seen, os.R_OK, effective_ids=True):
                raise InputError(f"--attach {path}: the user of process {self.name} {self.pid} may not read this file")

    def load(self, tmp: int, path: str, log: str) -> None:
        """Have the JVM, whose /tmp is open, load an agent that logs to this file; raise `InputError` where it fails."""
        words = ("1", "load", "instrument", "false", f"{path}={log}")
        reply = b""
        with self._socket(tmp) as connection:
            connection.settimeout(REPLIED)
            connection.sendall(b"".join(os.fsencode(word) + b"\0" for word in words))
            while received := connection.recv(4096):
                reply += received
        if not LOADED.fullmatch(text := reply.decode("utf-8", "replace")):
            problem = (
                " ".join(text.split("\n", 1)[-1].split()) or "it closed the connection (it accepts its own user only)"
            )
            raise InputError(f"--attach {path}: process {self.name} {self.pid} did not load the agent: {problem}")

    def _socket(self, tmp: int) -> socket.socket:
        """Return a connection to the JVM, which opens its socket where that is not there yet."""
        address, trigger = f"/proc/self/fd/{tmp}/.java_pid{self.own_pid}", f".attach_pid{self.own_pid}"
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with ExitStack() as undo, self.as_user():
            end = monotonic() + OPENED
            while monotonic() < end:
                with suppress(FileNotFoundError, ConnectionRefusedError):  # or of an earlier process with this pid
                    connection.connect(address)
                    return connection
                if end - monotonic() > OPENED - 2 * PAUSE:
                    with suppress(FileExistsError):
                        os.close(os.open(trigger, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=tmp))
                        undo.callback(_remove, trigger, tmp)
                    os.kill(self.pid, signal.SIGQUIT)
                sleep(PAUSE)
        connection.close()
        raise InputError(
            f"--attach: process {self.name} {self.pid} does not open its attach socket in /tmp "
            "(-XX:+DisableAttachMechanism disables it)"
        )


@contextmanager
def _key_file(jvm: JavaProcess, tmp: int, folder: str) -> Iterator[int]:
    """Make a context with an empty key log, open for reading, in a new folder that is the JVM's user's alone."""
    with ExitStack() as undo:
        with jvm.as_user():
            os.mkdir(folder, 0o700, dir_fd=tmp)
            undo.callback(_remove, folder, tmp, os.rmdir)
            inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=tmp)
            undo.callback(os.close, inside)
            log = os.open("keys.log", os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=inside)
            undo.callback(os.close, log)
            undo.callback(_remove, "keys.log", inside)
        yield log


def _remove(name: str, folder: int, remove: Callable[..., None] = os.unlink) -> None:
    with suppress(OSError):
        remove(name, dir_fd=folder)


def _stop_logging(jvm: JavaProcess, tmp: int, path: str) -> None:
    """Have the agent write nowhere, as it cannot be unloaded: it would report each file that it cannot write."""
    with suppress(OSError, InputError):  # the process may have ended
        JavaProcess(jvm.pid)
        jvm.load(tmp, path, NOWHERE)
