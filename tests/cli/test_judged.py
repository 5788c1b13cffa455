"""What commands that judge captures say of several: each is named, given one by one or as a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .calls import CAPTURES, call

FILES = ("errors.pcap", "group-rebalance.pcap")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        shutil.copy(CAPTURES / name, tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["diagnose", "lint", "readiness --kafka 4.0", "story"])
def test_a_folder_is_told_as_its_files_are(folder: Path, command: str) -> None:
    files = [folder / name for name in FILES]
    for more in ((), ("-f", "json")):
        one_by_one, together = (call(*command.split(), *given, *more) for given in (files, [folder]))
        assert together.out == one_by_one.out
        assert together.status == one_by_one.status
    assert str(files[0]) in {line["file"] for line in together.lines} <= set(map(str, files))
    assert f"==> {files[0]} <==" in call(*command.split(), folder).out
