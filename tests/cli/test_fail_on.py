"""`--fail-on`: one option with one meaning in every command whose exit status depends on what was found."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.ui.cli import commands
from kdbg.ui.cli.failing import LEVELS
from kdbg.ui.guide import text

from ..cases import for_each
from .calls import CAPTURES, Outcome

Cli = Callable[..., Outcome]
ERRORS, WARNINGS, OLD = (CAPTURES / f"{name}.pcap" for name in ("errors", "first-contact", "old-versions"))
"""One with findings of all severities, one with warnings and notes, and one of old clients, with neither errors."""
COUNT = "SELECT COUNT(*) FROM exchanges"
WITHOUT_ERRORS, NOTHING = (0, 1, 0), (0, 0, 0)
CALLS: dict[str, list[tuple[tuple[object, ...], int, tuple[int, int, int]]]] = {
    "decode": [((ERRORS, "-f", "summary"), 1, (1, 1, 0)), ((WARNINGS, "-f", "summary"), 0, WITHOUT_ERRORS)],
    "stats": [((ERRORS,), 1, (1, 1, 0)), ((WARNINGS, "--by", "api"), 0, WITHOUT_ERRORS)],
    "records": [((ERRORS,), 1, (1, 1, 0)), ((WARNINGS,), 0, WITHOUT_ERRORS)],
    "diff": [((ERRORS, WARNINGS), 1, (1, 1, 0)), ((WARNINGS, WARNINGS), 0, WITHOUT_ERRORS)],
    "export": [((ERRORS, "OUT"), 0, (1, 1, 0)), ((WARNINGS, "--otlp", "OUT.jsonl"), 0, WITHOUT_ERRORS),
               ((ERRORS, "--otlp", "OUT.jsonl"), 1, (1, 1, 0))],
    "query": [((ERRORS, COUNT), 1, (1, 1, 0)), ((WARNINGS, COUNT), 0, WITHOUT_ERRORS)],
    "report": [((ERRORS, "-o", "OUT.html"), 1, (1, 1, 0)), ((WARNINGS, "-o", "OUT.html"), 0, WITHOUT_ERRORS)],
    "watch": [(("--via", f"run:{sys.executable} SCRIPT {ERRORS}"), 1, (1, 1, 0)),
              (("--via", f"run:{sys.executable} SCRIPT {WARNINGS}"), 0, WITHOUT_ERRORS),
              (("--diagnose", "--via", f"run:{sys.executable} SCRIPT {ERRORS}"), 1, (1, 1, 0))],
    "diagnose": [((ERRORS,), 1, (1, 1, 0)), ((WARNINGS,), 0, NOTHING)],
    "lint": [((ERRORS,), 1, (1, 1, 0)), ((WARNINGS,), 0, NOTHING)],
    "readiness": [((OLD,), 0, WITHOUT_ERRORS), ((WARNINGS,), 0, NOTHING)],
}  # fmt: skip
"""By the commands: arguments, the exit status without the option, and those with `LEVELS` in their order."""
ELSEWHERE = {"pipeline": "tests/spark/test_command.py", "proxy": "its findings are those of `watch`"}


@pytest.fixture
def call(cli: Cli, tmp_path: Path) -> Cli:
    """Runs a command whose arguments name files that it writes, or a program that stands for tcpdump."""
    script = tmp_path / "tcpdump.py"
    script.write_text("import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())\n")

    def run(*arguments: object) -> Outcome:
        words = [str(word).replace("SCRIPT", shlex.quote(str(script))) for word in arguments]
        for path in tmp_path.glob("OUT*"):
            path.unlink()
        return cli(*(str(tmp_path / word) if word.startswith("OUT") else word for word in words))

    return run


def test_every_command_that_has_it_is_tested() -> None:
    having = {
        name for name, command in commands.commands.items() if any(one.name == "fail_on" for one in command.params)
    }
    assert having == CALLS.keys() | ELSEWHERE.keys()


@for_each("command", CALLS)
def test_the_exit_status_is_that_of_the_severities(call: Cli, command: str) -> None:
    for arguments, usual, statuses in CALLS[command]:
        assert call(command, *arguments).status == usual, arguments
        found = tuple(call(command, *arguments, "--fail-on", level).status for level in LEVELS)
        assert found == statuses, arguments


def test_what_cannot_be_read_is_no_matter_of_findings(cli: Cli) -> None:
    for level in LEVELS:
        assert cli("decode", "nowhere.pcap", "--fail-on", level).status == 2
        assert cli("diagnose", CAPTURES / "README.md", "--fail-on", level).status == 2


def test_other_severities_are_refused(cli: Cli) -> None:
    outcome = cli("lint", ERRORS, "--fail-on", "warning")
    assert outcome.status == 2
    assert "'warning' is not one of 'error', 'finding', 'never'" in outcome.err


def test_the_guide_has_all_levels() -> None:
    rows = [line for line in text("findings").splitlines() if line.startswith("| `")]
    assert {row.split("`")[1] for row in rows} >= set(LEVELS)
