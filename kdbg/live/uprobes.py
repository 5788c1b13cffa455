"""Probes of OpenSSL in running processes: the kernel reports the TLS secrets of new connections, by tracefs.

OpenSSL calls one function for each secret, also where nobody logs secrets. Nothing is loaded into the process.
See Documentation/trace/uprobetracer.rst of Linux.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import sleep

from ..capture.keylog import LABELS, key_line
from ..errors import InputError
from .elf import ElfFile
from .key_sources import LineReader

PROC = Path("/proc")
TRACEFS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
MAPPED = re.compile(r"([0-9a-f]+-[0-9a-f]+) r-xp \S+ \S+ [1-9]\d* +(/.*)")
REGISTERS = {"x86_64": ("di", "si", "dx", "cx", "r8", "r9"), "aarch64": ("x0", "x1", "x2", "x3", "x4", "x5")}
"""The registers of a function's first arguments, by the machine."""
INNER, OUTER = "nss_keylog_int", "ssl_log_secret"
"""nss_keylog_int(label, ssl, random, its size, secret, its size), which is often inlined into
ssl_log_secret(ssl, label, secret, its size)."""
VERSION = re.compile(rb"\0OpenSSL (\d+\.\d+)\.\d+")
RANDOMS = {"3.0": 0x160, "3.5": 0x188, "4.0": 0x188}
"""Where the client's random is behind `ssl`, by the version of OpenSSL."""
EVENT = re.compile(r'label="(\w+)" size=(\d+) random=\{([^}]*)\} secret=\{([^}]*)\}')
TRIES, PAUSE = 50, 0.02
"""How often it is tried to remove what the kernel is still busy with."""


class TraceLines(LineReader):
    """The lines of a key log, out of events of the kernel."""

    def lines(self) -> list[str]:
        """Return the lines that are new."""
        return [line for event in super().lines() if (line := line_of(event))]


@contextmanager
def probed(pid: int, say: Callable[[str], object]) -> Iterator[LineReader]:
    """Make a context in which the kernel reports the TLS secrets of a process's new connections; they are its lines.

    `say` is told what is probed. Raise `InputError` where that is not possible.
    """
    tracefs = next((each for each in TRACEFS if (each / "uprobe_events").exists()), None)
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        raise InputError("--uprobes: only root of Linux may probe processes: run kdbg with sudo")
    if tracefs is None:
        raise InputError(f"--uprobes needs tracefs, in a kernel with uprobes: mount -t tracefs tracefs {TRACEFS[0]}")
    try:
        name = (PROC / str(pid) / "comm").read_text("utf-8", "replace").strip()
        probes = probes_of(pid)
        group = f"kdbg{os.getpid()}_{pid}"
        with ExitStack() as undo:
            for number, (file, probe) in enumerate(probes.values()):
                _write(tracefs / "uprobe_events", f"p:{group}/s{number} {file}:{probe}\n")
                undo.callback(_again, _write, tracefs / "uprobe_events", f"-:{group}/s{number}\n")
            instance = tracefs / "instances" / group
            instance.mkdir(mode=0o700)
            undo.callback(_again, instance.rmdir)
            _write(instance / "options/event-fork", "1")  # before the threads, of which more may begin
            _write(instance / "set_event_pid", " ".join(os.listdir(PROC / str(pid) / "task")))  # noqa: PTH208
            enabled = instance / "events" / group / "enable"
            undo.callback(_again, _write, enabled, "0")
            _write(enabled, "1")
            events = os.open(instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
            undo.callback(os.close, events)
            say(f"probing OpenSSL in {', '.join(probes)} for the TLS keys of new connections of {name} {pid}")
            yield TraceLines(events, f"the probe of {name} {pid}")
    except FileNotFoundError:
        raise InputError(f"--uprobes: there is no process {pid}") from None
    except OSError as error:
        raise InputError(f"--uprobes: the kernel does not probe process {pid}: {error.strerror or error}") from None


def probes_of(pid: int) -> dict[str, tuple[Path, str]]:
    """Return the files in a process that have OpenSSL: each with a path for the kernel, and the rest of a probe.

    Raise `InputError` where no function is found, `OSError` where the process has ended.
    """
    found: dict[str, tuple[Path, str]] = {}
    stripped = ""
    for place, name in MAPPED.findall((PROC / str(pid) / "maps").read_text("utf-8", "surrogateescape")):
        path = PROC / str(pid) / "map_files" / place  # whatever the process's own container calls it
        try:
            probe = "" if name in found else probe_of(ElfFile(path))
        except (OSError, ValueError):  # it was unmapped, or is not a library
            continue
        if probe:
            found[name] = path, probe
        elif "libssl" in name:
            stripped = f"{name} has no symbols, or is of a version that kdbg does not know; "
    if not found:
        raise InputError(f"--uprobes: OpenSSL's {OUTER} is not found in process {pid}: {stripped}use only --pid")
    return found


def probe_of(file: ElfFile) -> str:
    """Return where a file's function is and what is to be read there, as the kernel takes it; "" without one."""
    functions, registers = file.functions((INNER, OUTER)), REGISTERS.get(platform.machine())
    if registers is None or not functions:
        return ""
    if INNER in functions:
        label, _, random, _, secret, size = registers
        return _probe(functions[INNER], label, size, f"+0(%{random})", secret)
    version = VERSION.search(file.data)
    offset = RANDOMS.get(version[1].decode()) if version is not None else None
    if offset is None:
        return ""
    ssl, label, secret, size, *_ = registers
    return _probe(functions[OUTER], label, size, f"+{offset}(%{ssl})", secret)


def _probe(place: int, label: str, size: str, random: str, secret: str) -> str:
    return f"{place:#x} label=+0(%{label}):string size=%{size}:u64 random={random}:x64[4] secret=+0(%{secret}):x64[6]"


def line_of(event: str) -> str:
    """Return the line of a key log for an event; "" where it has none."""
    found = EVENT.search(event)
    if found is None or found[1] not in LABELS:
        return ""
    words = [[int(word, 16).to_bytes(8, sys.byteorder) for word in found[at].split(",")] for at in (3, 4)]
    return key_line(found[1], b"".join(words[0]), b"".join(words[1])[: int(found[2])])


def _write(path: Path, text: str) -> None:
    """Write to a file of tracefs, none of which may be made, or sought in."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def _again(remove: Callable[..., object], *arguments: object) -> None:
    """Remove something, once the kernel has finished with it."""
    for _ in range(TRIES):
        with suppress(OSError):
            remove(*arguments)
            return
        sleep(PAUSE)
