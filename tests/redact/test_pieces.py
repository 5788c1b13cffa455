"""IP packets in pieces: put together, redacted as whole ones are, and taken apart again; blank without their others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from kdbg.capture.frames import Frames
from kdbg.ui.cli import commands, run

from ..traffic import Segment, Talk, pcap
from .seen import seen
from .test_captures import OPTIONS, redacted, tshark


def in_pieces(talk: Talk, size: int) -> Talk:
    """The same packets, in pieces of so many bytes, IPv4 or IPv6."""
    from scapy.layers.inet import IP, fragment
    from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, fragment6

    found: list[Segment] = []
    for place, (data, at) in enumerate(talk.segments):
        if data[0] >> 4 == 4:
            pieces = fragment(IP(data[:4] + place.to_bytes(2) + data[6:]), fragsize=size)
        else:
            whole = IPv6(data)
            whole.plen, whole.nh, body = None, 44, whole.payload
            whole.remove_payload()
            pieces = fragment6(whole / IPv6ExtHdrFragment(id=place) / body, size)
        found += [Segment(bytes(piece), at) for piece in pieces]
    talk.segments = found
    return talk


def warehouse(ends: tuple[tuple[str, int], tuple[str, int]]) -> Talk:
    talk = Talk(*ends).ask("Metadata", 1, topics=[{"name": f"warehouse-{number}"} for number in range(90)])
    talk.answer(brokers=[{"node_id": 1, "host": "warehouse.example", "port": 9092}])
    return talk.ask("Heartbeat", 0, group_id="warehouse", member_id="m").answer().end()


IPV4 = ("10.0.0.1", 40_000), ("10.0.0.2", 9092)
IPV6 = ("2001:db8::1", 40_000), ("2001:db8::2", 9092)


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("ends", [IPV4, IPV6], ids=["IPv4", "IPv6"])
def test_packets_in_pieces_are_redacted_as_whole_ones_are(
    ends: tuple[tuple[str, int], tuple[str, int]], options: list[str], tmp_path: Path
) -> None:
    path, part = tmp_path / "pieces.pcap", tmp_path / "part.pcap"
    addresses = slice(12, 20) if ends == IPV4 else slice(8, 40)
    path.write_bytes(pcap(in_pieces(warehouse(ends), 256)))
    before = seen(path)
    assert len(before.exchanges) == 2, "they are put together"
    made = redacted(path, tmp_path, *options)
    after = seen(made)
    assert (after.exchanges, after.findings) == (before.exchanges, before.findings)
    assert b"warehouse" in path.read_bytes()
    assert b"warehouse" not in made.read_bytes()
    with Frames(path) as frames, Frames(made) as others:
        for frame, other in zip(frames, others, strict=True):
            assert (frame.time, len(frame.data), frame.sent) == (other.time, len(other.data), other.sent)
            assert bool(options) is (frame.data[addresses] != other.data[addresses])
    if shutil.which("tshark") is not None:
        wrong = tshark(made, (), "-Y", "tcp.checksum.status == 0 || ip.checksum.status == 0 || _ws.malformed")
        assert wrong == []
    assert run(["export", str(path), str(part)]) == 0
    with Frames(path) as frames, Frames(part) as others:
        assert list(others) == list(frames)


@pytest.mark.parametrize("missing", [0, 1])
def test_pieces_without_their_others_are_blank(missing: int, tmp_path: Path) -> None:
    path, made = tmp_path / "pieces.pcap", tmp_path / "shared.pcap"
    talk = in_pieces(warehouse(IPV4), 256)
    first = next(place for place, segment in enumerate(talk.segments) if len(segment.data) > 200)
    del talk.segments[first + missing]
    path.write_bytes(pcap(talk))
    done = CliRunner().invoke(commands, ["redact", str(path), str(made)])
    assert "IP fragments blanked: the other fragments of their packets are not in the capture" in done.stderr
    assert b"warehouse" not in made.read_bytes()
    assert len(made.read_bytes()) == len(path.read_bytes())
    assert len(seen(made).exchanges) == len(seen(path).exchanges)
    assert (
        "dropped: their connection is unknown"
        in CliRunner().invoke(commands, ["export", str(path), str(tmp_path / "part.pcap")]).stderr
    )
