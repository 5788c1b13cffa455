"""Whole screens, as keys lead from one to the next: what changes with each key, line by line."""

from __future__ import annotations

import pytest

from .walk import FILE, WALKS, walked


@pytest.mark.parametrize("name", WALKS)
def test_screens_change_as_they_did(name: str) -> None:
    """`python -m tests.tui.walk` writes them anew, where they are to be others."""
    _, _, after = FILE.read_text().partition(f"##### {name}\n")
    assert walked(name) == after.partition("#####")[0].splitlines()
