"""Captures that hold secrets in unusual places: nothing of them is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdbg.cli import run

from .cases import CASES


@pytest.mark.parametrize("options", [[], ["--names", "--addresses"]], ids=" ".join)
def test_nothing_is_left_of_secrets_in_unusual_places(options: list[str], tmp_path: Path) -> None:
    def redact(path: Path, made: Path) -> None:
        assert run(["redact", str(path), str(made), "--seed", "a seed", *options]) == 0

    found = {name: case.remaining(tmp_path, redact) for name, case in CASES.items() if options or case.is_of_names}
    assert {name: left for name, left in found.items() if left} == {}
