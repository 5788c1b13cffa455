"""`kdbg` as its users run it at a real broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, NamedTuple

from ..cli.calls import call
from .broker import Broker

COMMAND = (sys.executable, "-m", "kdbg")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "TERM")}
TIMEOUT = 60


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

    @property
    def body(self) -> Any:
        """The body of the one answer that `--format json` shows; everything in it was understood."""
        assert self.status == 0, self.err
        (line,) = self.lines
        return line["response"]["body"]


def kdbg(*arguments: object, **environment: str) -> Outcome:
    """Run a command of kdbg: in this process, in one of its own where it is given environment variables."""
    if not environment:
        return Outcome(*call(*arguments))
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=ENVIRONMENT | environment,
        timeout=TIMEOUT,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def send(broker: Broker | str, *arguments: object, **environment: str) -> Outcome:
    """Run `kdbg send` at a broker, or at addresses."""
    bootstrap = broker if isinstance(broker, str) else broker.bootstrap
    return kdbg("send", *arguments, "--broker", bootstrap, **environment)
