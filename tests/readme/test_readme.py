"""The README does what it says: every console block is run, and every line shown must be printed; and it is short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kdbg.ui.cli import COMMANDS

from ..cases import for_each
from ..guide.blocks import LANGUAGES, TOP, Block, blocks, check_console, check_python, link
from ..guide.screens import letters, said
from .picture import COLUMNS, PICTURE, lines

README = (TOP / "README.md").read_text(encoding="utf-8")
BLOCKS = blocks(README)


def of(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language]


@pytest.mark.parametrize("block", of("console"), ids=lambda block: f"line {block.line}")
def test_a_command_prints_what_the_readme_shows(block: Block, tmp_path: Path) -> None:
    """An ellipsis stands for any number of lines."""
    check_console(block, link(tmp_path))


def test_the_python_block_runs(tmp_path: Path) -> None:
    (block,) = of("python")
    assert "Produce" in check_python(block, link(tmp_path))


def test_it_is_short_and_its_blocks_are_known() -> None:
    assert README.count("\n") <= 150
    assert {block.language for block in BLOCKS} <= LANGUAGES


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (TOP / target).exists(), target


@for_each("name", COMMANDS)
def test_every_command_is_named(name: str) -> None:
    assert f"kdbg {name}" in README or f"kdbg\n{name}" in README


def test_the_picture_is_up_to_date_and_fits_a_screen() -> None:
    shown = lines()
    assert len(shown) <= 24
    assert all(len(letters(line)) <= COLUMNS for line in shown)
    assert said(PICTURE.read_text(encoding="utf-8")) == letters("".join(shown)), "python -m tests.readme.picture"


def test_ci_runs_the_readme() -> None:
    script = (TOP / ".ci" / "run").read_text(encoding="utf-8")
    assert "README.md" in script
    assert [block.text.count("\n") for block in of("sh")] == [1, 1], "two set-ups, each one command line"
