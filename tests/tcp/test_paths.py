"""What TCP itself tells of a connection: zero windows, acknowledgements, what was sent again, by packets made here."""

from __future__ import annotations

import struct

import pytest

from kdbg.capture import segments
from kdbg.capture.links import dissector
from kdbg.capture.packet import ACK, RST, SHUT, SYN, Packet, reverse
from kdbg.streams.tcp.paths import Path, Paths, Shut

CLIENT = bytes((10, 0, 0, 1, 10, 0, 0, 2)) + struct.pack(">HH", 51514, 9092)
BROKER = reverse(CLIENT)
MS = 1_000_000


def one(
    number: int, flow: bytes, seq: int, ack: int, flags: int = ACK, payload: bytes = b"", ms: int | None = None
) -> Packet:
    return number, (number if ms is None else ms) * MS, flow, seq, ack, flags, payload, len(payload)


OPENING = [one(1, CLIENT, 99, 0, SYN), one(2, BROKER, 499, 100, SYN | ACK), one(3, CLIENT, 100, 500)]


def followed(*packets: Packet) -> tuple[Paths, Path]:
    paths = Paths(acknowledgements=True)
    paths.receive_all([*OPENING, *packets])
    return paths, next(paths.all())


def test_a_zero_window_lasts_until_another_is_told() -> None:
    _, path = followed(
        one(4, BROKER, 500, 100, payload=b"abcd"), one(5, CLIENT, 100, 504, ACK | SHUT, ms=10),
        one(6, CLIENT, 100, 504, ACK | SHUT, ms=15), one(7, CLIENT, 100, 504, ms=30),
    )  # fmt: skip
    client, broker = path.ways
    assert client.shuts == [Shut(10 * MS, 30 * MS)]
    assert broker.shuts == []
    assert client.shut_between(20 * MS, 60 * MS) == 10 * MS
    assert client.shut_between(0, 12 * MS) == 2 * MS
    assert client.shut_between(40 * MS, 60 * MS) == 0


def test_a_zero_window_that_never_opens() -> None:
    _, path = followed(one(5, CLIENT, 100, 500, ACK | SHUT, ms=10))
    assert path.ways[0].shuts == [Shut(10 * MS, None)]
    assert path.ways[0].shuts[-1].until is None
    assert path.ways[0].shut_between(0, 25 * MS) == 15 * MS


def test_a_reset_says_nothing_of_windows() -> None:
    _, path = followed(one(5, CLIENT, 100, 500, RST | ACK | SHUT))
    assert not path.ways[0].shuts


def test_when_bytes_were_acknowledged() -> None:
    paths, _ = followed(
        one(4, BROKER, 500, 100, payload=b"ab"), one(5, BROKER, 502, 100, payload=b"cd"),
        one(6, CLIENT, 100, 502, ms=40), one(7, CLIENT, 100, 504, ms=50),
    )  # fmt: skip
    assert paths.acknowledged(4) == 40 * MS
    assert paths.acknowledged(5) == 50 * MS
    assert paths.acknowledged(7) is None


def test_what_was_sent_again_by_then() -> None:
    _, path = followed(
        one(4, BROKER, 500, 100, payload=b"ab"), one(5, BROKER, 500, 100, payload=b"ab", ms=300),
        one(6, BROKER, 500, 100, payload=b"ab", ms=900),
    )  # fmt: skip
    assert [path.ways[1].resent_by(number) for number in (4, 5, 6)] == [0, 1, 2]


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("window", [0, 1])
def test_both_readers_of_packets_see_the_window(version: int, window: int) -> None:
    tcp = struct.pack(">HHIIBBHHH", 51514, 9092, 1, 2, 0x50, ACK, window, 0, 0) + b"x"
    if version == 4:
        data = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + bytes(8) + tcp
    else:
        data = struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + bytes(32) + tcp
    segment = dissector(101)(data)
    assert segment is not None
    assert segment[3] == (ACK if window else ACK | SHUT)

    def nothing_odd(link: int, data: bytes, time: int) -> None:
        pytest.fail("an everyday packet")

    found, _, _ = segments(data, [(5, 101, 0, len(data))], 0, 0, nothing_odd)
    assert found == [(1, 5, *segment)]


def test_a_late_copy_of_a_syn_is_no_attempt() -> None:
    paths = Paths()
    client = one(1, CLIENT, 3_000_000_000, 0, SYN)
    last = one(4, CLIENT, 3_000_000_001, 501, RST)
    paths.receive_all([client, one(2, BROKER, 500, 3_000_000_001, SYN | ACK), one(3, CLIENT, 3_000_000_001, 501), last])
    paths.receive_all([one(5, CLIENT, 3_000_000_000, 0, SYN)])
    assert [(path.first_packet, path.syns) for path in paths.all()] == [(1, 1)]
