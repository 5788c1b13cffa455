"""`kdbg export`: a capture of the connections or exchanges that filters choose."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kdbg.capture.frames import Frames
from kdbg.exchanges.messages.exchange import Exchange

from ..redact.seen import exchanges
from .calls import CAPTURES, call, spawn

ERRORS = CAPTURES / "errors.pcap"


def facts(one: Exchange) -> tuple[Any, ...]:
    return one.api.name if one.api else "", one.version, one.correlation_id, one.time, one.size, one.latency


def export(target: Path, *arguments: object) -> list[Exchange]:
    done = call("export", *arguments[:1], target, *arguments[1:])
    assert done.status in (0, 1), done.err
    return list(exchanges(target))


def connections(path: Path, *apis: str) -> list[Exchange]:
    found = list(exchanges(path))
    wanted = {one.peers.number for one in found if one.api and one.api.name in apis}
    return [one for one in found if one.peers.number in wanted]


@pytest.mark.parametrize("name", ["made.pcapng", "made.pcap"])
def test_whole_connections_have_all_their_exchanges(name: str, tmp_path: Path) -> None:
    found = export(tmp_path / name, ERRORS, "--api", "Fetch")
    expected = connections(ERRORS, "Fetch")
    assert 0 < len(expected) < len(list(exchanges(ERRORS)))
    assert [facts(one) for one in found] == [facts(one) for one in expected]
    with Frames(tmp_path / name) as frames:
        assert frames.is_pcapng is name.endswith("pcapng")


def test_packets_are_those_of_the_capture(tmp_path: Path) -> None:
    export(tmp_path / "made.pcap", ERRORS, "--api", "Fetch")
    with Frames(ERRORS) as whole, Frames(tmp_path / "made.pcap") as part:
        before = [frame[1:] for frame in whole]
        after = [frame[1:] for frame in part]
    assert [frame for frame in before if frame in after] == after
    assert len(after) < len(before)


def test_only_exchanges_leave_the_rest_out(tmp_path: Path) -> None:
    found = export(tmp_path / "made.pcapng", ERRORS, "--api", "Produce", "--only-exchanges")
    expected = [one for one in exchanges(ERRORS) if one.api and one.api.name == "Produce"]
    assert sorted(map(facts, found)) == sorted(map(facts, expected))
    assert 0 < len(found) < len(list(exchanges(ERRORS)))


def test_several_captures_make_one(tmp_path: Path) -> None:
    first, real = CAPTURES / "first-contact.pcap", CAPTURES / "nanosecond.pcapng"
    target = tmp_path / "made.pcapng"
    done = call("export", first, real, target)
    assert done.status == 0, done.err
    assert [facts(one) for one in exchanges(target)] == [
        facts(one) for path in (first, real) for one in exchanges(path)
    ]


def test_the_number_of_an_exchange_chooses_it(tmp_path: Path) -> None:
    (found,) = export(tmp_path / "made.pcap", f"{ERRORS}#4", "--only-exchanges")
    assert facts(found) == next(facts(one) for one in exchanges(ERRORS) if one.number == 4)


def test_the_ports_of_an_earlier_connection_are_told_apart(tmp_path: Path) -> None:
    """Two connections, one after the other, on the same ports: only the second one has what is wanted."""
    from ..traffic import Talk, pcap

    old, new = Talk(), Talk(at=1000)
    old.next, new.next = [1001, 5001], [90_001, 70_001]
    new.segments.clear()
    new.next = [90_000, 70_000]
    new._packet(0, 0x02)
    new._packet(1, 0x12)
    new.next = [90_001, 70_001]
    old.ask("ApiVersions", 0).answer().end()
    new.ask("Heartbeat", 0, group_id="g", member_id="m").answer().end()
    both = tmp_path / "both.pcap"
    both.write_bytes(pcap(old, new))
    (found,) = export(tmp_path / "made.pcap", both, "--api", "Heartbeat")
    assert facts(found)[0] == "Heartbeat"


def test_nothing_that_fits_is_an_empty_capture_and_said(tmp_path: Path) -> None:
    done = call("export", ERRORS, tmp_path / "made.pcap", "--topic", "nowhere")
    assert "--topic nowhere: no match; the captures contain " in done.err
    assert list(exchanges(tmp_path / "made.pcap")) == []


def test_what_cannot_be_is_refused_in_a_line(tmp_path: Path) -> None:
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(ERRORS.read_bytes())
    done = call("export", copy, copy)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "is also the input" in done.err
    assert copy.read_bytes() == ERRORS.read_bytes()
    piped = spawn("export", "-", tmp_path / "made.pcap", stdin=ERRORS.read_bytes())
    assert piped.status == 2
    assert "stdin: a pipe, which export cannot read twice" in piped.err


def test_wireshark_reads_whole_connections_as_it_reads_the_capture(tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    target = tmp_path / "made.pcapng"
    export(target, ERRORS, "--api", "Fetch")
    wanted = {line.split("\t")[0] for line in tshark(target)}
    assert tshark(target) == [line for line in tshark(ERRORS) if line.split("\t")[0] in wanted]
    assert any("\t1\t" in line for line in tshark(target)), "a Fetch is shown"


def tshark(path: Path, capture: Path = ERRORS) -> list[str]:
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-Y", "tcp"]
    for port in {one.peers.broker[1] for one in exchanges(capture)}:
        command += ["-d", f"tcp.port=={port},kafka"]
    for field in ("frame.time_epoch", "kafka.api_key", "kafka.correlation_id", "kafka.len", "tcp.seq"):
        command += ["-e", field]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_what_tls_hid_is_written_in_the_clear(version: str, tmp_path: Path) -> None:
    path, target = CAPTURES / "tls" / f"real-tls-{version}.pcap", tmp_path / "plain.pcap"
    keys = path.with_name(f"real-tls-{version}.keys")
    done = call("export", path, target, "--tls-keys", keys, "--tls-plain")
    assert done.status == 0, done.err
    assert decoded(target) == decoded(path, "--tls-keys", keys)
    assert sum(facts(one)[0] == "Produce" for one in exchanges(target)) == 4
    if shutil.which("tshark") is not None:
        said = {word for line in tshark(target, target) for word in line.split("\t")[2].split(",")}
        assert said >= {str(one.correlation_id) for one in exchanges(target)}


def decoded(path: Path, *options: object) -> str:
    return call("decode", path, "--format", "summary", *options).out


def test_of_tls_only_what_is_wanted_is_written(tmp_path: Path) -> None:
    path, target = CAPTURES / "tls" / "real-tls-1.3.pcap", tmp_path / "plain.pcapng"
    wanted = "--tls-keys", path.with_suffix(".keys"), "--tls-plain", "--api", "Fetch"
    whole = export(target, path, *wanted)
    assert {facts(one)[0] for one in whole} > {"Fetch", "Metadata"}
    only = export(target, path, *wanted, "--only-exchanges")
    assert {facts(one) for one in only} >= {facts(one) for one in whole if facts(one)[0] == "Fetch"}
    assert len(only) < len(whole)


def test_tls_that_is_written_encrypted_is_told(tmp_path: Path) -> None:
    path, target = CAPTURES / "tls" / "real-tls-1.3.pcap", tmp_path / "made.pcap"
    keys = path.with_suffix(".keys")
    done = call("export", path, target, "--tls-keys", keys)
    assert "22 TLS connections exported encrypted; use --tls-plain" in done.err
    assert decoded(target, "--tls-keys", keys) == decoded(path, "--tls-keys", keys)
    assert "written encrypted" not in call("export", path, target).err, "no key told what is in them"
    assert list(exchanges(target)) == []
