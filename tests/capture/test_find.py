"""Which files a name stands for; tests/spark/test_plan.py asks the same of what Spark reads."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kdbg.capture.source import find, glob, natural
from kdbg.errors import CaptureRefused

from ..cases import for_each

FILES = ("b.pcap", "b.pcap2", "b.pcap10", "a10.pcap", "a9.pcap", "deep/c.pcap", ".hidden.pcap", "_temporary/d.pcap",
         "deep/.hidden/e.pcap", "odd[1].pcap")  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / "pipe.pcap")  # to open it is to wait for who writes into it
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (".", ["./a9.pcap", "./a10.pcap", "./b.pcap", "./b.pcap2", "./b.pcap10", "./deep/c.pcap", "./odd[1].pcap"]),
        ("deep", ["deep/c.pcap"]),
        ("deep/", ["deep/c.pcap"]),
        ("*.pcap", ["a9.pcap", "a10.pcap", "b.pcap", "odd[1].pcap"]),
        ("./a*.pcap", ["a9.pcap", "a10.pcap"]),
        ("**/[bc].pcap", ["b.pcap", "deep/c.pcap"]),
        ("**/[!bc].pcap", None),
        ("a?.pcap", ["a9.pcap"]),
        ("deep?c.pcap", None),
        ("*/c.pcap", ["deep/c.pcap"]),
        ("odd[1].pcap", ["odd[1].pcap"]),
        ("nothing.pcap", ["nothing.pcap"]),
        ("-", ["-"]),
    ],
)
def test_what_a_name_stands_for(folder: Path, name: str, found: list[str] | None) -> None:
    if found is None:
        with pytest.raises(CaptureRefused, match=re.escape(f"{name}: the folder contains no files")):
            find(name)
        return
    assert find(name) == found


def test_paths_may_be_absolute(folder: Path) -> None:
    assert (
        find(f"{folder}/deep") == find(f"{folder}/*/c.pcap") == find(f"{folder}/**/c.pcap") == [f"{folder}/deep/c.pcap"]
    )


def test_an_empty_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(CaptureRefused, match="the folder contains no files"):
        find(str(tmp_path))


@for_each(
    ("pattern", "path", "fits"),
    [
        ("a.pcap", "axpcap", False),
        ("[a-c]*", "b1", True),
        ("[!a-c]*", "b1", False),
        ("[]x]", "]", True),
        ("[a", "[a", True),
        ("a[\\]b", "a\\b", True),
        ("**", "a/b", True),
        ("x/**/y", "x/y", True),
        ("x/**/y", "x/1/2/y", True),
        ("(a|b)+", "(a|b)+", True),
    ],
)
def test_globs(pattern: str, path: str, fits: bool) -> None:
    assert bool(glob(pattern).fullmatch(path)) is fits


def test_natural_order() -> None:
    assert sorted(["x10", "x9", "x", "x09b"], key=natural) == ["x", "x9", "x09b", "x10"]
