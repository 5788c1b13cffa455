"""Programs that tests run beside kdbg, as other users too, and their end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import AnyStr

GUARD = ("setpriv", "--pdeathsig", "KILL")
"""Runs a command that ends with the tests."""
AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@contextmanager
def killed(process: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """Make a context with a process, which is over at its end, whatever failed."""
    with process:
        try:
            yield process
        finally:
            process.kill()


def open_for_all(folder: Path) -> None:
    """Let any user into a folder of pytest."""
    for each in (folder, *folder.parents):
        if each.name.startswith(("test_", "pytest-", "popen-")):
            each.chmod(0o755)
