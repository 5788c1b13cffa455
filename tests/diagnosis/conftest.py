"""Tests of rules see what their cases claim, whatever trials say of it."""

from __future__ import annotations

import pytest

from kdbg.analysis.diagnosis import case


@pytest.fixture(autouse=True)
def claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case is as certain as it claims."""
    monkeypatch.setattr(case, "certainty", lambda code, claim: claim)
