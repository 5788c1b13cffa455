"""What captures are called in tables: the same on every machine, and however many of them are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdbg.capture.names import Named, capture_name, named_files, path_of


@pytest.mark.parametrize(
    ("file", "capture"),
    [
        ("x.pcap", "x.pcap"),
        ("x.pcap12", "x.pcap"),
        ("x.pcap12.gz", "x.pcap"),
        ("x.pcapng.zst", "x.pcapng"),
        ("deep/x_00003_20261121034000.pcapng", "deep/x_*.pcapng"),
        ("x-2026-11-21_03.30.00.pcap", "x-*.pcap"),
        ("kafka-2.8.2.pcap", "kafka-2.8.2.pcap"),
        (".gz", ".gz"),
    ],
)
def test_a_capture_point_is_called_as_its_files_without_what_rotation_added(file: str, capture: str) -> None:
    assert capture_name(file) == capture
    assert capture_name(capture) == capture


@pytest.mark.parametrize(
    ("found", "names"),
    [
        ([("/in", "/in/a.pcap"), ("/in", "/in/deep/b.pcap")], ["a.pcap", "deep/b.pcap"]),
        ([("/in/", "/in/a.pcap")], ["a.pcap"]),
        ([("/in/deep/b.pcap", "/in/deep/b.pcap")], ["b.pcap"]),
        ([("/in/*/b.pcap", "/in/deep/b.pcap")], ["deep/b.pcap"]),
        ([("/one/in", "/one/in/a.pcap"), ("/two/in", "/two/in/b.pcap")], ["one/in/a.pcap", "two/in/b.pcap"]),
        ([("/one", "/one/a.pcap"), ("/two", "/two/a.pcap")], ["one/a.pcap", "two/a.pcap"]),
        ([("/one/a.pcap", "/one/a.pcap"), ("/two/a.pcap", "/two/a.pcap")], ["one/a.pcap", "two/a.pcap"]),
        ([("/one/a.pcap", "/one/a.pcap"), ("/two/a.pcap1", "/two/a.pcap1")], ["one/a.pcap", "two/a.pcap1"]),
        ([("/one/a.pcap", "/one/a.pcap"), ("/two/b.pcap", "/two/b.pcap")], ["a.pcap", "b.pcap"]),
        ([("/a.pcap", "/a.pcap"), ("/one/a.pcap", "/one/a.pcap")], ["a.pcap", "one/a.pcap"]),
        ([("-", "-")], ["-"]),
        ([("file:///in/a.pcap", "file:///in/a.pcap")], ["a.pcap"]),
        ([("s3://key:secret@lake/in?region=x", "s3://key:secret@lake/in/a.pcap")], ["s3://lake/in/a.pcap"]),
    ],
)
def test_files_are_named_from_what_the_user_named(found: list[tuple[str, str]], names: list[str]) -> None:
    files = named_files(found)
    assert [file.name for file in files] == names
    for file, (_, path) in zip(files, found, strict=True):
        assert not path.startswith("/") or file.path == path


def test_a_folder_is_the_name_of_one_capture_point_where_all_its_files_are_pieces() -> None:
    files = named_files([("/one/ring", "/one/ring/a"), ("/one/ring", "/one/ring/b")], rolled=True)
    assert [file.name for file in files] == ["ring/a", "ring/b"]
    assert {capture_name(file.name, rolled=True) for file in files} == {"ring"}


def test_a_name_leads_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "a.pcap").touch()
    roots = [str(tmp_path / "one"), str(tmp_path / "two")]
    assert path_of(roots, "a.pcap") == str(tmp_path / "two" / "a.pcap") == Named(roots[1], "a.pcap").path
    assert path_of(roots, "b.pcap") == str(tmp_path / "one" / "b.pcap"), "where it was"
    assert path_of([], "/gone/b.pcap") == "/gone/b.pcap", "of tables of kdbg 0.1"
    monkeypatch.chdir(tmp_path)
    assert path_of(roots, "a.pcap") == "two/a.pcap"
