"""Files of live commands: whatever ends one, what is there can be read, and a full disk is one line and a status.

Every `--write` and log replaces an older file when its command begins, and has each packet or line at once.
"""

from __future__ import annotations

import json
import resource
import shlex
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

import kdbg
from kdbg.protocol.findings import Kind

from ..cli.calls import CAPTURES, COMMAND, ON_A_FULL_DISK
from .proxies import PATIENCE, asked, read_frame

SESSION = str(CAPTURES / "first-contact.pcap")
REQUESTS, LIMIT = 60, 8192
CONTINUES = "kdbg does not save later packets", "kdbg does not log later faults"


class Writer(NamedTuple):
    """A command that writes a file as it goes: its words, with BROKER, PORT and FILE; whether clients connect to it."""

    words: str
    serves: bool = True


WRITERS = {
    "send": Writer("send -b BROKER Metadata --repeat 300 --write FILE", serves=False),
    "replay": Writer(f"replay {SESSION} -b BROKER --write FILE", serves=False),
    "mock": Writer(f"mock {SESSION} -l 127.0.0.1:PORT --write FILE"),
    "proxy": Writer("proxy -b BROKER -l 127.0.0.1:PORT -f json --write FILE"),
    "proxy --no-decode": Writer("proxy -b BROKER -l 127.0.0.1:PORT --no-decode --write FILE"),
    "proxy --fault-log": Writer("proxy -b BROKER -l 127.0.0.1:PORT --no-decode --fault 'Metadata: delay 1ms' "
                                "--fault-log FILE"),
    "watch": Writer("watch -i lo --port PORT -f json --write FILE"),
    "watch --rotate": Writer("watch -i lo --port PORT -f json --write FILE --rotate 64KB*3"),
}  # fmt: skip
"""Every command that writes a file which grows while users watch."""


def full() -> None:
    """Have files be no longer than `LIMIT`, as on a disk that fills up; the system's signal for that is ignored."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


class Running:
    """A writer that runs, and its broker's port; `lines` are those of its stderr."""

    def __init__(self, name: str, file: Path, port: int, *, limited: bool) -> None:
        words = {"FILE": str(file), "PORT": str(port), "127.0.0.1:PORT": f"127.0.0.1:{port}", "BROKER": "mock:"}
        self.port, self.lines = port, list[str]()
        command = [*COMMAND, *(words.get(word, word) for word in shlex.split(WRITERS[name].words))]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, env=ON_A_FULL_DISK, preexec_fn=full if limited else None,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(iter(self.process.stderr.readline, ""))

    def wait(self, done: Callable[[], object]) -> None:
        for _ in range(int(3 * PATIENCE * 100)):
            if done():
                return
            threading.Event().wait(0.01)
        raise AssertionError(f"it never came; said: {self.lines}")

    def close(self) -> None:
        assert self.process.stderr is not None
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        self.process.stderr.close()

    def end(self) -> int:
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        status = self.process.wait(3 * PATIENCE)
        self._reader.join(PATIENCE)
        return status


@contextmanager
def running(name: str, file: Path, *, limited: bool) -> Iterator[Running]:
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = server.getsockname()[1]
        if name.startswith("watch"):
            threading.Thread(target=answer, args=(server,), daemon=True).start()
        else:
            server.close()
        found = Running(name, file, port, limited=limited)
        try:
            if WRITERS[name].serves:
                found.wait(lambda: any(str(port) in line or "capturing" in line for line in found.lines))
            yield found
        finally:
            found.close()


def answer(server: socket.socket) -> None:
    """Send back what comes, for as long as clients connect."""
    with suppress(OSError):
        while True:
            with server.accept()[0] as sock:
                while data := sock.recv(1 << 16):
                    sock.sendall(data)


def talk(port: int) -> int:
    """Send requests one after the other; return how many were answered."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.settimeout(PATIENCE)
        for number in range(REQUESTS):
            sock.sendall(asked(number))
            read_frame(sock)
    return REQUESTS


def newest(file: Path) -> Path:
    """The file that was written; of a ring the last."""
    return max(file.parent.glob(f"{file.stem}*{file.suffix}"), key=lambda path: path.stat().st_mtime_ns)


def assert_whole(name: str, file: Path) -> None:
    """Every packet or line of what is there is complete, and there are some."""
    if name == "proxy --fault-log":
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert len(lines) > 2
        return
    with kdbg.read_capture(newest(file)) as reading:
        assert len(list(reading)) > 2
        assert not [finding for finding in reading.findings if finding.kind is Kind.DAMAGED_CAPTURE], reading.findings


@pytest.fixture(params=WRITERS)
def name(request: pytest.FixtureRequest) -> str:
    if request.param.startswith("watch"):
        request.getfixturevalue("capturing")
    return str(request.param)


def test_a_full_disk_is_one_line_and_a_status(name: str, tmp_path: Path) -> None:
    file = tmp_path / "live.pcap"
    file.write_bytes(b"older")
    with running(name, file, limited=True) as found:
        if WRITERS[name].serves and not name.startswith("watch"):
            for _ in range(4):
                assert talk(found.port) == REQUESTS, "clients go on"
            found.wait(lambda: any("cannot be written further" in line for line in found.lines))
        elif WRITERS[name].serves:
            with suppress(OSError):
                for _ in range(20):
                    talk(found.port)
            found.process.wait(3 * PATIENCE)
        else:
            found.process.wait(3 * PATIENCE)
        assert found.end() == 2
        said = [line for line in found.lines if "cannot be written further: File too large" in line]
        assert len(said) == 1, found.lines
        assert not any("Traceback" in line or "Exception" in line for line in found.lines)
        if name.startswith(("mock", "proxy")):
            assert said[0].rstrip().endswith(CONTINUES)
    assert_whole(name, file)


def test_kill_leaves_whole_packets(name: str, tmp_path: Path) -> None:
    file = tmp_path / "live.pcap"
    file.write_bytes(b"older")
    with running(name, file, limited=False) as found:
        if WRITERS[name].serves:
            talk(found.port)
        found.wait(lambda: found.process.poll() is not None or newest(file).stat().st_size > 3000)
        found.process.kill()
    assert_whole(name, file)
