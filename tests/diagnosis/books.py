"""Captures as the tests of this room want them: read into ledgers."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import kdbg
from kdbg.analysis.ledgers import Ledgers
from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine

MAIN = Path(kdbg.__file__).resolve().parents[1]
CAPTURES = MAIN / "captures"
STAGED = MAIN / "tests" / "incidents" / "captures"
SHARED = MAIN.parent / "shared" / "incidents"


def truths(folder: Path) -> list[dict[str, Any]]:
    """Return what is true of the incidents in a folder; nothing where it is absent."""
    file = folder / "truth.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


@lru_cache(maxsize=8)
def book(path: Path) -> Ledgers:
    """Return the ledgers of a capture."""
    engine = Engine()
    ledgers = Ledgers(engine.names_then)
    with open_capture(path) as capture:
        for packets in capture.blocks():
            ledgers.packets(packets)
            ledgers.take(engine.receive_all(packets))
        ledgers.take(engine.close())
        ledgers.left_over(engine.findings)
    return ledgers
