"""What is found, in which order, and which files are one capture."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from kdbg.capture.names import capture_name
from kdbg.errors import CaptureError
from kdbg.scale.spark.archive.plan import File, Plan, in_order, plan
from tests.capture.files import pcap, pcapng
from tests.traffic import START


def names(found: Plan) -> list[str]:
    return [Path(file.name).name for file in found.files]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "b.pcap",
        "b.pcap2",
        "b.pcap10",
        "a10.pcap",
        "a9.pcap",
        "deep/c.pcap",
        ".hidden.pcap",
        "_temporary/d.pcap",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(pcap([name.encode().ljust(40)] * 3))
    (tmp_path / "notes.txt").write_text("no capture")
    return tmp_path


@pytest.mark.parametrize(
    "pieces",
    [
        ("x.pcap", "x.pcap1", "x.pcap10"),
        ("x.pcap00", "x.pcap01"),
        ("x.pcap1.gz", "x.pcap2.gz"),
        ("x_00001_20261121033000.pcapng", "x_00002_20261121034000.pcapng"),
        ("eth0-2026-11-21_03.30.00.pcap", "eth0-2026-11-21_04.30.00.pcap"),
        ("eth0-20261121.pcap", "eth0-20261122.pcap"),
        ("eth0-20261121T0330.pcap", "eth0-20261121T0430.pcap1"),
        ("1795264200.pcap", "1795267800.pcap"),
        ("x_20261121033000_00001.pcapng", "x_20261121034000_00002.pcapng"),
        ("x.pcap1", "x.pcap2.gz", "x.pcap3.zst"),
        ("2026-11-21/x.pcap", "2026-11-22/x.pcap1"),
        ("2026/11/21/x.pcap", "2026/11/22/x.pcap"),
        ("date=20261121/x.pcap", "date=20261122/x.pcap"),
    ],
)
def test_what_rotation_wrote_is_one_capture(pieces: tuple[str, ...]) -> None:
    assert len({capture_name(f"/folder/{piece}") for piece in pieces}) == 1


@pytest.mark.parametrize(
    "files",
    [
        ("host1.pcap", "host2.pcap"),
        ("kafka-2.8.2.pcap", "kafka-3.9.2.pcap"),
        ("x.pcap", "y.pcap1"),
        ("x.pcap", "x.pcapng"),
        ("a/x.pcap", "b/x.pcap1"),
        ("12345678/x.pcap", "12345679/x.pcap"),
        ("2026-13-21/x.pcap", "2026-14-21/x.pcap"),
    ],
)
def test_other_files_are_captures_of_their_own(files: tuple[str, ...]) -> None:
    assert len({capture_name(file) for file in files}) == len(files)


def test_the_hour_in_a_name_is_what_rotation_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of `tcpdump -G 3600 -w kafka-%H.pcap`, in UTC and in the zone of this machine; not the numbers of hosts."""
    monkeypatch.setenv("TZ", "UTC-5")
    time.tzset()
    noon = 1_795_262_400 * 10**9  # 2026-11-21 12:00:00 UTC
    hours = [(f"kafka-{hour:02}.pcap", noon + (hour - 12) * 3600 * 10**9) for hour in range(24)]
    assert {capture_name(*one) for one in hours} == {capture_name("kafka-12.pcap", noon)}
    assert capture_name("kafka-1207.pcap.gz", noon) == capture_name("kafka-17.pcap", noon)
    assert len({capture_name(f"broker-{host:02}.pcap", noon) for host in range(1, 10)}) == 9
    monkeypatch.undo()
    time.tzset()


def test_a_folder_stands_for_its_captures(folder: Path) -> None:
    found = plan([str(folder)])
    assert names(found) == ["a9.pcap", "a10.pcap", "b.pcap", "b.pcap2", "b.pcap10", "c.pcap"]
    assert [Path(capture).name for capture in found.captures] == ["a9.pcap", "a10.pcap", "b.pcap", "c.pcap"]
    assert [Path(name).name for name, _ in found.refused] == ["notes.txt"]


