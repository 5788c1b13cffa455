"""Folders and globs in place of files, in every command that reads captures."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .calls import CAPTURES, Outcome

Cli = Callable[..., Outcome]
FIRST, ERRORS = CAPTURES / "first-contact.pcap", CAPTURES / "errors.pcap"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    shutil.copy(FIRST, tmp_path / "first10.pcap")
    (tmp_path / "deep" / "first9.pcap.gz").write_bytes(gzip.compress(FIRST.read_bytes()))
    (tmp_path / "notes.txt").write_text("no capture")
    return tmp_path


def test_a_folder_is_decoded_file_by_file(cli: Cli, folder: Path) -> None:
    one, all_of_them = cli("decode", FIRST, "-f", "json"), cli("decode", folder, "-f", "json")
    assert all_of_them.out == 2 * one.out
    assert all_of_them.status == one.status
    assert all_of_them.err.startswith(f"kdbg: skipped {folder}/notes.txt: not a pcap or pcapng file")
    named = cli("decode", folder, "-f", "summary").out
    assert named.index("deep/first9.pcap.gz <==") < named.index("first10.pcap <==")


def test_a_glob_is_a_few_of_them(cli: Cli, folder: Path) -> None:
    assert cli("decode", f"{folder}/**/*.gz", "-f", "json") == cli("decode", FIRST, "-f", "json")


def test_what_is_named_itself_is_refused(cli: Cli, folder: Path) -> None:
    outcome = cli("decode", folder, folder / "notes.txt", "-f", "json")
    assert outcome.status == 2
    assert f"kdbg: {folder}/notes.txt: not a pcap or pcapng file" in outcome.err
    assert "skipped " not in outcome.err


@pytest.mark.parametrize("command", [("decode",), ("report", "-o", "-")], ids=lambda command: command[0])
def test_where_nothing_can_be_read_that_is_said(cli: Cli, tmp_path: Path, command: tuple[str, ...]) -> None:
    name, *options = command
    empty = cli(name, tmp_path, *options)
    assert (empty.status, empty.out, empty.err) == (2, "", f"kdbg: {tmp_path}: the folder contains no files\n")
    for n in range(5):
        (tmp_path / f"notes{n}.txt").write_text("no capture")
    none = cli(name, tmp_path, *options)
    assert (none.status, none.out) == (2, "")
    assert none.err.startswith(f"kdbg: skipped {tmp_path}/notes0.txt: not a pcap or pcapng file")
    assert none.err.endswith("; and 2 more files\n")


def test_a_report_of_a_folder_is_one_of_its_captures(cli: Cli, folder: Path) -> None:
    outcome = cli("report", folder, "-o", "-")
    assert outcome.out.count("first9.pcap.gz") >= 1
    assert outcome.out.count("first10.pcap") >= 1
    assert "skipped " in outcome.err
