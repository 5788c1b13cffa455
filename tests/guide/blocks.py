"""Code blocks of a Markdown file, and what runs them. The language of a block says what becomes of it:

console   each `$ command` is run in a shell, and must print the lines below it; a line of … is any number of lines
shell     not run, for it wants a broker, a network or Spark; but kdbg's commands in it must have these options
python    run, and must end without an exception
python spark   run by tests/spark
python retention   run by tests/spark
python scheduler   not run, for it wants Airflow or Dagster; but kdbg's commands in it must have these options
text      anything else; not looked at
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import pytest

from ..cli.calls import call

TOP = Path(__file__).resolve().parents[2]
LANGUAGES = {"console", "shell", "python", "python spark", "python retention", "python scheduler", "text", "sh"}
"""`sh` is for the README alone: its set-ups, which .ci/run runs."""
LINKED = ("captures", "kdbg", "tests")


class Block(NamedTuple):
    """A code block, and the number of its first line."""

    language: str
    line: int
    text: str


def blocks(text: str) -> list[Block]:
    """Return the code blocks of a Markdown text."""
    found = re.finditer(r"^```(.*)\n((?:.*\n)*?)^```$", text, re.MULTILINE)
    return [Block(block[1].strip(), text.count("\n", 0, block.start()) + 2, block[2]) for block in found]


def sessions(block: Block) -> list[tuple[str, list[str]]]:
    """Return (command, the lines shown below it) for a console block."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> "):  # the command goes on
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        else:
            found[-1][1].append(line)
    return found


def link(folder: Path) -> Path:
    """Make a folder look like the top of the project, so that what a block writes stays out of it; return it."""
    for name in LINKED:
        (folder / name).symlink_to(TOP / name)
    return folder


SPECIAL = re.compile(r"[|&;<>()\[\]{}?*~\n]|\s#")
"""What a shell takes for more than a letter, outside of quotes."""


def shell(command: str, folder: Path) -> tuple[str, str]:
    """Return what a shell prints for a command, (stdout, stderr), with `kdbg` being this kdbg.

    A plain call of kdbg is run in this process, which is quicker.
    """
    outside = re.sub(r"'[^']*'|\"[^\"]*\"", "", command)
    if command.startswith("kdbg ") and not SPECIAL.search(outside) and not set("$`\\!") & set(command):
        with chdir(folder):
            done = call(*shlex.split(command)[1:])
        return done.out, done.err
    script = f'kdbg() {{ "{sys.executable}" -m kdbg "$@"; }}\n{command}'
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment(), capture_output=True, text=True)
    return done.stdout, done.stderr


def environment() -> dict[str, str]:
    """Return this process's environment, with kdbg to import and nothing that changes how output looks."""
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "KDBG_BROKER")}
    return kept | {"PYTHONPATH": str(TOP), "PYSPARK_PYTHON": sys.executable}


def check_console(block: Block, folder: Path) -> None:
    """Run the commands of a block, one after the other; each must print what is shown. Skip one without its tshark."""
    for command, shown in sessions(block):
        if command.startswith("tshark ") and shutil.which("tshark") is None:
            pytest.skip("tshark is not installed")
        printed, said = shell(command, folder)
        assert "Traceback" not in said, said
        pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line) + r"\n" for line in shown)
        whole = printed if not shown or printed.endswith("\n") else printed + "\n"
        assert re.fullmatch(pattern, whole), f"line {block.line}: $ {command}\n{printed}{said}"


def check_python(block: Block, folder: Path) -> str:
    """Run a block of Python; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", block.text], cwd=folder, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, f"line {block.line}: {done.stderr}"
    return done.stdout


def kdbg_commands(block: Block) -> Iterator[list[str]]:
    """Yield the arguments of each call of kdbg in a block that is not run."""
    for line in re.sub(r"\\\n\s*", " ", block.text).splitlines():
        words: list[str] = []
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        for word in [*lexer, "|"] if "kdbg" in line else ():
            if set(word) <= set("|&;<>"):
                if words[:1] == ["kdbg"]:
                    yield words[1:]
                words = []
            else:
                words.append(word)
