"""`python -m tests`: what it runs, counts and says at the end."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import kdbg
from kdbg.extras import DISTRIBUTION, install

TOP = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
QUIET = ("--numprocesses=0", "--strict-markers", "-p", "no:cacheprovider")
"""Options for tests that are no part of the project."""


def ran(*arguments: str) -> tuple[int, list[str]]:
    """The exit status and what was printed."""
    command = [sys.executable, "-m", "tests", *arguments]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def made(folder: Path, name: str, source: str) -> str:
    path = folder / name
    path.write_text(f"import pytest\n\n{source}", encoding="utf-8")
    return str(path)


def test_the_last_line_counts_and_the_status_says_whether_any_failed(tmp_path: Path) -> None:
    sound = made(tmp_path, "test_sound.py", "def test_one(): pass\ndef test_two(): pass\n")
    status, lines = ran(*QUIET, sound)
    assert (status, lines[0], lines[-1]) == (0, "== main", "2 passed, 0 failed")
    broken = made(tmp_path, "test_broken.py", "def test_bad(): assert 0\ndef test_away(): pytest.skip('no')\n")
    status, lines = ran(*QUIET, sound, broken)
    assert (status, lines[-1]) == (1, "2 passed, 1 failed, 1 skipped")


def test_what_breaks_before_the_tests_is_a_failure(tmp_path: Path) -> None:
    status, lines = ran(*QUIET, made(tmp_path, "test_import.py", "import no_such_module\n"))
    assert (status, lines[-1]) == (1, "0 passed, 1 failed")
    status, lines = ran("main", "--no-such-option")
    assert (status, lines[-1]) == (1, "0 passed, 1 failed")


def test_nothing_run_is_no_success(tmp_path: Path) -> None:
    sound = made(tmp_path, "test_sound.py", "def test_one(): pass\n")
    assert ran(*QUIET, sound, "-k", "brokers")[0] == 1


def test_options_go_to_pytest_and_paths_to_their_room() -> None:
    status, lines = ran("-k", "hints", "--numprocesses=0", "tests/test_runner.py")
    assert (status, lines[-1]) == (0, "1 passed, 0 failed")
    assert [line for line in lines if line.startswith("==")] == ["== main"]
    status, lines = ran("--collect-only", "-qq", "tests/brokers/test_every_version.py")
    assert [line for line in lines if line.startswith("==")] == ["== brokers"]


def test_hints_name_a_distribution_and_extras_that_there_are() -> None:
    assert PROJECT["project"]["name"] == DISTRIBUTION
    assert PROJECT["project"]["scripts"] == {"kdbg": "kdbg.cli:main"}
    sources = [path.read_text(encoding="utf-8") for path in Path(kdbg.__file__).parent.rglob("*.py")]
    named = {name for source in sources for name in re.findall(r"install\(['\"](\w+)['\"]\)", source)}
    assert named == {"mock", "report", "spark"}
    assert named < EXTRAS.keys()
    assert install("spark") == "pip install 'kdbg-kafka[spark]', or in a checkout pip install '.[spark]'"


def test_no_hint_names_the_other_project() -> None:
    for path in [*Path(kdbg.__file__).parent.rglob("*.*"), *TOP.glob("*.md"), TOP / "pyproject.toml"]:
        if path.suffix in (".py", ".md", ".toml", ".html"):
            assert not re.search(r"\bkdbg\[|pip install '?\"?kdbg\b(?!-kafka)", path.read_text(encoding="utf-8")), path


def test_what_only_tests_need_is_no_extra() -> None:
    assert EXTRAS.keys() == {"mock", "telemetry", "spark", "report", "all"}
    (everything,) = EXTRAS["all"]
    assert set(re.findall(r"\w+", everything.removeprefix(DISTRIBUTION))) == EXTRAS.keys() - {"all"}
    published = {re.match(r"[\w-]+", one)[0] for extra in EXTRAS.values() for one in extra}  # type: ignore[index]
    test_only = {re.match(r"[\w-]+", one)[0] for one in PROJECT["dependency-groups"]["test"]}  # type: ignore[index]
    assert not published & test_only


@pytest.mark.parametrize("name", PROJECT["project"]["dependencies"])
def test_what_kdbg_needs_goes_with_scapys_licence(name: str) -> None:
    """Apache-2.0 alone cannot be combined with GPL-2.0."""
    from importlib.metadata import metadata

    facts = metadata(re.match(r"[\w-]+", name)[0])  # type: ignore[index]
    licence = facts["License-Expression"] or facts["License"] or " ".join(facts.get_all("Classifier") or [])
    assert re.search(r"MIT|BSD|MPL-2.0|GPL-2.0", licence), licence
