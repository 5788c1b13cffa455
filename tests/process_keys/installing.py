"""What the clients need is fetched and built once, in a folder of the cache, by one process at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..brokers.classpath import Unavailable, cache

CLIENTS = Path(__file__).parent / "clients"
HOME = cache().parent / "process-keys"
TIMEOUT = 1200
TAIL = 2000


@contextmanager
def locked() -> Iterator[None]:
    """Keep other processes from installing meanwhile."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_older(made: Path, *sources: Path) -> bool:
    """Return whether a file is absent, or older than one of its sources."""
    return not made.exists() or any(made.stat().st_mtime < source.stat().st_mtime for source in sources)


def program(*names: str) -> str:
    """Return the path of the first of these programs that is installed; ~/.cargo and Go's usual folder count."""
    path = os.pathsep.join((os.environ.get("PATH", ""), str(Path.home() / ".cargo" / "bin"), "/usr/local/go/bin"))
    for name in names:
        if found := shutil.which(name, path=path):
            return found
    raise Unavailable(f"{' or '.join(names)} is not installed")


def run(*command: str, folder: Path | None = None, **environment: str) -> None:
    """Run what installs or builds; raise Unavailable, with the end of its output, where it fails."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=os.environ | environment, timeout=TIMEOUT, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as problem:
        raise Unavailable(f"{command[0]} failed: {problem}") from problem
    if done.returncode:
        raise Unavailable(f"{' '.join(command)} has exit status {done.returncode}:\n{done.stdout[-TAIL:]}")
