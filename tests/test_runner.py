"""`python -m tests`: what it runs, counts and says at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import kdbg
from kdbg.extras import DISTRIBUTION, install

from . import __main__ as runner
from .cases import for_each

TOP = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
QUIET = ("--numprocesses=0", "--strict-markers", "-p", "no:cacheprovider")
"""Options for tests that are no part of the project."""


Run = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run `python -m tests` with the Python that is here, as if it had everything: (exit status, what was printed)."""
    monkeypatch.setattr(runner, "prepared", lambda: sys.executable)

    def run(*arguments: str) -> tuple[int, list[str]]:
        return runner.main([*arguments]), capfd.readouterr().out.splitlines()

    return run


def made(folder: Path, name: str, source: str) -> str:
    path = folder / name
    path.write_text(f"import pytest\n\n{source}", encoding="utf-8")
    return str(path)


def test_the_last_line_counts_and_the_status_says_whether_any_failed(tmp_path: Path, ran: Run) -> None:
    sound = made(tmp_path, "test_sound.py", "def test_one(): pass\ndef test_two(): pass\n")
    status, lines = ran(*QUIET, sound)
    assert (status, lines[0], lines[-1]) == (0, "== main", "2 passed, 0 failed")
    broken = made(tmp_path, "test_broken.py", "def test_bad(): assert 0\ndef test_away(): pytest.skip('no')\n")
    status, lines = ran(*QUIET, sound, broken)
    assert (status, lines[-1]) == (1, "2 passed, 1 failed, 1 skipped")


def test_what_breaks_before_the_tests_is_a_failure(tmp_path: Path, ran: Run) -> None:
    status, lines = ran(*QUIET, made(tmp_path, "test_import.py", "import no_such_module\n"))
    assert (status, lines[-1]) == (1, "0 passed, 1 failed")
    status, lines = ran("main", "--no-such-option")
    assert (status, lines[-1]) == (1, "0 passed, 1 failed")


def test_nothing_run_is_no_success(tmp_path: Path, ran: Run) -> None:
    sound = made(tmp_path, "test_sound.py", "def test_one(): pass\n")
    assert ran(*QUIET, sound, "-k", "brokers")[0] == 1


def test_options_go_to_pytest_and_paths_to_their_room(ran: Run) -> None:
    status, lines = ran("-k", "hints", "--numprocesses=0", "tests/test_runner.py")
    assert (status, lines[-1]) == (0, "1 passed, 0 failed")
    assert [line for line in lines if line.startswith("==")] == ["== main"]
    status, lines = ran("--collect-only", "-qq", "tests/brokers/test_every_version.py")
    assert [line for line in lines if line.startswith("==")] == ["== brokers"]


@pytest.mark.nightly  # it runs rooms of tests
def test_rooms_beside_each_other_are_counted_together(ran: Run) -> None:
    places = ["tests/brokers/test_every_version.py", "tests/spark/test_runs.py"]
    alone = [ran("--collect-only", "-qq", place) for place in places]
    status, lines = ran("--collect-only", "-qq", *places)
    assert (status, [line for line in lines if line.startswith("==")]) == (alone[0][0], ["== brokers", "== spark"])
    assert lines[:-1] == [line for _, found in alone for line in found[:-1]]


HERE = """
import sys
from tests import __main__ as runner
runner.prepared = lambda: sys.executable
sys.exit(runner.main(sys.argv[1:]))
"""
SLOW = """
import pathlib, time

def test_long():
    pathlib.Path(__file__).with_name("begun").touch()
    time.sleep(60)
"""


def test_ctrl_c_ends_it_with_a_last_line_all_the_same(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HERE, *QUIET, made(tmp_path, "test_slow.py", SLOW)]
    with subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        while not (tmp_path / "begun").exists():
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=50)
    assert process.returncode == 130
    assert re.fullmatch(r"0 passed, \d failed", said.splitlines()[-1])


def test_what_tests_need_is_looked_for_by_name() -> None:
    assert runner.installed(["pytest>=8.3", "click"])
    assert not runner.installed(["pytest>=8.3", "no-such-distribution[extra]>=1,<2"])


def test_hints_name_a_distribution_and_extras_that_there_are() -> None:
    assert PROJECT["project"]["name"] == DISTRIBUTION
    assert PROJECT["project"]["scripts"] == {"kdbg": "kdbg.ui.cli:main"}
    sources = [path.read_text(encoding="utf-8") for path in Path(kdbg.__file__).parent.rglob("*.py")]
    named = {
        name for source in sources for name in re.findall(r"(?:install\(|require\([^,]+, )['\"](\w+)['\"]", source)
    }
    assert named == {"mock", "query", "otlp", "prometheus", "report", "schemas", "spark", "tls", "tui", "where"}
    assert named < EXTRAS.keys()
    assert install("spark") == "pip install 'kdbg-kafka[spark]' (in a checkout: pip install '.[spark]')"


def test_no_hint_names_the_other_project() -> None:
    for path in [*Path(kdbg.__file__).parent.rglob("*.*"), *TOP.glob("*.md"), TOP / "pyproject.toml"]:
        if path.suffix in (".py", ".md", ".toml", ".html"):
            assert not re.search(r"\bkdbg\[|pip install '?\"?kdbg\b(?!-kafka)", path.read_text(encoding="utf-8")), path


def test_what_only_tests_need_is_no_extra() -> None:
    assert EXTRAS.keys() == {
        "mock", "telemetry", "otlp", "prometheus", "spark", "report", "schemas", "where", "query", "tls", "tui", "all",
    }  # fmt: skip
    (everything,) = EXTRAS["all"]
    assert set(re.findall(r"\w+", everything.removeprefix(DISTRIBUTION))) == EXTRAS.keys() - {"all"}
    published = {re.match(r"[\w-]+", one)[0] for extra in EXTRAS.values() for one in extra}  # type: ignore[index]
    test_only = {re.match(r"[\w-]+", one)[0] for one in PROJECT["dependency-groups"]["test"]}  # type: ignore[index]
    assert not published & test_only


@for_each("name", PROJECT["project"]["dependencies"])
def test_what_kdbg_needs_goes_with_scapys_licence(name: str) -> None:
    """Apache-2.0 alone cannot be combined with GPL-2.0."""
    from importlib.metadata import metadata

    facts = metadata(re.match(r"[\w-]+", name)[0])  # type: ignore[index]
    licence = facts["License-Expression"] or facts["License"] or " ".join(facts.get_all("Classifier") or [])
    assert re.search(r"MIT|BSD|MPL-2.0|GPL-2.0", licence), licence


def test_kdbgs_own_licence_goes_with_it_and_the_manual_says_what_follows() -> None:
    assert PROJECT["project"]["license"] == "MIT"
    own, *others = PROJECT["project"]["license-files"]
    assert (TOP / own).read_text(encoding="utf-8").startswith("MIT License")
    assert all((TOP / licence).is_file() for licence in others), "those of what is carried along"
    page = " ".join((TOP / "kdbg" / "ui" / "guide" / "licensing.md").read_text(encoding="utf-8").split())
    assert "| scapy | GPL-2.0-only |" in page
    assert "is, as a whole, under GPL-2.0 when you pass it on" in page
    readme = " ".join((TOP / "README.md").read_text(encoding="utf-8").split())
    assert "scapy, a dependency, is GPL-2.0-only: see [licensing](kdbg/ui/guide/licensing.md)" in readme
