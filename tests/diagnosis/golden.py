"""What tests here compare with a file beside them; `KDBG_GOLDEN=1` has pytest write it anew."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def same(path: Path, name: str, found: Any) -> None:
    """Compare what was found under a name with what the file has there."""
    known = json.loads(path.read_text()) if path.is_file() else {}
    if os.environ.get("KDBG_GOLDEN"):
        known[name] = json.loads(json.dumps(found))
        path.write_text(json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n")
    assert json.loads(json.dumps(found)) == known[name], name
