"""What every test may ask for: how long hypothesis searches, and the facts that stand beside this checkout."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from .cases import ALL

SHARED = Path(__file__).resolve().parents[2] / "shared"

os.environ["KDBG_NO_INDEX"] = "1"  # nothing is written into the user's cache

settings.register_profile("quick", derandomize=True, max_examples=25, deadline=None)
settings.register_profile("deep", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:  # as in the background of a shell, and by nohup
        signal.signal(number, handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the tests that are marked `nightly` as well")


def pytest_configure(config: pytest.Config) -> None:
    """Tell `by_day`, in workers as well."""
    if config.getoption("--all"):
        os.environ[ALL] = "1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs at night, unless all was asked for or the test was named."""
    if config.getoption("--all") or any("::" in argument for argument in config.args):
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly:
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


RUN = count(1)
COLLECTED_EVERY = 300
"""Tests after which the garbage of all of them is collected."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: nothing of thousands of modules and items goes away."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, bool, bool]:
    """Hide what earlier tests keep from the garbage collector: a test that collects would look through a gigabyte."""
    gc.freeze()
    done = yield
    gc.unfreeze()
    if next(RUN) % COLLECTED_EVERY == 0:
        gc.collect()
    return done


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of facts and cases that the project was written from; it is no part of the project."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent: the guides, layouts and public vectors stand there, not in the project")
    return SHARED
