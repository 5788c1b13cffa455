"""Whole captures, redacted: the same exchanges, sizes and times, and nothing left of what was taken out."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kdbg.atomic import AtomicFile
from kdbg.capture import open_capture
from kdbg.capture.frames import Dissectors, Frames, FrameWriter
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.protocol.findings import Kind
from kdbg.ui.cli import commands, run

from ..cases import by_day
from ..cli.calls import CAPTURES, SHARED, SHIPPED
from ..traffic import Segment, Talk, ip, pcap, record
from .seen import exchanges, names, seen

MORE = sorted((SHARED[0].parent if SHARED else Path("/nowhere")).glob("*/*.pcap*"))
ALL = [path for path in (*SHIPPED, *SHARED, *MORE) if path.suffix != ".gz"]
NOT_ALL = {"bomb-32KB-nested-5000x50000.pcap": (1,)}
"""Captures with batches that nothing compresses as far again, and the exit status that says so."""
PROVED_BY_NAMES = {"first-request-one-bit-of-the-client-id-length.pcap"}
"""Captures whose first request is known to be one by the names behind a wrong length, which redact blanks."""
CASES = [(path, [["--names", "--addresses"], []][number % 2]) for number, path in enumerate(ALL)]
OPTIONS = ([], ["--names", "--addresses"])
FIELDS = ("kafka.api_key", "kafka.api_version", "kafka.correlation_id")


def redacted(path: Path, target: Path, *options: str, seed: str = "a seed") -> Path:
    made = target / f"shared{path.suffix}"
    assert run(["redact", str(path), str(made), "--seed", seed, *options]) in (0, *NOT_ALL.get(path.name, ()))
    return made


@pytest.mark.parametrize(("path", "options"), by_day(CASES, 5), ids=str)
def test_the_exchanges_are_the_same_and_nothing_is_left(path: Path, options: list[str], tmp_path: Path) -> None:
    made = redacted(path, tmp_path, *options)
    before, after = seen(path), seen(made)
    if path.name not in PROVED_BY_NAMES:
        assert numbered(after.exchanges, path) == numbered(before.exchanges, path)
    assert len(after.inside) == len(before.inside) or path.name in NOT_ALL, "a batch does not decompress any more"
    if path in SHIPPED:
        assert [without(found, path) for found in after.findings] == [without(found, path) for found in before.findings]
    data = [made.read_bytes(), *after.inside]
    assert [text for text in before.hidden if any(text in piece for piece in data)] == []


def numbered(exchanges: list[Any], path: Path) -> list[Any]:
    """Where lengths lie, an exchange may be complete earlier or later once they are replaced: its number tells that."""
    return sorted(map(str, (one[1:] for one in exchanges))) if path.parent.name == "hostile" else exchanges


def without(findings: list[str], path: Path) -> list[str]:
    """Telemetry is blank: it is one value, and nothing can be read in it any more."""
    return [kind for kind in findings if kind != "malformed-payload" or "telemetry" not in path.name]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("name", ["first-contact.pcap", "codecs.pcap", "real-0.8.2.2.pcap", "nanosecond.pcapng"])
def test_the_same_seed_gives_the_same_file_and_another_another(name: str, options: list[str], tmp_path: Path) -> None:
    path, one, two = CAPTURES / name, tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    first = redacted(path, one, *options).read_bytes()
    assert redacted(path, two, *options).read_bytes() == first
    if options:
        assert redacted(path, two, *options, seed="another").read_bytes() != first


@pytest.mark.parametrize("path", by_day([*SHIPPED[::3], *SHARED[::3]], 5), ids=lambda path: path.name)
def test_tshark_sees_the_same_frames_and_right_checksums(path: Path, tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    made = redacted(path, tmp_path, "--addresses")
    ports = {one.peers.broker[1] for one in exchanges(path)}
    odd = {one.peers.number for one in exchanges(path) if {"tcp-gap", "undecoded-bytes"} & {*map(str, kinds(one))}}
    clean = {
        half.last_packet
        for one in exchanges(path)
        if one.api is not None and one.api.key >= 0 and not kinds(one) and one.peers.number not in odd
        for half in (one.request, one.response)
        if half is not None and half.first_packet == half.last_packet
    }
    before, after = ([line.split("\t") for line in tshark(file, ports)] for file in (path, made))
    assert [line[:3] for line in after] == [line[:3] for line in before], "number, time and length of every frame"
    wanted = [line for line in before if int(line[0]) in clean]
    assert [line for line in after if int(line[0]) in clean] == wanted
    cut = {line[0] for line in before if line[3] != line[2]}
    wrong = tshark(made, (), "-Y", "tcp.checksum.status == 0 || ip.checksum.status == 0")
    assert [line for line in wrong if line.split("\t")[0] not in cut] == []


def kinds(exchange: Exchange) -> list[Kind]:
    return [finding.kind for finding in exchange.all_findings()]


def tshark(path: Path, ports: set[int] | tuple[()], *more: str) -> list[str]:
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", *more]
    for setting in ("tcp.check_checksum:TRUE", "ip.check_checksum:TRUE", "tcp.reassemble_out_of_order:TRUE"):
        command += ["-o", setting]
    for port in ports:
        command += ["-d", f"tcp.port=={port},kafka"]
    for field in ("frame.number", "frame.time_epoch", "frame.len", "frame.cap_len", *FIELDS):
        command += ["-e", field]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def test_a_name_has_one_pseudonym_wherever_it_stands(tmp_path: Path) -> None:
    path = CAPTURES / "group-rebalance.pcap"
    made = redacted(path, tmp_path, "--names")
    pairs = set(zip(names(path), names(made), strict=True))
    assert len(pairs) > 5
    assert len({old for old, _ in pairs}) == len({new for _, new in pairs}) == len(pairs)
    assert all(old != new and len(old) == len(new) for old, new in pairs)


def test_bytes_of_other_connections_and_packets_are_blank(tmp_path: Path) -> None:
    path, made = tmp_path / "other.pcap", tmp_path / "shared.pcap"
    secret, port = b"a secret of somebody else's", 8080
    web = Talk(("10.0.0.1", 40_000), ("10.0.0.2", port))
    web.send(b"POST / HTTP/1.1\r\n\r\n" + secret)
    name = ip("10.0.0.1", "10.0.0.53", b"\xc0\0\0\x35\0\0\0\0" + secret)
    datagram = Segment(name[:9] + b"\x11" + name[10:], 10)
    path.write_bytes(pcap(web) + record(datagram))
    assert run(["redact", str(path), str(made)]) == 0
    assert path.read_bytes().count(secret) == 2
    assert secret not in made.read_bytes()
    assert len(made.read_bytes()) == len(path.read_bytes())


def test_tls_is_blank_and_told_whether_its_secrets_stand_in_the_capture_or_not(tmp_path: Path) -> None:
    path, made = CAPTURES / "tls" / "real-tls-1.3.pcap", tmp_path / "shared.pcapng"
    held = tmp_path / "held.pcapng"
    with Frames(path) as frames, AtomicFile(held) as output, FrameWriter(output, pcapng=True) as writer:
        for frame in frames:
            writer.add(frame)
    keys = path.with_suffix(".keys").read_bytes()
    body = struct.pack("<II", 0x544C534B, len(keys)) + keys + bytes(-len(keys) % 4)
    section = held.read_bytes()[:28]
    block = struct.pack("<II", 10, len(body) + 12) + body + struct.pack("<I", len(body) + 12)
    held.write_bytes(section + block + held.read_bytes()[28:])
    with open_capture(held) as capture:
        assert len(list(Engine(keys=capture.keys).run(capture.blocks()))) == 90, "they are read there"
    for source in (path, held):
        done = CliRunner().invoke(commands, ["redact", str(source), str(made)])
        assert done.exit_code == 0
        assert (
            "22 TLS connections blanked; to redact their contents, decrypt them with kdbg export --tls-plain"
            in done.stderr
        )
        assert b"CLIENT_TRAFFIC_SECRET_0" not in made.read_bytes()
        with Frames(made) as frames, Frames(path) as before:
            dissectors = Dissectors()
            for frame, old in zip(frames, before, strict=True):
                packet = dissectors.packet(frame)
                assert packet is None or not packet[6].strip(b"\xff"), "nothing but blanks"
                assert (frame.time, len(frame.data)) == (old.time, len(old.data))


def test_it_is_refused_to_write_a_capture_over_itself(tmp_path: Path) -> None:
    path = tmp_path / "capture.pcap"
    path.write_bytes((CAPTURES / "first-contact.pcap").read_bytes())
    assert run(["redact", str(path), str(path)]) == 2
    assert path.read_bytes() == (CAPTURES / "first-contact.pcap").read_bytes()


def test_files_that_are_no_captures_are_refused_by_what_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    segment = next((CAPTURES / "real-segments-4.4.0").rglob("*.log"))
    assert run(["redact", str(segment), str(tmp_path / "made.pcap")]) == 2
    assert "a log segment, not a capture" in capsys.readouterr().err
    assert not (tmp_path / "made.pcap").exists()


def test_help_says_what_stays() -> None:
    assert "Numbers are kept" in CliRunner().invoke(commands, ["redact", "--help"]).output
