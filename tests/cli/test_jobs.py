"""`--jobs N`: the same output in the same order, the same closing line and status, however many work on it."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kdbg.capture import open_capture, source
from kdbg.exchanges import jobs as work
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.query.report import NEEDED, Reported
from kdbg.ui.cli.decode import write_files
from kdbg.ui.cli.exchange_output import ExchangeOutput, depth_of
from kdbg.ui.cli.output import Writer
from kdbg.ui.cli.runner import Runner
from kdbg.views.render.style import Look

from ..cases import by_day, for_each
from ..traffic import Talk, pcap
from .calls import CAPTURES, COMMAND, ENVIRONMENT, FORMATS, SHARED, SHIPPED, call

CAPTURE = CAPTURES / "errors.pcap"


@pytest.mark.parametrize("format", FORMATS)
def test_the_output_is_the_same(format: str) -> None:
    files = by_day(sorted(CAPTURES.glob("*.pcap"))[:6], 2)
    one, two, three = (call("decode", *files, "-f", format, "--jobs", n) for n in (1, 2, 3))
    assert one.out
    assert two == three == one


def printed(capfdbinary: pytest.CaptureFixture[bytes], path: Path, format: str, jobs: int, **wanted: Any) -> Any:
    """What a run prints, in this process, and its status."""
    runner = Runner(Filters(**wanted), Writer(), depth=depth_of(format), jobs=jobs)
    write_files([str(path)], runner, ExchangeOutput(runner, format, Look()))
    return capfdbinary.readouterr(), runner.status


@pytest.mark.parametrize("capture", by_day(SHIPPED + SHARED, 16), ids=lambda path: path.name)
@for_each("format", FORMATS)
def test_many_small_pieces_are_shown_in_order(
    capture: Path, format: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """As a long capture has them: what one block of packets completes is a piece, and blocks are short."""
    monkeypatch.setattr(source, "CHUNK", 1 << 12)
    monkeypatch.setattr(work, "MOST", 3)
    one, several = (printed(capfdbinary, capture, format, jobs) for jobs in (1, 3))
    assert several == one


@pytest.mark.parametrize(
    "wanted",
    [{"limit": 30}, {"errors": True}, {"api": ("Metadata", "Fetch"), "limit": 7}, {"limit": 0}],
    ids=str,
)
def test_filters_and_limits_are_the_same(
    wanted: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(work, "MOST", 3)
    for path in (CAPTURE, CAPTURES / "first-contact.pcap"):
        one, several = (printed(capfdbinary, path, "json", jobs, **wanted) for jobs in (1, 2))
        assert several == one


def test_names_that_are_learnt_on_the_way_are_known_to_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A topic id is shown by its name once that was told, and not before: also in copies made before it was."""
    monkeypatch.setattr(work, "MOST", 2)
    talk = Talk()
    for number in range(1, 60):
        topic_id = UUID(int=number)
        ask = {"max_wait_ms": 1, "topics": [{"topic_id": topic_id, "partitions": [{"partition": 0}]}]}
        talk.ask("Fetch", 13, **ask).answer()
        talk.ask("Metadata", 12, topics=[]).answer(topics=[{"name": f"topic-{number}", "topic_id": topic_id}])
        talk.ask("Fetch", 13, **ask).answer()
    path = tmp_path / "names.pcap"
    path.write_bytes(pcap(talk))
    monkeypatch.setattr(source, "CHUNK", 1 << 10)
    one, several = (printed(capfdbinary, path, "summary", jobs) for jobs in (1, 3))
    assert several == one
    asked, told, named = one[0].out.splitlines()[-3:]
    assert (b"00000000-" in asked, b"topic-59" in told, b"topic-59/0" in named) == (True, True, True)


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
    for _ in range(5000):
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
    monkeypatch.setattr(work, "MOST", 3)
    found = []
    for jobs in (1, 4):
        with closing(Reported(Filters(), jobs)) as all_, open_capture(CAPTURE) as capture:
            all_.capture(capture)
            found.append({table: sorted(map(str, all_.ask(f"SELECT * FROM {table}"))) for table in NEEDED})
    assert found[0] == found[1]
    assert len(found[0]["exchanges"]) > 10
