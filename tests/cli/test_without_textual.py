"""Commands with --tui, where its extra is not installed: one line that says what to install."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import click
import pytest

from kdbg.ui.cli import commands

WITHOUT = """if True:
    import sys
    from importlib.machinery import PathFinder
    found = PathFinder.find_spec
    PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] == "textual" else found(name, *more)
    from kdbg.ui.cli import main
    main()
"""
GIVEN = {"proxy": ["-b", "127.0.0.1:1"], "watch": ["-i", "lo"]}


def with_tui() -> list[str]:
    context = click.Context(commands)
    found = {name: commands.get_command(context, name) for name in commands.list_commands(context)}
    return [
        name for name, each in found.items() if each is not None and any("--tui" in one.opts for one in each.params)
    ]


def test_all_of_them_are_tested() -> None:
    assert set(with_tui()) == set(GIVEN)


@pytest.mark.parametrize("name", GIVEN)
def test_one_line_says_what_to_install(name: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", WITHOUT, name, *GIVEN[name], "--tui"]
    done = subprocess.run(
        command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 2
    assert done.stderr.startswith(f"kdbg: kdbg {name} --tui needs textual; pip install")
    assert done.stderr.count("\n") == 1
