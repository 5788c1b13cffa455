"""Fixtures of the tests of the client room."""

from __future__ import annotations

import pytest

from kdbg.live.client import cluster as room


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many attempts as ever, without the pauses between them."""
    monkeypatch.setattr(room, "PAUSES", tuple(0.001 if pause else 0 for pause in room.PAUSES))
