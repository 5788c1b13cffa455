"""A terminal for tests: what a program prints on it, and what somebody in front of it sees at the end."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from collections.abc import Iterable
from typing import NamedTuple

from .calls import COMMAND, ENVIRONMENT

PAUSE = 0.1
"""Seconds between pieces of a slow pipe."""
END = b"\0the program is over"
CONTROL = re.compile(r"(\n|\r|\x1b\[2K)")


class Printed(NamedTuple):
    """What came of a call: `terminal` as it was printed there, `out` what went into a pipe."""

    status: int
    terminal: str
    out: bytes

    @property
    def screen(self) -> list[str]:
        """The lines as they stand there at the end."""
        return screen(self.terminal)


def screen(printed: str) -> list[str]:
    """Return the lines that stand on a terminal behind text with carriage returns and erasures of whole lines."""
    lines, column = [""], 0
    for part in CONTROL.split(printed):
        match part:
            case "\n":
                lines.append("")
                column = 0
            case "\r":
                column = 0
            case "\x1b[2K":
                lines[-1] = ""
            case letters:
                lines[-1] = lines[-1][:column].ljust(column) + letters + lines[-1][column + len(letters) :]
                column += len(letters)
    return [line.rstrip() for line in lines]


def on_terminal(
    *arguments: object, pieces: Iterable[bytes] = (), until: str = "", out: bool = False, columns: int = 80,
    rows: int = 24, **environment: str,
) -> Printed:  # fmt: skip
    """Run `kdbg` with stderr on a terminal, and stdout too if `out`.

    stdin brings the pieces, slowly until the terminal shows the text `until`, then at once.
    """
    master, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdin=subprocess.PIPE, stdout=end if out else subprocess.PIPE, stderr=end,
        env=ENVIRONMENT | {"TERM": "xterm"} | environment,
    )  # fmt: skip
    assert process.stdin is not None
    printed, plain = b"", b""
    for piece in pieces:
        process.stdin.write(piece)
        process.stdin.flush()
        if until.encode() not in printed:
            printed += _available(master, PAUSE)
    process.stdin.close()
    out_end = process.stdout.fileno() if process.stdout is not None else None
    ended = False
    while not printed.endswith(END) or out_end is not None:
        ready = select.select([master] if out_end is None else [master, out_end], [], [], PAUSE)[0]
        if master in ready:
            printed += os.read(master, 65536)
        if out_end is not None and out_end in ready:
            data = os.read(out_end, 65536)
            plain, out_end = plain + data, out_end if data else None
        if not ended and not ready and process.poll() is not None:
            ended = bool(os.write(end, END))  # behind all that the program has printed
    os.close(master)
    os.close(end)
    if process.stdout is not None:
        process.stdout.close()
    return Printed(process.wait(), printed.removesuffix(END).decode().replace("\r\n", "\n"), plain)


def _available(master: int, seconds: float) -> bytes:
    if not select.select([master], [], [], seconds)[0]:
        return b""
    return os.read(master, 65536)
