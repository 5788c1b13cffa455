"""The README's commands do what it says: every console block is run, and every line shown must be printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kdbg.cli import COMMANDS
from kdbg.findings import Kind

TOP = Path(__file__).resolve().parents[2]
README = (TOP / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def sessions() -> list[tuple[str, list[str]]]:
    """(command, the lines shown below it) of every console block."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks("console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def run(command: str) -> str:
    """What a shell prints for a command, with `kdbg` being this kdbg."""
    script = f'kdbg() {{ "{sys.executable}" -m kdbg "$@"; }}\n{command}'
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(["bash", "-c", script], cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize(("command", "shown"), sessions(), ids=[command for command, _ in sessions()])
def test_a_command_prints_what_the_readme_shows(command: str, shown: list[str]) -> None:
    """An ellipsis stands for any number of lines."""
    printed = run(command).splitlines()
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line) + r"\n" for line in shown)
    assert re.fullmatch(pattern, "\n".join(printed) + "\n"), "\n".join(printed)


def test_the_python_block_runs() -> None:
    (block, *_) = [block for block in blocks("python") if "kdbg.read" in block]
    done = subprocess.run([sys.executable, "-c", block], cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Produce" in done.stdout


def test_the_grammar_shown_is_the_grammar() -> None:
    shown = re.search(r"<!-- heartbeat -->\n```python\n(.*?)```\n<!-- /heartbeat -->", README, re.DOTALL)
    assert shown is not None
    assert shown[1] == (TOP / "kdbg" / "grammars" / "heartbeat.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*COMMANDS, *Kind])
def test_every_command_and_every_finding_is_named(name: str) -> None:
    assert f"`{name}`" in README or f"kdbg {name}" in README


def test_ci_runs_the_readme() -> None:
    script = (TOP / ".ci" / "run").read_text(encoding="utf-8")
    assert "README.md" in script
    assert [block.count("\n") for block in blocks("sh")] == [1, 1], "two set-ups, each one command line"
