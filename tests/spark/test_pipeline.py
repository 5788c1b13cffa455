"""The tables hold what `kdbg decode` finds, however the captures lie and however Spark divides the work."""

from __future__ import annotations

import struct
from datetime import date
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

import kdbg
from kdbg.capture.frames import Frames
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.library import read_definitions
from kdbg.scale.spark import pipeline
from tests.capture.files import RAW, block, enhanced, interface, option, section
from tests.cli.calls import MAIN, SHARED, SHIPPED, call
from tests.traffic import Talk, pcap

from ..cases import by_day, fewer_by_day
from .archives import concatenated, reordered, rolled, write
from .conftest import Run
from .decoded import ask, decoded, tabled

DEFINITIONS = MAIN / "tests/definitions/made"


def test_all_captures_together_hold_every_exchange_that_decode_finds(run: Run) -> None:
    captures = by_day([*SHIPPED, *SHARED], 3)
    out, outcome = run(captures)
    found = tabled(out)
    assert found == decoded(captures)
    assert outcome.rows["exchanges"] == outcome.counts["exchanges"] == len(found) > 300


def test_the_counts_add_up(run: Run) -> None:
    out, outcome = run(SHIPPED, filters=Filters(port=9092))
    counts = outcome.counts
    in_connections = ask(out, "SELECT sum(packets) FROM {connections}")[0][0]
    assert counts["packets"] == ask(out, "SELECT sum(packets) FROM {files}")[0][0] > 0
    assert counts["packets"] == (
        counts["other_packets"] + counts["skipped_packets"] + counts["outside_connections"] + in_connections
    )
    assert counts["passed_over"] == counts["skipped_packets"] > 0, "for two releases, by both names"
    assert counts["frames"] == ask(out, "SELECT count(request_bytes) + count(response_bytes) FROM {exchanges}")[0][0]
    assert counts["frame_bytes"] == ask(out, "SELECT sum(request_bytes) + sum(response_bytes) FROM {exchanges}")[0][0]
    assert outcome.findings.total() == ask(out, "SELECT count(*) FROM {problems}")[0][0]


def test_problems_are_the_findings_of_the_json(run: Run) -> None:
    paths = by_day(SHIPPED, 2)
    out, _ = run(paths)
    lines = (line for path in paths for line in call("decode", path, "--format", "json").lines)
    told = [
        tuple(value for name, value in found.items() if name not in ("quirk", "old_kind"))  # no columns
        for line in lines for found in line["findings"]
    ]  # fmt: skip
    question = """
        SELECT kind, severity, COALESCE(side, ''), COALESCE(path, ''), "offset", text FROM {problems}
        WHERE correlation_id IS NOT NULL OR api IS NOT NULL  -- the others are of connections and files"""
    assert sorted(ask(out, question), key=repr) == sorted(told, key=repr)
    assert len(told) > 20


@pytest.fixture(scope="module")
def packets() -> list[bytes]:
    """Those of forty captures, by day of twenty, one after the other."""
    return concatenated(fewer_by_day(40, 2))


