"""What a type checker of somebody's own program sees of kdbg."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
COMPLETE = 0.95


def test_types_are_complete() -> None:
    """pyright counts the public names whose types are known whatever checker is asked."""
    if find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--verifytypes", "kdbg", "--ignoreexternal", "--outputjson"],
        capture_output=True, text=True, check=False, cwd=TOP,
        env=os.environ | {"PYTHONPATH": str(TOP), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )  # fmt: skip
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: {done.stderr.strip()[-200:]}")
    found = json.loads(done.stdout)["typeCompleteness"]
    unknown = [one["name"] for one in found["symbols"] if one["isExported"] and not one["isTypeKnown"]]
    assert found["exportedSymbolCounts"]["withKnownType"] > 1000
    assert found["completenessScore"] >= COMPLETE, unknown[:50]
