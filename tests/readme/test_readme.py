"""The README does what it says: every console block is run, and every line shown must be printed; and it is short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kdbg.cli import COMMANDS

from ..guide.blocks import LANGUAGES, TOP, Block, blocks, check_console, check_python, link

README = (TOP / "README.md").read_text(encoding="utf-8")
BLOCKS = blocks(README)


def of(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language]


@pytest.mark.parametrize("block", of("console"), ids=lambda block: f"line {block.line}")
def test_a_command_prints_what_the_readme_shows(block: Block, tmp_path: Path) -> None:
    """An ellipsis stands for any number of lines."""
    check_console(block, link(tmp_path))


def test_the_python_block_runs(tmp_path: Path) -> None:
    (block,) = [block for block in of("python") if "kdbg.read" in block.text]
    assert "Produce" in check_python(block, link(tmp_path))


def test_it_is_short_and_its_blocks_are_known() -> None:
    assert README.count("\n") <= 200
    assert {block.language for block in BLOCKS} <= LANGUAGES


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (TOP / target).exists(), target


def test_the_grammar_shown_is_the_grammar() -> None:
    shown = re.search(r"<!-- heartbeat -->\n```python\n(.*?)```\n<!-- /heartbeat -->", README, re.DOTALL)
    assert shown is not None
    assert shown[1] == (TOP / "kdbg" / "grammars" / "heartbeat.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_named(name: str) -> None:
    assert f"kdbg {name}" in README or f"kdbg\n{name}" in README


@pytest.mark.parametrize("room", sorted(path.parent.name for path in (TOP / "kdbg").glob("*/__init__.py")))
def test_every_room_is_in_the_table(room: str) -> None:
    assert re.search(rf"^\|.*`kdbg/{room}`", README, re.MULTILINE)


def test_ci_runs_the_readme() -> None:
    script = (TOP / ".ci" / "run").read_text(encoding="utf-8")
    assert "README.md" in script
    assert [block.text.count("\n") for block in of("sh")] == [1, 1], "two set-ups, each one command line"
