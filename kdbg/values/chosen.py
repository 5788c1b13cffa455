"""How keys and values are read: by the reader that was asked for, else as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .unasked import unasked
from .value import Asked, Value

ReadBytes: TypeAlias = Callable[[bytes | None, Asked], Value]
"""Reads a key or a value; never raises for what it is given."""
PLAIN: ReadBytes = unasked
