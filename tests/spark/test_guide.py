"""The manual's Spark programs run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdbg.ui.guide import text, topics

from ..guide.blocks import Block, blocks, check_python, link

PROGRAMS = [block for topic in topics() for block in blocks(text(topic)) if block.language == "python spark"]


@pytest.mark.nightly  # a session of its own; what it calls is tested in test_source.py
@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: f"line {block.line}")
def test_a_program_of_the_manual_runs(block: Block, tmp_path: Path) -> None:
    check_python(block, link(tmp_path))
