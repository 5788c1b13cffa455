"""`--jobs N`: the same output in the same order, the same closing line and status, however many work on it."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from kdbg.capture import open_capture
from kdbg.cli import apart
from kdbg.cli.decoding import Run
from kdbg.cli.output import Writer
from kdbg.filters.chosen import Filters
from kdbg.render.look import Look
from kdbg.report import collected
from kdbg.report.collected import Collected

from ..traffic import Talk, pcap
from .calls import CAPTURES, COMMAND, ENVIRONMENT, FORMATS, call

CAPTURE = CAPTURES / "errors.pcap"


@pytest.mark.parametrize("format", FORMATS)
def test_the_output_is_the_same(format: str) -> None:
    files = sorted(CAPTURES.glob("*.pcap"))[:6]
    one, several = (call("decode", *files, "-f", format, "--jobs", n) for n in (1, 3))
    assert several == one
    assert one.out


@pytest.mark.parametrize("options", [("--limit", 3), ("--errors",), ("--api", "Metadata", "--limit", 2)], ids=str)
def test_filters_and_limits_are_the_same(options: tuple[object, ...]) -> None:
    one, several = (call("decode", CAPTURE, "-f", "json", "-j", n, *options) for n in (1, 2))
    assert several == one


@pytest.mark.parametrize("format", FORMATS)
def test_many_small_chunks_are_shown_in_order(
    format: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """As a long capture has them: chunks of three exchanges, in copies of this process."""
    monkeypatch.setattr(apart, "MOST", 3)
    said = []
    for jobs in (1, 4):
        run = Run(format, Look(), Writer(), Filters(), jobs)
        run.captures([str(CAPTURE)])
        said.append((capfdbinary.readouterr(), run.status))
    assert said[0] == said[1]
    assert said[0][0].out.count(b"\n") > 10


def test_a_pipe_that_is_closed_ends_quietly(tmp_path: Path) -> None:
    command = [*COMMAND, "decode", str(CAPTURE), "-f", "hex", "--jobs", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
        assert process.wait(timeout=30) in (0, 1, 141)


@pytest.mark.parametrize("ignored", [False, True], ids=["heard", "ignored"])
def test_ctrl_c_is_for_the_process_that_pairs(tmp_path: Path, ignored: bool) -> None:
    """It reaches copies too, as a terminal sends it to the whole group; a script in the background ignores it."""
    path = tmp_path / "long.pcap"
    talk = Talk()
    for _ in range(20_000):
        talk.ask("heartbeat", 0).answer()
    path.write_bytes(pcap(talk))
    command = [*COMMAND, "decode", str(path), "-f", "hex", "--full", "--jobs", "2"]
    how = signal.SIG_IGN if ignored else signal.SIG_DFL
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, how),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.read(1000)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=50)
    assert b"Traceback" not in err
    assert b"ended before" not in err
    assert process.returncode == (0 if ignored else 130)
    assert b"exchanges" in err


def test_the_report_is_the_same(tmp_path: Path) -> None:
    pages = []
    for jobs in (1, 3):
        page = tmp_path / f"{jobs}.html"
        outcome = call("report", *sorted(CAPTURES.glob("*.pcap"))[:4], "-o", page, "--jobs", jobs)
        assert outcome.status in (0, 1)
        pages.append((page.read_text(), outcome.err.replace(str(page), "")))
    assert pages[0] == pages[1]


def test_the_rows_of_many_small_chunks_are_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collected, "CHUNK", 3)
    found = []
    for jobs in (1, 4):
        with closing(Collected(Filters(), jobs)) as all_, open_capture(CAPTURE) as capture:
            all_.capture(capture)
            found.append({table: sorted(map(str, all_.ask(f"SELECT * FROM {table}"))) for table in collected.KEPT})
    assert found[0] == found[1]
    assert len(found[0]["exchanges"]) > 10
