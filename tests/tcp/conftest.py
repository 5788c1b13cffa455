"""What the tests of TCP share."""

from __future__ import annotations

import pytest

from .desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()
