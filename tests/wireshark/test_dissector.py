"""Wireshark with kdbg's dissector says of each capture what kdbg says, and takes damaged captures in its stride."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

import kdbg
from kdbg.views.wireshark import lua
from kdbg.views.wireshark import script as dissector

from ..cases import by_day
from ..conftest import SHARED
from ..traffic import Talk, framed, pcap
from .agreement import agreement, shown, tshark
from .vectors import capture

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
IN_ORDER = ("-o", "tcp.reassemble_out_of_order:TRUE")
OPTIONS = {
    "reordered-segmented.pcap": (*IN_ORDER, "-2"),
    "kafka-python-apiversions-loop.pcap": ("-o", "tcp.try_heuristic_first:TRUE"),
}
"""Settings that a capture needs: packets out of order; a client's port that Wireshark has for another protocol."""
FOLDERS = (SHARED / "captures" / folder for folder in (".", "client-id", "public"))
BESIDE = [path for folder in FOLDERS for path in sorted(folder.glob("*.pcap*"))]
PATHS = [*by_day(sorted(CAPTURES.glob("*.pcap*")), 2), *by_day(BESIDE, 6)]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dissector's file, where tshark runs it."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    probe = tmp_path_factory.mktemp("probe") / "probe.lua"
    probe.write_text('print("Lua runs")')
    first = subprocess.run(
        ["tshark", "-X", f"lua_script:{probe}", "-r", CAPTURES / "first-contact.pcap", "-c", "1"],
        capture_output=True, check=False,
    )  # fmt: skip
    if b"Lua runs" not in first.stdout:
        pytest.skip("this tshark runs no Lua scripts (newer ones do not as root)")
    path = tmp_path_factory.mktemp("wireshark") / "kdbg.lua"
    path.write_text(dissector(), encoding="utf-8")
    return path


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_wireshark_shows_what_kdbg_shows(path: Path, script: Path) -> None:
    found = agreement(path, script, *OPTIONS.get(path.name, ()), ordered=path.name != "reordered-segmented.pcap")
    assert found.differences == []
    assert found.same > 0


@pytest.mark.parametrize("secrets", [False, True], ids=["secrets hidden", "secrets shown"])
def test_all_layouts(secrets: bool, script: Path, tmp_path: Path) -> None:
    path = tmp_path / "vectors.pcap"
    path.write_bytes(capture())
    found = agreement(path, script, secrets=secrets)
    assert found.differences == []
    assert found.same > 3000


@pytest.mark.parametrize("keys", sorted((CAPTURES / "tls").glob("*.keys")), ids=lambda path: path.name)
def test_tls_that_wireshark_decrypts(keys: Path, script: Path) -> None:
    found = agreement(keys.with_suffix(".pcap"), script, keys=keys)
    assert found.differences == []
    assert found.same > 100


def run(path: Path, script: Path) -> str:
    """What tshark says of a capture, without an error of Lua's."""
    text = tshark("-r", path, "-V", script=script).stdout.decode("utf-8", "replace")
    assert "Lua Error" not in text
    assert ".lua:" not in text
    return text


@pytest.mark.skipif(not SHARED.is_dir(), reason="the captures beside this checkout are absent")
def test_hostile_captures(script: Path) -> None:
    for path in by_day(sorted((SHARED / "captures" / "hostile").glob("*.pcap*")), 3):
        run(path, script)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the captures beside this checkout are absent")
