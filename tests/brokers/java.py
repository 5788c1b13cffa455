"""Java as a child process: started with its log in a file, stopped by pid, never outliving the test run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .classpath import Unavailable

QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.awt.headless=true")
STOP_TIMEOUT = 20.0
TAIL = 40

# To the kernel, the parent that must not die is a thread: this one lives as long as Python does.
_LAUNCHER = ThreadPoolExecutor(1, "launcher")


def java() -> str:
    """The Java that runs all: that of JAVA_HOME, else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found is None:
        raise Unavailable("Java (java) is not installed, and Kafka's brokers run on it: a JRE 17 will do")
    return found


class JavaProcess:
    """A running JVM; what it prints goes to `log`."""

    def __init__(self, arguments: Sequence[str], *, folder: Path, log: Path) -> None:
        # setpriv keeps the pid; should the tests be killed outright, the kernel kills their broker with them
        guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        self.log = log
        self._before = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            starting = _LAUNCHER.submit(
                subprocess.Popen[bytes],
                [*guard, java(), *QUICK, *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the tests, which then stop it in good order
            )
            self._process = starting.result()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self, timeout: float = STOP_TIMEOUT) -> None:
        """SIGTERM, and SIGKILL if it is still there after the timeout."""
        if self.running:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """SIGKILL: as a broker dies when its machine does."""
        self._process.kill()
        self._process.wait()

    def log_text(self) -> str:
        """What it has logged; earlier processes with the same log file are not asked."""
        return self.log.read_bytes()[self._before :].decode(errors="replace")

    def log_tail(self) -> str:
        return "\n".join(self.log_text().splitlines()[-TAIL:])
