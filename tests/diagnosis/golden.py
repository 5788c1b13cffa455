"""What tests here compare with a file beside them; `KDBG_GOLDEN=1` has pytest write it anew."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any


def same(path: Path, name: str, found: Any) -> None:
    """Compare what was found under a name with what the file has there."""
    if os.environ.get("KDBG_GOLDEN"):
        known = read(path) if path.is_file() else {}
        known[name] = json.loads(json.dumps(found))
        path.write_text(json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n")
        read.cache_clear()
    assert json.loads(json.dumps(found)) == read(path)[name], name


@cache
def read(path: Path) -> dict[str, Any]:
    """What a file has, which is read once: to read it costs more than what is compared with one of its names."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found
