"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kdbg.live.client.mock import mock_cluster
from kdbg.ui.cli import run

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


@pytest.fixture
def explain(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Runs `kdbg explain` in this process: (exit status, what it printed)."""

    def explain(*words: str) -> tuple[int, str]:
        status = run(["explain", *words])
        printed = capfd.readouterr()
        return status, printed.out + printed.err

    return explain


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """Three mock brokers, and the topic orders."""
    with mock_cluster("mock:3") as bootstrap:
        assert run(["send", "metadata", "--broker", bootstrap, "--topic", "orders", "--version", "8"]) == 0
        yield bootstrap


@pytest.fixture
def send(cli: Callable[..., Outcome], broker: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Runs `kdbg send` against them."""
    monkeypatch.setenv("KDBG_BROKER", broker)
    return lambda *arguments: cli("send", *arguments)
