"""Python's garbage collector, which runs seldom while captures are decoded: decoding leaves no garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 50_000, 20, 50
"""Thresholds of the collector's generations."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let the garbage collector run seldom: it would go over all connections each time, and find nothing."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
