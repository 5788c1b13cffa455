"""decode, stats and kdbg.read take captures of several places, and show what became of the time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import kdbg

from ..cli.calls import Outcome, call
from .sites import CAPTURES, MILLISECOND, Way, pcap, places, written

Cli = Callable[..., Outcome]
RECORDED = (CAPTURES / "places" / "client.pcap", CAPTURES / "places" / "broker.pcap")


def test_a_real_recording_of_both_ends_is_one() -> None:
    for files in (RECORDED, RECORDED[::-1]):
        lines = [json.loads(line) for line in call("decode", *files, "-f", "json").out.splitlines()]
        alone = [json.loads(line) for line in call("decode", RECORDED[0], "-f", "json").out.splitlines()]
        assert len(lines) == len(alone) == 29
        for line, same in zip(lines, alone, strict=True):
            found = line.pop("capture_points")
            assert line.pop("places") == found, "the former name"
            assert line == same, "times, latency and packets are those of the client's place"
            assert [Path(one["file"]).name for one in found["times"]] == ["client.pcap", "broker.pcap"]
            assert found["identity"] == "certain"
            assert found["network_ms"] >= 8
            assert found["network_ms"] == pytest.approx(line["latency_ms"] - found["broker_ms"])
            assert found["clock_ahead_ms"]["at_least"] < 1500 < found["clock_ahead_ms"]["at_most"]


def test_views_tell_of_the_places(tmp_path: Path) -> None:
    files = written(tmp_path, places("errors.pcap", Way(ahead=-2_000 * MILLISECOND)))
    tree = call("decode", *files, "--limit", 1).out
    assert "  network 3 ms (to broker 1.5 ms, to client 1.5 ms, each ± 1.5 ms) · broker " in tree
    assert "\n  client.pcap " in tree
    assert "\n  the clock of broker.pcap is 2.00" in tree
    assert " s ± 1.5 ms behind the clock of client.pcap\n" in tree
    assert "clock of broker.pcap is 2.00" in call("decode", *files).err
    assert "  network 3 ms" in call("decode", *files, "--limit", 1, "-f", "hex").out
    assert " net 3ms" in call("decode", *files, "-f", "summary").out


def test_what_one_place_alone_saw_says_so(tmp_path: Path) -> None:
    near, far = places("errors.pcap")
    client, broker = written(tmp_path, (near[100:], far))
    assert "\n  only in broker.pcap\n" in call("decode", client, broker, "--limit", 1).out
    assert "only in broker.pcap" in call("decode", client, broker, "-f", "summary").out


def test_no_merge_reads_one_after_the_other(tmp_path: Path) -> None:
    files = written(tmp_path, places("errors.pcap"))
    shown = call("decode", *files, "--no-merge", "-f", "summary").out
    assert shown.count("==>") == 2
    assert "net " not in shown
    refused = call("decode", files[0], CAPTURES / "codecs.pcap", "--merge")
    assert refused.status == 2
    assert "no connection in common" in refused.err


def test_stats_count_each_exchange_once(tmp_path: Path) -> None:
    files = written(tmp_path, places("errors.pcap"))
    once, twice = (
        [json.loads(line) for line in call("stats", *files, *option, "--by", "api", "-f", "json").out.splitlines()]
        for option in ((), ("--no-merge",))
    )
    count = {row["api"]: row["exchanges"] for row in once}
    assert {row["api"]: row["exchanges"] for row in twice} == {api: 2 * number for api, number in count.items()}


def test_a_program_reads_places_as_one(tmp_path: Path) -> None:
    files = written(tmp_path, places("errors.pcap", Way(ahead=10**12)))
    found = list(kdbg.read(files, api="produce"))
    assert found
    assert {exchange.capture_points.network for exchange in found if exchange.response} == {3 * MILLISECOND}
    assert found[0].places is found[0].capture_points
    assert "capture_points" in found[0].to_dict()
    with pytest.raises(kdbg.InputError, match="in common"):
        kdbg.read([CAPTURES / "errors.pcap", CAPTURES / "codecs.pcap"])


def test_filters_choose_by_the_latency_of_the_client(tmp_path: Path) -> None:
    files = written(tmp_path, places("errors.pcap", Way(there=400 * MILLISECOND, back=400 * MILLISECOND)))
    assert len(list(kdbg.read(files, slower_than=399))) == sum(
        exchange.latency is not None for exchange in kdbg.read(files)
    )


def test_damaged_files_are_told_of(tmp_path: Path) -> None:
    near, far = places("errors.pcap")
    client, broker = tmp_path / "client.pcap", tmp_path / "broker.pcap"
    client.write_bytes(pcap(near)[:-7])
    broker.write_bytes(pcap(far))
    done = call("decode", client, broker, "-f", "summary")
    assert done.out.count("net ") > 50
    assert "client.pcap + " in done.err
