"""tcpdump as a context manager that has every packet sent while it was open, the first and the last included.

tcpdump says "listening" once its socket is open, so the first packets are safe when we wait for that line. The last
ones aren't when it is interrupted at once: the kernel hands packets over in blocks, up to a second late, and what it
still holds at the interrupt is lost. So we wait until the file has stopped growing for longer than that.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

QUIET_SECONDS = 1.5  # tcpdump asks the kernel for a block at least every second
MOST_SECONDS = 4.0  # real brokers of a cluster never fall silent


@contextlib.contextmanager
def recording(path: Path, ports: Sequence[int], *, nanoseconds: bool = False, buffer_mb: int = 64) -> Iterator[None]:
    """Record the TCP traffic of these ports on the loopback interface; raises when the kernel dropped packets."""
    wanted = " or ".join(f"tcp port {port}" for port in ports)
    with recording_all(path, wanted, nanoseconds=nanoseconds, buffer_mb=buffer_mb):
        yield


@contextlib.contextmanager
def recording_all(
    path: Path, wanted: str, *, interface: str = "lo", nanoseconds: bool = False, buffer_mb: int = 64
) -> Iterator[None]:
    """Record what a filter of tcpdump lets through on an interface; raises when the kernel dropped packets."""
    options = ["--time-stamp-precision=nano"] if nanoseconds else []
    command = ["tcpdump", "-i", interface, "-n", "-s", "262144", "-B", str(buffer_mb * 1024), "-Z", "root", *options]
    dump = subprocess.Popen([*command, "-U", "-w", str(path), wanted], stderr=subprocess.PIPE, text=True)
    try:
        _wait_until_listening(dump)
        yield
        _wait_until_quiet(path)
    finally:
        dump.send_signal(signal.SIGINT)
        _, report = dump.communicate(timeout=30)
    dropped = re.search(r"(\d+) packets dropped by kernel", report)
    if dropped is None or int(dropped[1]) > 0:
        raise RuntimeError(f"{path} is incomplete: {report.strip()}")


def _wait_until_listening(dump: subprocess.Popen[str]) -> None:
    assert dump.stderr is not None
    for line in dump.stderr:
        if "listening on" in line:
            return
    raise RuntimeError(f"tcpdump ended with status {dump.wait()} before it listened")


def _wait_until_quiet(path: Path) -> None:
    size, since = -1, time.monotonic()
    end = since + MOST_SECONDS
    while time.monotonic() < min(end, since + QUIET_SECONDS):
        time.sleep(0.1)
        if (now := path.stat().st_size) != size:
            size, since = now, time.monotonic()
