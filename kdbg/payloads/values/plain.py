"""What libraries make of bytes -> what JSON has: times and decimals as text, bytes in base64, great numbers as text."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

LARGEST = (1 << 64) - 1
LEAST = -(1 << 63)


def plain(value: Any) -> Any:
    """Return a value in a form that JSON has; its kinds of numbers, texts and times are told apart no more."""
    if value is None or isinstance(value, (str, bool, float)):
        return value
    if isinstance(value, int):
        return value if LEAST <= value <= LARGEST else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, Mapping):
        return {key_text(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value) if not isinstance(value, Decimal) else format(value, "f") if value.is_finite() else str(value)


def key_text(key: Any) -> str:
    """Return the key of a mapping as text."""
    if isinstance(key, str):
        return key
    return bytes(key).hex() if isinstance(key, (bytes, bytearray)) else str(plain(key))
