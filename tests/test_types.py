"""What a type checker of somebody's own program sees of kdbg."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
COMPLETE = 0.95
PROGRAM = TOP / "tests" / "typed.py"


@pytest.mark.nightly  # half a minute; the types of what a program reads most are checked by day, and mypy checks all
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


NIGHTLY = pytest.mark.nightly  # mypy checks the program with all of kdbg (pyproject.toml), whenever it checks kdbg


@pytest.mark.parametrize("checker", [pytest.param("mypy", marks=NIGHTLY), "pyright"])
def test_a_program_knows_the_type_of_what_it_reads(checker: str, tmp_path: Path) -> None:
    """Where it is `Any`, a checker finds no mistake in a program that uses exchanges."""
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    program = shutil.copy(PROGRAM, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", checker, str(program)], capture_output=True, text=True, check=False, cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(TOP), "PYTHONPATH": str(TOP), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
