"""Commands that write a complete file: whatever ends one of them, the file is new or as it was."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.atomic import SUFFIX
from kdbg.capture.write import CaptureWriter

from ..capture.test_write import ask, tell
from ..test_atomic import OLDER, beside, is_as_it_was, older, target
from .calls import CAPTURES, COMMAND, ENVIRONMENT, ON_A_FULL_DISK, Outcome

__all__ = ["older", "target"]
ERRORS = CAPTURES / "errors.pcap"
Cli = Callable[..., Outcome]
WRITERS = {
    "redact": lambda target: ("redact", "IN", target),
    "export": lambda target: ("export", "IN", target),
    "export, pcap": lambda target: ("export", "IN", target, "--only-exchanges"),
    "export --otlp": lambda target: ("export", "IN", "--otlp", target),
    "report": lambda target: ("report", "IN", "-o", target, "--force"),
}
"""Every command that writes a file which is complete at its end."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of 600 connections that each hold an exchange: each command writes for a while."""
    path = tmp_path_factory.mktemp("large") / "large.pcap"
    with CaptureWriter(path) as writer:
        for number in range(600):
            client, broker = ("10.0.0.1", 20_000 + number), ("10.0.0.2", 9092)
            writer.tap(client, broker, True, ask(number, f"topic-{number}" * 20), number)
            writer.tap(client, broker, False, tell(number), number)
            writer.ended(client, broker, number)
    return path


def command(name: str, capture: Path, target: Path) -> list[str]:
    return [*COMMAND, *(str(capture) if word == "IN" else str(word) for word in WRITERS[name](target))]


def ended(name: str, capture: Path, target: Path, number: signal.Signals) -> int:
    """Send a signal to the command as soon as it has written something; return its status, once it was not too late."""
    for _ in range(10):
        before = set(target.parent.iterdir())
        with subprocess.Popen(command(name, capture, target), stderr=subprocess.DEVNULL, env=ENVIRONMENT) as process:
            while process.poll() is None:
                new = set(target.parent.iterdir()) - before
                if any(path.exists() and path.stat().st_size for path in new) or not is_as_it_was(target):
                    break
            process.send_signal(number)
        if process.returncode != 0:
            break
        target.write_bytes(OLDER)
    return process.returncode


@pytest.mark.parametrize("name", ["redact", "export"])
def test_kill_leaves_no_more_than_a_file_that_says_so(name: str, target: Path, large: Path) -> None:
    assert ended(name, large, target, signal.SIGKILL) == -signal.SIGKILL
    assert is_as_it_was(target)
    assert [path.suffix for path in beside(target)] == [SUFFIX]


@pytest.mark.parametrize(
    ("name", "number"), [("redact", signal.SIGTERM), ("export", signal.SIGHUP), ("export", signal.SIGINT)]
)
def test_signals_leave_nothing(name: str, number: signal.Signals, older: Path, large: Path) -> None:
    assert ended(name, large, older, number) == 128 + number
    assert is_as_it_was(older)
    assert beside(older) == []


def few_bytes() -> None:
    """Have files be no longer than 4 KB, as a disk that fills up; the system's signal for that is ignored."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_fills_up(name: str, older: Path, large: Path) -> None:
    done = subprocess.run(
        command(name, large, older), preexec_fn=few_bytes, capture_output=True, env=ON_A_FULL_DISK, check=False
    )
    assert (done.returncode, older.read_bytes(), beside(older)) == (2, OLDER, [])
    assert f"kdbg: {older}: cannot be written: File too large\n" in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("name", WRITERS)
def test_input_that_cannot_be_read_writes_nothing(name: str, target: Path, tmp_path: Path, cli: Cli) -> None:
    was = target.exists()
    for capture in (tmp_path / "missing.pcap", Path(__file__)):
        assert cli(*command(name, capture, target)[3:]).status == 2
        assert (is_as_it_was(target), target.exists(), beside(target)) == (True, was, [])


def test_a_capture_that_cannot_be_read_among_others_writes_nothing(older: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli("export", ERRORS, tmp_path / "missing.pcap", older)
    assert (done.status, "nothing written" in done.closing) == (2, True)
    assert cli("export", ERRORS, tmp_path / "missing.pcap", "--otlp", older).status == 2
    assert (older.read_bytes(), beside(older)) == (OLDER, [])


def test_stdout_by_its_name_is_written_and_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("wb") as file:
        before = os.fstat(file.fileno()).st_ino
        subprocess.run(
            [*COMMAND, "export", str(ERRORS), "/dev/stdout"], stdout=file, stderr=subprocess.DEVNULL,
            env=ENVIRONMENT, check=True,
        )  # fmt: skip
    assert out.stat().st_ino == before
    assert len(out.read_bytes()) > 1000
    piped = subprocess.run(
        [*COMMAND, "redact", str(ERRORS), "/dev/stdout"], capture_output=True, env=ENVIRONMENT, check=True
    )
    assert len(piped.stdout) > 1000
