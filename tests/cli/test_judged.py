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


@pytest.mark.parametrize("command", ["diagnose", "lint", "readiness", "story"])
def test_a_port_chooses_connections_as_in_other_commands(command: str) -> None:
    """Nothing of other connections is left, whether exchanges or packets tell of it."""
    path = CAPTURES / "errors.pcap" if command == "diagnose" else CAPTURES / "group-rebalance.pcap"
    whole = call(command, path, "-f", "json")
    assert whole.lines
    some, none = (call(command, path, "--port", port, "-f", "json") for port in (9092, 9))
    assert some.out
    assert some.closing.split(" · ")[1:] == call("decode", path, "--port", 9092, "-f", "json").closing.split(" · ")[1:]
    assert [line["cause"] for line in none.lines] == ["not-readable"] * (command == "diagnose")
    assert none.closing.split(" · ")[1:] == call("decode", path, "--port", 9, "-f", "json").closing.split(" · ")[1:]


def test_a_client_id_chooses_a_story() -> None:
    path = CAPTURES / "errors.pcap"
    assert call("story", path, "--client-id", "shop").out == call("story", path, "--client", "shop").out != ""


def test_a_folder_of_tables_has_no_connections_to_choose(tmp_path: Path) -> None:
    (tmp_path / "runs/_delta_log").mkdir(parents=True)
    assert "--port applies to captures" in call("diagnose", tmp_path, "--port", 9092).err
