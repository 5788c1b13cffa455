"""The garbage collector while captures are decoded."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 10_000, 20, 50
"""Thresholds of the collector's generations."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let the garbage collector run seldom: what is decoded refers to nothing that refers back to it.

    It would find nothing, and go over all that is held for many thousand connections each time.
    """
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