def test_a_bomb_is_shown_in_part(script: Path) -> None:
    text = run(SHARED / "captures" / "hostile" / "bomb-32KB-nested-5000x50000.pcap", script)
    assert "items are shown" in text
    assert text.count("\n") < 1_000_000


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A pcap file with bits of its packets flipped, packets lost, cut off, repeated, and in another order."""
    place, packets = 24, []
    while place < len(data):
        length = struct.unpack_from("<I", data, place + 8)[0]
        packets.append(data[place : place + 16 + length])
        place += 16 + length
    out = []
    for packet in packets:
        luck = rng.random()
        if luck < 0.03:
            continue
        if luck < 0.1 and len(packet) > 90:
            changed = bytearray(packet)
            for _ in range(rng.randint(1, 4)):
                changed[rng.randrange(16 + 66, len(packet))] = rng.choice((0, 0xFF, 0x7F, 0x80, rng.randrange(256)))
            packet = bytes(changed)
        elif luck < 0.13 and len(packet) > 90:
            length = rng.randrange(60, len(packet) - 16)
            packet = packet[:8] + struct.pack("<I", length) + packet[12 : 16 + length]
        out.append(packet)
        if luck > 0.97:
            out.insert(rng.randrange(max(len(out) - 3, 0), len(out)), packet)
    return data[:24] + b"".join(out)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "name",
    by_day(["real-errors", "real-codecs-4.4.0", "old-versions", "real-sasl-tokens", "real-4.4.0-transactions"], 2),
)
def test_random_damage(name: str, seed: int, script: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.pcap"
    path.write_bytes(damaged((CAPTURES / f"{name}.pcap").read_bytes(), random.Random(f"{name} {seed}")))
    assert "Apache Kafka (kdbg)" in run(path, script)


def test_anomalies_are_expert_information(script: Path, tmp_path: Path) -> None:
    record = {"key": "k", "value": "v" * 40, "headers": [], "attributes": 0, "offset": 0, "timestamp": 1}
    produce = {
        "acks": 1, "timeout_ms": 1,
        "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": [{"magic": 2, "records": [record]}]}]}],
    }  # fmt: skip
    body = kdbg.encode(produce, api="Produce", version=8, direction="request")
    metadata = kdbg.encode({"topics": None}, api="Metadata", version=1, direction="request")
    damaged = body.replace(b"v" * 40, b"v" * 39 + b"w")
    assert damaged != body
    talk = Talk().ask_bytes("Produce", 8, body).answer().ask_bytes("Produce", 8, damaged).answer()
    talk.ask_bytes("Metadata", 1, metadata).answer_bytes(kdbg.encode({}, api=3, version=1, direction="response") + b"!")
    talk.ask_bytes("Metadata", 1, metadata[:-1] + b"\x7f").answer()
    talk.ask_bytes(3, 99, b"\0" + metadata)
    talk.reply(framed(struct.pack(">i", 4711) + bytes(8)))
    path = tmp_path / "anomalies.pcap"
    path.write_bytes(pcap(talk.end()))
    notes = [message.notes for message in shown(path, script, "-2")]
    wanted = [
        [], [], ["CRC is 0x"], [], [], ["1 bytes after the last field"], ["has the length -129"], [],
        ["No response in the capture", "Version 99 of this API is unknown"], ["No request with this correlation id"],
    ]  # fmt: skip
    assert len(notes) == len(wanted)
    for found, texts in zip(notes, wanted, strict=True):
        assert len(found) == len(texts), found
        assert all(text in note for text, note in zip(texts, found, strict=True)), found


@pytest.mark.parametrize("name", by_day(["real-errors", "codecs", "real-3.9.2-rebalance"], 2))
def test_a_filter_finds_the_frames_that_show_its_field(name: str, script: Path) -> None:
    """Where nothing is shown, only what is asked for is dissected."""
    path, frames = CAPTURES / f"{name}.pcap", defaultdict[str, set[int]](set)
    for message in shown(path, script):
        for item in (inner for outer in message.items for inner in outer.iter("field")):
            if (field := item.get("name", "")).startswith("kdbg."):
                frames[field].add(message.frame)
    assert len(frames) > 60
    for field in by_day(sorted(frames), 12):
        lines = tshark("-r", path, "-Y", field, "-T", "fields", "-e", "frame.number", script=script).stdout.split()
        assert {*map(int, lines)} == frames[field], field


def test_a_filter_finds_expert_information_of_records(script: Path, tmp_path: Path) -> None:
    record = {"key": "k", "value": "v" * 40, "headers": [], "attributes": 0, "offset": 0, "timestamp": 1}
    data = [{"index": 0, "records": [{"magic": 2, "records": [record]}]}]
    body = kdbg.encode(
        {"acks": 1, "topic_data": [{"name": "t", "partition_data": data}]},
        api="Produce",
        version=8,
        direction="request",
    )
    path = tmp_path / "crc.pcap"
    path.write_bytes(pcap(Talk().ask_bytes("Produce", 8, body.replace(b"v" * 40, b"w" * 40)).answer()))
    assert tshark("-r", path, "-Y", "kdbg.wrong_crc", "-T", "fields", "-e", "kdbg.api", script=script).stdout.split()


def test_texts_of_definitions_are_texts_in_lua(script: Path, tmp_path: Path) -> None:
    value = {"end": 'say "no"\r\n\0\\ é', "plain": 1}
    probe = tmp_path / "probe.lua"
    probe.write_text(f"local t = {lua(value)} print((t['end']:gsub('.', function(c) return c:byte() .. ' ' end)))")
    out = tshark("-r", CAPTURES / "first-contact.pcap", "-c", "1", script=probe).stdout.decode().splitlines()[0]
    assert bytes(map(int, out.split())).decode() == value["end"]
