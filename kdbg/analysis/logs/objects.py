"""JSON objects in lines of logs."""

from __future__ import annotations

import json
from typing import Any

_DECODER = json.JSONDecoder()


def object_in(line: str, start: int) -> dict[str, Any] | None:
    """Return the JSON object that begins at `start`, whatever stands behind it; None where there is none."""
    try:
        found, _ = _DECODER.raw_decode(line, start)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def text(value: Any) -> str | None:
    """Return the value if it is text."""
    return value if isinstance(value, str) else None


def number(value: Any) -> int | None:
    """Return the value if it is a whole number that a message can hold."""
    return value if type(value) is int and -1 << 31 <= value < 1 << 31 else None
