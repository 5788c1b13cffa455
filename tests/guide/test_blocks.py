"""The manual does what it says: every block of every topic is run, or its options are looked up."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.ui.cli import commands
from kdbg.ui.guide import text, topics

from ..cases import for_each
from .blocks import LANGUAGES, TOP, Block, blocks, check_console, check_python, kdbg_commands, link

ALL = [(topic, block) for topic in topics() for block in blocks(text(topic))]


Marked = Callable[[Callable[..., None]], Callable[..., None]]


def of(*languages: str, together: bool = False) -> Marked:
    """Run a test for each block of these languages; `together`, in one item, for those that take no time."""
    chosen = [(topic, block) for topic, block in ALL if block.language in languages]
    ids = [f"{topic}:{block.line}" for topic, block in chosen]
    return (for_each if together else pytest.mark.parametrize)("block", [block for _, block in chosen], ids=ids)


def test_every_block_is_of_a_language_that_is_known() -> None:
    assert {block.language for _, block in ALL} <= LANGUAGES - {"sh"}


@of("console")
def test_commands_print_what_is_shown(block: Block, tmp_path: Path) -> None:
    check_console(block, link(tmp_path))


@of("python")
def test_programs_run(block: Block, tmp_path: Path) -> None:
    check_python(block, link(tmp_path))


@of("console", "shell", together=True)
def test_brackets_stand_in_quotes_for_zsh_takes_them_for_a_pattern(block: Block) -> None:
    commands = re.sub(r"\\\n", " ", block.text).splitlines()
    for line in commands if block.language == "shell" else [each[2:] for each in commands if each.startswith("$ ")]:
        said = shlex.shlex(line, posix=False, punctuation_chars=True)
        said.whitespace_split = True
        for word in said if "kdbg" in line and line.count("'") % 2 == 0 else ():
            assert not re.search(r"\[", re.sub(r"'[^']*'|\"[^\"]*\"", "", word)), line


@of("python scheduler")
def test_schedulers_call_commands_that_exist(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    found = list[str]()
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.Constant) and str(node.value).startswith("kdbg "):
            found += str(node.value).split(" && ")
        elif isinstance(node, ast.List) and (
            words := [one.value for one in node.elts if isinstance(one, ast.Constant)]
        ):
            found += [shlex.join(map(str, words))] if words[0] == "kdbg" else []
    assert len(found) >= 2
    for name, *arguments in (shlex.split(line)[1:] for line in found):
        commands.get_command(None, name).make_context(name, arguments).close()


@of("shell", together=True)
def test_options_of_commands_that_are_not_run_exist(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    for name, *arguments in kdbg_commands(block):
        commands.get_command(None, name).make_context(name, arguments).close()
