"""The mistakes of programs that write messages: the smallest change that makes a message valid. No I/O."""

from __future__ import annotations

from .finder import find_frame_mistake, find_mistake
from .mistake import Mistake

__all__ = ["Mistake", "find_frame_mistake", "find_mistake"]
