"""How tests call the command line as a user does, and what they call it on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from _pytest.capture import FDCaptureBinary

from kdbg.ui.cli import run

MAIN = Path(__file__).resolve().parents[2]
CAPTURES = MAIN / "captures"
SHIPPED = sorted(path for path in CAPTURES.iterdir() if path.suffix in (".pcap", ".pcapng"))
SHARED = sorted((MAIN.parent / "shared" / "captures").glob("*.pcap*"))
"""Empty where the folder is absent; a test over it then runs over what is shipped alone."""
FORMATS = ("tree", "summary", "hex", "json")
COMMAND = [sys.executable, "-m", "kdbg"]
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES", "TERM")
}
ENVIRONMENT["KDBG_PAGER"] = "cat"
ON_A_FULL_DISK = ENVIRONMENT | {"PYTHONDONTWRITEBYTECODE": "1"}
"""The environment of a command whose files are limited: Python would keep the beginning of a module's bytecode."""


class Outcome(NamedTuple):
    """What a call came to."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """The output of `--format json`."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def closing(self) -> str:
        """The last line of stderr."""
        return self.err.splitlines()[-1]


def call(*arguments: object) -> Outcome:
    """Run `kdbg` in this process, which is quicker, as if in one of its own: with that environment, and no input."""
    streams = [FDCaptureBinary(fd) for fd in range(3)]
    with patch.dict(os.environ, ENVIRONMENT, clear=True):
        try:
            for stream in streams:
                stream.start()
            status = run([*map(str, arguments)])
            out, err = (stream.snap().decode() for stream in streams[1:])
        finally:
            for stream in streams:
                stream.done()
    return Outcome(status, out, err)


def spawn(*arguments: object, stdin: bytes = b"", **environment: str) -> Outcome:
    """Run `kdbg` in a process of its own."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], input=stdin, capture_output=True, env=ENVIRONMENT | environment, timeout=300
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