def test_a_glob_stays_in_its_folder(folder: Path) -> None:
    assert names(plan([f"{folder}/*.pcap"])) == ["a9.pcap", "a10.pcap", "b.pcap"]
    assert names(plan([f"{folder}/**/[bc].pcap"])) == ["b.pcap", "c.pcap"]


def test_a_file_that_is_named_twice_is_read_once(folder: Path) -> None:
    names_of_one = [f"{folder}/b.pcap", f"{folder}/deep/../b.pcap", f"file://{folder}/b.pcap", f"{folder}/b*.pcap"]
    assert names(plan(names_of_one)) == ["b.pcap"]


def test_all_files_of_a_folder_may_be_pieces_of_one_capture(folder: Path) -> None:
    found = plan([f"{folder}/*"], rolled=True)
    assert found.captures == [folder.name]
    assert {split.capture for split in found.splits} == {0}


@pytest.mark.parametrize(
    ("name", "problem"), [("nothing.pcap", "no such file"), ("notes.txt", "not a pcap or pcapng file")]
)
def test_what_is_named_and_cannot_be_read_is_refused(folder: Path, name: str, problem: str) -> None:
    with pytest.raises(CaptureError, match=problem) as refused:
        plan([f"{folder}/{name}"])
    assert refused.value.source == f"{folder}/{name}"


def test_files_of_all_kinds_know_when_they_begin(tmp_path: Path) -> None:
    packets = [bytes(40)] * 3
    (tmp_path / "a.pcap").write_bytes(pcap(packets[:2]))
    (tmp_path / "b.pcap.gz").write_bytes(gzip.compress(pcap(packets)))
    (tmp_path / "c.pcapng").write_bytes(pcapng(packets))  # which begins at another time
    (tmp_path / "d.pcap").write_bytes(pcap([]))
    found = plan([str(tmp_path)], 1 << 16)
    assert [file.time is None for file in found.files] == [False, False, False, True]
    assert len({file.time for file in found.files}) == 2


def test_a_capture_is_one_however_its_files_are_named(folder: Path) -> None:
    more = folder / "deep" / "c.pcap1"
    more.write_bytes(pcap([bytes(40)]))
    found = plan([str(more), str(folder)])
    pieces = [file.named for file in found.files if "c.pcap" in file.name]
    assert pieces == ["deep/c.pcap", "c.pcap1"]
    assert len({split.capture for split in found.splits if "c.pcap" in found.files[split.file].name}) == 1


def test_a_ring_begins_where_tcpdump_came_round() -> None:
    def ring(*times: int) -> list[str]:
        pieces = [File(f"x.pcap{n}", "", 1, None, START + time) for n, time in enumerate(times)]
        return [file.name[-1] for file in in_order(pieces)]

    assert ring(3, 4, 1, 2) == ["2", "3", "0", "1"]
    assert ring(1, 2, 3) == ["0", "1", "2"]
    assert ring(3, 1, 4, 2, 5) == ["0", "1", "2", "3", "4"], "times that tell nothing leave the order of the names"


def test_known_files_are_skipped(folder: Path) -> None:
    assert names(plan([str(folder)], known=lambda found: found.name.endswith("b.pcap")))[2] == "b.pcap2"


def test_a_file_without_a_complete_header_may_be_being_written(folder: Path) -> None:
    begun = folder / "begun.pcap"
    begun.write_bytes(pcap([])[:10])
    with pytest.raises(CaptureError, match="inside its header"):
        plan([str(begun)])
    assert [name for name, _ in plan([str(begun)], known=lambda found: False).refused] == [str(begun)]


def test_splits_well_outside_of_the_time_asked_for_are_not_read(tmp_path: Path) -> None:
    for n in range(5):
        (tmp_path / f"x.pcap{n or ''}").write_bytes(pcap([bytes([n]) * 40] * 3))
    found = plan([str(tmp_path)])
    hour = 3600 * 10**9
    spread = Plan(found.captures, found.files, [s._replace(time=n * hour) for n, s in enumerate(found.splits)], [])
    assert [split.file for split in spread.between(2 * hour, 3 * hour).splits] == [1, 2, 3]
    assert spread.between(None, None) == spread
