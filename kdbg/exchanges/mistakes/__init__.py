"""The mistakes of programs that write messages: the smallest change that makes a message valid. No I/O."""

from __future__ import annotations

from .connection import RequestOrder, find_frame_mistake, find_misframed, find_missing_size
from .finder import Examination, examine, find_mistake
from .mistake import Mistake

__all__ = [
    "Examination", "Mistake", "RequestOrder", "examine", "find_frame_mistake", "find_misframed",
    "find_missing_size", "find_mistake",
]  # fmt: skip
