"""What every test may ask for: how long hypothesis searches, and the facts that stand beside this checkout."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SHARED = Path(__file__).resolve().parents[2] / "shared"

settings.register_profile("quick", derandomize=True, max_examples=25, deadline=None)
settings.register_profile("deep", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it puts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of facts and cases that the project was written from; it is no part of the project."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent: the guides, layouts and public vectors stand there, not in the project")
    return SHARED
