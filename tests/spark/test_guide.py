"""The manual's Spark programs run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdbg.ui.guide import text, topics

from ..cli.calls import CAPTURES, spawn
from ..guide.blocks import Block, blocks, check_python, link

PROGRAMS = [block for topic in topics() for block in blocks(text(topic)) if block.language == "python spark"]


@pytest.mark.nightly  # a session of its own; what it calls is tested in test_source.py
@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: f"line {block.line}")
def test_a_program_of_the_manual_runs(block: Block, tmp_path: Path) -> None:
    top = link(tmp_path)
    assert spawn("pipeline", CAPTURES / "errors.pcap", "--out", top / "tables", "--master", "local[1]").status == 1
    check_python(block, top)
