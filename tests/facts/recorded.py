"""Messages of the captures that come along, as vectors: their bytes, and their values as `plain` reads them.

What real clients and brokers wrote is taken in, at most two of a kind: a small one and a large one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import kdbg

from . import layouts, plain

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
LARGEST = 3000
"""Bytes of a message that is taken."""


def vectors() -> Iterator[dict[str, Any]]:
    """Yield a row for each message that is taken, in the order of APIs."""
    table = {(row["api_key"], row["type"], row["version"]): row for row in layouts()}
    kinds: dict[tuple[int, str, int], dict[bytes, str]] = defaultdict(dict)
    for place, kind, data in messages():
        if kind in table and len(data) <= LARGEST:
            kinds[kind].setdefault(data, place)
    for kind, found in sorted(kinds.items()):
        rows = [
            row
            for data in sorted(found, key=lambda data: (len(data), data))
            if (row := vector(table[kind], data, found[data]))
        ]
        yield from [rows[0], rows[-1]] if len(rows) > 1 else rows


def messages() -> Iterator[tuple[str, tuple[int, str, int], bytes]]:
    """Yield (capture, (API key, direction, version), bytes without the size) of every sound message."""
    for path in sorted(CAPTURES.glob("*.pcap*")):
        for exchange in kdbg.read(path):
            for half in (exchange.request, exchange.response):
                message = half.message() if half is not None and not half.missing else None
                if half is not None and message is not None and not message.findings and half.api is not None:
                    yield path.name, (half.api.key, half.direction, half.version), bytes(half.data)


def vector(layout: dict[str, Any], data: bytes, capture: str) -> dict[str, Any] | None:
    """Return the row of a message; None if the table does not read it to its end."""
    direction = layout["type"]
    with suppress(ValueError, KeyError):
        body = data[plain.header(layout["header"], direction, data) :]
        return {
            "source": "captures", "file": capture, "test": "", "form": "frame", "class": "ok", "canonical": True,
            "api_key": layout["api_key"], "api": layout["name"].removesuffix(direction.title()),
            "direction": direction, "version": layout["version"], "body_hex": body.hex(),
            "frame_hex": (len(data).to_bytes(4, "big") + data).hex(), "values": plain.read(layout["rows"], body),
        }  # fmt: skip
    return None
