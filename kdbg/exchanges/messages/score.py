"""How surprising the values of a message are, in bits: what tells layouts apart that all read the same bytes.

Each layout that fits writes the bytes down in its own way, and the likeliest is the one under whose meanings they
take the fewest bits (minimum description length): a zero error code says little, a port of 9092 is expected, a port
of 1868983913 or a topic named with control characters is not. The numbers are rough on purpose: what counts is that
nonsense costs more than the bytes it came from, and sense much less.
"""

from __future__ import annotations

import math
import re
from typing import Any

from ...protocol.grammars.errors import ERRORS
from ...protocol.wire import Api, nodes

NONSENSE = 24.0
"""Bits on top of the bytes themselves for what no peer would write."""
NAME = re.compile(r"[A-Za-z0-9._-]*")
HOST = re.compile(r"[A-Za-z0-9._:%\[\]/-]*")
ANY_ID = 24.0
"""Bits of a correlation id: most count from 0, some begin anywhere."""
YEARS = range(1_000_000_000_000, 2_500_000_000_000)
"""Milliseconds from 2001 to 2049."""
EVERYDAY = frozenset({0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 22, 36})
BETWEEN_BROKERS = frozenset({4, 5, 6, 7, 27, 52, 53, 54, 56, 58, 59, 62, 63, 64, 67, 70, 73, *range(83, 88)})


def rarity(api: Api) -> float:
    """Return the bits for how seldom an API is met."""
    return 0.0 if api.key in EVERYDAY else 8.0 if api.key in BETWEEN_BROKERS else 4.0


def number(value: int) -> float:
    """Return the bits of an integer: small ones take few, negative ones but -1 many."""
    if value > 0:
        return 2.0 + 2 * math.log2(value + 1)
    return 1.0 if not value else 3.0 if value == -1 else 12.0 + 2 * math.log2(-value)


def number_bits(node: nodes.Node, value: Any, name: str) -> float:
    raw = 8.0 * getattr(node, "size", 5)
    if node.kind == "error":
        return 0.5 if not value else 8.0 if value in ERRORS else raw + NONSENSE
    if node.kind in ("enum", "api") and node.names:
        return math.log2(len(node.names) + 1) if value in node.names else raw + NONSENSE
    if node.kind == "bits":
        return 2.0 if value in (0, -(1 << 31)) else 16.0 if 0 < value < 1 << 24 else raw + NONSENSE
    if name == "correlation_id":
        return min(number(value), ANY_ID)
    if name == "throttle_time_ms" and value:
        return min(number(value) + 6.0, raw + NONSENSE)
    if node.kind == "timestamp" and value > 0:
        return 36.0 if value in YEARS else raw + NONSENSE
    if name == "port":
        return 4.0 if value in range(9090, 9100) else 14.0 if 0 < value < 65536 else raw + NONSENSE
    if isinstance(node, nodes.Fixed) and (node.boolean or node.code == "d"):
        return 1.0 if node.boolean else 24.0 if not value or 1e-9 < abs(value) < 1e15 else raw + NONSENSE
    if node.kind == "crc":
        return raw
    return min(number(value), raw + NONSENSE)


def text_bits(value: str | None, kind: str, name: str) -> float:
    """Return the bits of a string: control characters take more, and so do letters that a name or host may not have."""
    if not value:
        return 4.0
    strict = HOST if name == "host" else NAME
    odd = sum(not letter.isprintable() for letter in value)
    wrong = NONSENSE * (kind == "topic" or name == "host") * (strict.fullmatch(value) is None)
    plain = len(strict.match(value)[0])  # type: ignore[index]
    return number(len(value)) + 5.2 * plain + 6.6 * (len(value) - plain) + 12.0 * odd + wrong