@pytest.fixture(scope="module")
def whole(packets: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of them, which is decoded once for all tests."""
    return write(tmp_path_factory.mktemp("whole") / "whole.pcap", packets)


@pytest.mark.parametrize(("partitions", "split"), by_day([(8, 1 << 16), (1, 1 << 20), (2, 64 << 20)], 3))
def test_a_rolled_capture_is_what_it_was_in_one_file(
    run: Run, tmp_path: Path, packets: list[bytes], whole: Path, partitions: int, split: int
) -> None:
    folder = rolled(tmp_path / "rolled", packets, 17, Random(partitions))
    files = sorted(folder.iterdir(), key=lambda path: Random(path.name).random())
    out, _ = run(files, partitions=partitions, split=split)
    assert tabled(out) == decoded([whole], "roll.pcap")
    out, _ = run([whole], partitions=partitions, split=split)
    assert tabled(out) == decoded([whole])


def test_a_heavily_reordered_capture_is_read_as_decode_reads_it(run: Run, tmp_path: Path, packets: list[bytes]) -> None:
    capture = write(tmp_path / "reordered.pcap", reordered(packets, 40, Random(4)))
    out, _ = run([capture], split=1 << 16, partitions=8)
    assert tabled(out) == decoded([capture])


def test_definitions_are_known_in_every_task(run: Run, tmp_path: Path) -> None:
    capture = tmp_path / "lamp.pcap"
    with kdbg.using_definitions(DEFINITIONS):
        capture.write_bytes(pcap(Talk().ask("Lamp", 0, topic_name="cellar").answer(error_code=3)))
        out, _ = run([capture], definitions=tuple(read_definitions(DEFINITIONS)))
        assert tabled(out) == decoded([capture], "", "--definitions", DEFINITIONS)
    assert ask(out, "SELECT api, topics, errors FROM {exchanges}") == [
        ("Lamp", ["cellar"], ["UNKNOWN_TOPIC_OR_PARTITION"])
    ]


def test_times_that_no_calendar_has(run: Run, tmp_path: Path) -> None:
    capture = tmp_path / "ages.pcapng"
    packets = [segment.data for segment in Talk().ask("Metadata", 1, topics=[]).answer().segments]
    blocks = b"".join(enhanced(packet, 2**64 - 1) for packet in packets)
    capture.write_bytes(section() + interface(RAW, options=option(9, b"\x00")) + blocks)
    out, outcome = run([capture])
    assert outcome.counts["exchanges"] == 1
    assert ask(out, "SELECT api, epoch(request_time), date FROM {exchanges}") == [("Metadata", 0, date(1970, 1, 1))]
    ((text,),) = ask(out, "SELECT text FROM {problems} WHERE kind = 'damaged-capture'")
    assert "outside the years 1970 to 2262" in text


def test_what_is_beyond_a_tasks_share_is_decoded_by_others(
    run: Run, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "PER_TASK", 1 << 14)
    out, outcome = run([whole], partitions=64, split=1 << 16)
    assert tabled(out) == decoded([whole])
    assert outcome.findings.total() == ask(out, "SELECT count(*) FROM {problems}")[0][0]


def test_a_topic_id_goes_by_the_name_that_another_connection_was_told(run: Run, tmp_path: Path) -> None:
    orders = UUID(int=7)
    asked = {"topic_id": orders, "partitions": [{"partition": 1, "fetch_offset": 20}]}
    told = {"topic_id": orders, "partitions": [{"partition_index": 1, "high_watermark": 30}]}
    fetching = Talk(("10.0.0.1", 40001)).ask("Fetch", 13, topics=[asked]).answer(responses=[told])
    learning = Talk(("10.0.0.1", 40002)).ask("Metadata", 12, topics=None)
    learning.answer(topics=[{"name": "orders", "topic_id": orders, "partitions": []}])
    capture = tmp_path / "ids.pcap"
    capture.write_bytes(pcap(fetching, learning))
    out, _ = run([capture])
    assert ask(out, "SELECT topic, topic_id, high_watermark FROM {partitions}") == [("orders", str(orders), 30)]
    assert ask(out, "SELECT topics FROM {exchanges} WHERE api = 'Fetch'") == [(["orders"],)]


@pytest.mark.parametrize("split", [8192, 1 << 26])
def test_secrets_in_a_capture_open_all_of_it_and_no_other(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split: int
) -> None:
    """The block of secrets stands between packets; connections are paired by tasks that did not read it."""
    whole = MAIN / "captures" / "tls" / "real-tls-1.3.pcap"
    keys = whole.with_suffix(".keys").read_bytes()
    with Frames(whole) as frames:
        packets = [(frame.link, enhanced(frame.data, frame.time // 1000)) for frame in frames]
    links = interface(packets[0][0])
    blocks = [block for _, block in packets]
    held, bare = tmp_path / "a" / "held.pcapng", tmp_path / "b" / "bare.pcapng"
    for path, secrets in ((held, block(10, struct.pack("<II", 0x544C534B, len(keys)) + keys)), (bare, b"")):
        path.parent.mkdir()
        path.write_bytes(section() + links + blocks[0] + secrets + b"".join(blocks[1:]))
    monkeypatch.setattr(pipeline, "PER_SPREAD", 4096)  # several partitions for each capture
    for filters in (Filters(), Filters(port=9093)):  # connections are paired by one task, or by several
        out, _ = run([held, bare], partitions=8, split=split, filters=filters)
        assert tabled(out) == decoded([held, bare])
        [(exchanges, captures, numbers)] = ask(
            out, "SELECT count(*), count(DISTINCT capture), count(number) FROM {exchanges}"
        )
        assert (exchanges, captures) == (90, 1)
        assert numbers == (0 if filters.port or split < 1 << 20 else 90)  # a capture in one piece has numbers
        assert list(Path(out).rglob("*.keys")) == []
