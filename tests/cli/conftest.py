"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.cli import run

from ..traffic import Talk, pcap
from .calls import Outcome


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Runs `kdbg` with these arguments in this process."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments: object) -> Outcome:
        status = run([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return Outcome(status, out.decode(), err.decode())

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a capture of these connections and returns its path."""

    def write_capture(*talks: Talk, name: str = "made.pcap", snaplen: int = 262_144) -> Path:
        path = tmp_path / name
        path.write_bytes(pcap(*talks, snaplen=snaplen))
        return path

    return write_capture
