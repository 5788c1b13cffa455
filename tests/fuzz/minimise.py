"""A smaller input with the same trouble: pieces are left out, then bytes made zero, as long as the trouble stays."""

from __future__ import annotations

import time
from collections.abc import Callable


def minimised(data: bytes, troubled: Callable[[bytes], bool], seconds: float = 60) -> bytes:
    """Return the smallest input that was found in so many CPU seconds for which `troubled` still holds."""
    until = time.process_time() + seconds
    size = max(len(data) // 2, 1)
    while size and time.process_time() < until:
        data, less = _without(data, size, troubled, until)
        size = size if less else size // 2
    for at in range(len(data)):
        if time.process_time() > until:
            break
        simpler = data[:at] + b"\0" + data[at + 1 :]
        if data[at] and troubled(simpler):
            data = simpler
    return data


def _without(data: bytes, size: int, troubled: Callable[[bytes], bool], until: float) -> tuple[bytes, bool]:
    """Leave out what pieces of a size can be left out; return what stays, and whether it is less."""
    at, before = 0, len(data)
    while at < len(data) and time.process_time() < until:
        shorter = data[:at] + data[at + size :]
        if troubled(shorter):
            data = shorter
        else:
            at += size
    return data, len(data) < before
