"""Every dialogue is played whole and byte by byte."""

from __future__ import annotations

import pytest

from .playbook import Playbook


@pytest.fixture(params=[1 << 16, 1], ids=["whole", "byte by byte"])
def cut(request: pytest.FixtureRequest) -> int:
    """The most bytes of one segment."""
    return int(request.param)


@pytest.fixture
def playbook(cut: int) -> Playbook:
    """A connection that the capture saw open."""
    return Playbook(cut)


@pytest.fixture
def midway(cut: int) -> Playbook:
    """A connection that was open before the capture began."""
    return Playbook(cut, syn=False)
