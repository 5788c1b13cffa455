"""Sessions that were saved: read back by kdbg and by tshark they are the same exchanges, in sound TCP."""

from __future__ import annotations

import io
import resource
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.utils import RawPcapReader

import kdbg
from kdbg.capture import open_capture
from kdbg.capture.packet import ACK, FIN, SYN, endpoint, reverse
from kdbg.capture.pcap import file_header, packet_record
from kdbg.capture.write import MOST, MOST_LONG, RAW_IP, CaptureWriter, Talks, checksum
from kdbg.errors import CaptureError, CaptureRefused

from ..traffic import framed, header_bytes

CLIENT, BROKER = ("127.0.0.1", 51514), ("127.0.0.1", 9092)
CLIENT6, BROKER6 = ("::1", 51515), ("::1", 9093)
NOW = 1_795_264_200_123_456_789


def message(api: str, version: int, direction: Any, number: int, **body: Any) -> bytes:
    """A frame as it goes over the wire."""
    header = {"correlation_id": number} | ({"client_id": "kdbg"} if direction == "request" else {})
    front = header_bytes(api, version, direction, header)
    return framed(front + kdbg.encode(body, api=api, version=version, direction=direction))


def ask(number: int, topic: str = "orders") -> bytes:
    return message("Metadata", 1, "request", number, topics=[{"name": topic}])


def tell(number: int, host: str = "localhost") -> bytes:
    return message("Metadata", 1, "response", number, brokers=[{"node_id": 1, "host": host, "port": 9092}])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.pcap"


def packets(path: Path) -> Iterator[Any]:
    """The packets as scapy reads them."""
    with RawPcapReader(str(path)) as reader:
        for data, _ in reader:
            yield IP(data) if data[0] >> 4 == 4 else IPv6(data)


def tshark(path: Path, *arguments: str) -> list[str]:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-r", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


# Read back


def test_an_exchange(path: Path) -> None:
    with CaptureWriter(path) as writer:
        writer.tap(CLIENT, BROKER, True, ask(1), NOW)
        writer.tap(CLIENT, BROKER, False, tell(1), NOW + 1_500_001)
    (exchange,) = kdbg.read(path)
    assert exchange.request is not None
    assert exchange.response is not None
    assert (exchange.request.data, exchange.response.data) == (ask(1)[4:], tell(1)[4:])
    assert (exchange.peers.client, exchange.peers.broker) == (CLIENT, BROKER)
    assert (exchange.time, exchange.latency) == (NOW, 1_500_001), "to the nanosecond"
    assert exchange.all_findings() == []


def test_ipv6(path: Path) -> None:
    with CaptureWriter(path) as writer:
        writer.tap(CLIENT6, BROKER6, True, ask(1), NOW)
        writer.tap(CLIENT6, BROKER6, False, tell(1), NOW)
    (exchange,) = kdbg.read(path)
    assert (exchange.peers.client, exchange.peers.broker) == (CLIENT6, BROKER6)
    assert exchange.response is not None


@pytest.mark.parametrize(
    ("client", "broker", "shown"),
    [
        ("fe80::1%eth0", "fe80::2%eth0", ("fe80::1", "fe80::2")),
        ("::ffff:10.0.0.1", "10.0.0.2", ("::ffff:10.0.0.1", "::ffff:10.0.0.2")),
    ],
)
def test_addresses_that_no_packet_can_hold(path: Path, client: str, broker: str, shown: tuple[str, str]) -> None:
    with CaptureWriter(path) as writer:
        writer.tap((client, 1), (broker, 2), True, ask(1), NOW)
    with open_capture(path) as capture:
        flow = next(capture)[2]
    assert [ip_address(host) for host, _ in endpoint(flow)] == [ip_address(text) for text in shown]


def test_several_connections_in_turn(path: Path) -> None:
    ends = [((host, 50_000 + n), (host, 9092)) for n, host in enumerate(["127.0.0.1", "::1", "10.1.2.3"])]
    with CaptureWriter(path) as writer:
        for number in range(1, 4):
            for client, broker in ends:
                writer.tap(client, broker, True, ask(number), NOW)
        for number in range(1, 4):
            for client, broker in reversed(ends):
                writer.tap(client, broker, False, tell(number), NOW)
    exchanges = list(kdbg.read(path))
    assert len(exchanges) == 9
    for client, broker in ends:
        numbers = [e.correlation_id for e in exchanges if e.peers.client == client and e.peers.broker == broker]
        assert numbers == [1, 2, 3]
    assert all(e.response is not None and not e.all_findings() for e in exchanges)


def test_a_request_without_an_answer(path: Path) -> None:
    with CaptureWriter(path) as writer:
        writer.tap(CLIENT, BROKER, True, ask(1), NOW)
    (exchange,) = kdbg.read(path)
    assert exchange.response is None
    assert [finding.kind for finding in exchange.findings] == ["no-response"]


def test_a_large_message_is_cut_into_segments(path: Path) -> None:
    large = message("Metadata", 1, "response", 1, brokers=[{"host": "h" * 30_000}] * 9)
    with CaptureWriter(path) as writer:
        writer.tap(CLIENT, BROKER, True, ask(1), NOW)
        writer.tap(CLIENT, BROKER, False, large, NOW)
        writer.tap(CLIENT, BROKER, True, ask(2), NOW)
        writer.tap(CLIENT, BROKER, False, tell(2), NOW)
    assert [exchange.response.data for exchange in kdbg.read(path) if exchange.response] == [large[4:], tell(2)[4:]]
    sizes = [len(bytes(packet[TCP].payload)) for packet in packets(path)]
    assert max(sizes) == MOST
    assert sum(sizes) == sum(map(len, (large, tell(2), ask(1), ask(2))))


def test_nothing_said_is_a_capture_of_nothing(path: Path) -> None:
    CaptureWriter(path).close()
    assert list(kdbg.read(path)) == []
    assert path.stat().st_size == 24


Step = tuple[int, bool, int]
STEPS = st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(1, 200)), max_size=60)


@given(STEPS, st.lists(st.integers(0, 9), min_size=3, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_however_the_bytes_come(path: Path, steps: list[Step], counts: list[int]) -> None:
    """Both directions of three connections in any pieces, in any order between them: the same exchanges."""
    ends = [(CLIENT, BROKER), (CLIENT6, BROKER6), (("10.0.0.7", 40_000), ("10.0.0.8", 9092))]
    left = {
        (n, from_client): b"".join((ask if from_client else tell)(i, "t" * i) for i in range(1, count + 1))
        for n, count in enumerate(counts)
        for from_client in (True, False)
    }
    with CaptureWriter(path) as writer:
        for n, from_client, size in [*steps, *((n, side, 1 << 20) for side in (True, False) for n in range(3))]:
            data, left[n, from_client] = left[n, from_client][:size], left[n, from_client][size:]
            if data:
                writer.tap(*ends[n], from_client, data, NOW)
    exchanges = list(kdbg.read(path))
    for (client, _), count in zip(ends, counts, strict=True):
        ours = [exchange for exchange in exchanges if exchange.peers.client == client]
        assert [e.correlation_id for e in ours] == list(range(1, count + 1))
        assert [e.response.data for e in ours if e.response] == [tell(i, "t" * i)[4:] for i in range(1, count + 1)]
    assert len(exchanges) == sum(counts)


# Sound TCP


def test_the_tcp_around_it(path: Path) -> None:
    with CaptureWriter(path) as writer:
        writer.tap(CLIENT, BROKER, True, b"12345", NOW)
        writer.tap(CLIENT, BROKER, False, b"abc", NOW + 5)
    with open_capture(path) as capture:
        packets = list(capture)
    begun = {packet[2]: packet[3] for packet in packets[:2]}
    found = [
        (time - NOW, seq - begun[flow], ack - begun[reverse(flow)] if ack else 0, flags, payload)
        for _, time, flow, seq, ack, flags, payload, _ in packets
    ]
    assert begun[packets[0][2]] != begun[packets[1][2]]
    psh = 0x08
    assert found == [
        (0, 0, 0, SYN, b""),
        (0, 0, 1, SYN | ACK, b""),
        (0, 1, 1, ACK, b""),
        (0, 1, 1, psh | ACK, b"12345"),
        (5, 1, 6, psh | ACK, b"abc"),
        (5, 6, 4, FIN | ACK, b""),
        (5, 4, 7, FIN | ACK, b""),
        (5, 7, 5, ACK, b""),
    ]


@pytest.mark.parametrize("ends", ["at once", "later", "never"])
def test_a_source_port_that_is_used_again(path: Path, ends: str) -> None:
    with CaptureWriter(path) as writer:
        for number in range(1, 101):
            writer.tap(CLIENT, BROKER, True, ask(1), NOW, number)
            writer.tap(CLIENT, BROKER, False, tell(1), NOW, number)
            if ends == "at once":
                writer.ended(CLIENT, BROKER, NOW, number)
            if ends == "later" and number > 1:
                writer.ended(CLIENT, BROKER, NOW, number - 1)
    exchanges = list(kdbg.read(path))
    assert [one.peers.number for one in exchanges] == list(range(1, 101))
    assert all(one.response is not None and not one.all_findings() for one in exchanges)
    assert len(set(tshark(path, "-T", "fields", "-e", "tcp.stream"))) == 100


def test_what_comes_of_a_connection_that_had_a_successor_is_not_written_into_that(path: Path) -> None:
    with CaptureWriter(path) as writer:
        writer.tap(CLIENT, BROKER, True, ask(1), NOW, 1)
        writer.tap(CLIENT, BROKER, True, ask(7), NOW, 2)
        writer.tap(CLIENT, BROKER, False, tell(1), NOW, 1)
        writer.ended(CLIENT, BROKER, NOW, 1)
        writer.tap(CLIENT, BROKER, False, tell(7), NOW, 2)
    found = [(one.peers.number, one.correlation_id, one.response is not None) for one in kdbg.read(path)]
    assert sorted(found) == [(1, 1, False), (2, 7, True)]


def test_files_of_two_runs_put_together(path: Path) -> None:
    """As mergecap does: the first connection of both runs has the same ends."""
    data = b""
    for run in range(2):
        with CaptureWriter(path) as writer:
            writer.tap(CLIENT, BROKER, True, ask(1), NOW + run * 10_000, 1)
            writer.tap(CLIENT, BROKER, False, tell(1), NOW + run * 10_000, 1)
        data += path.read_bytes()[24 * run :]
    path.write_bytes(data)
    assert [one.peers.number for one in kdbg.read(path)] == [1, 2]


def test_checksums_are_those_that_scapy_computes(path: Path) -> None:
    with CaptureWriter(path) as writer:
        for client, broker in ((CLIENT, BROKER), (CLIENT6, BROKER6)):
            for size in (1, 2, 3, 999, MOST - 1, MOST + 1):
                writer.tap(client, broker, True, bytes(range(256)) * (size // 256) + bytes(size % 256), NOW)
    for packet in packets(path):
        anew = packet.copy()
        del anew[TCP].chksum
        if IP in anew:
            del anew[IP].chksum
        assert bytes(anew) == bytes(packet)


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        ("0001f203f4f5f6f7", 0x220D),  # RFC 1071's own example
        ("4500003c1c46400040060000ac100a63ac100a0c", 0xB1E6),
        ("ffff", 0),  # RFC 1624: never 0xffff
        ("0102ff", 0xFFFF - 0x0102 - 0xFF00 + 0xFFFF),
    ],
)
def test_the_internet_checksum(data: str, wanted: int) -> None:
    assert checksum(bytes.fromhex(data)) == wanted % 0xFFFF


@given(st.binary(min_size=1, max_size=300))
def test_the_checksum_makes_a_sum_of_ones(data: bytes) -> None:
    """As a receiver proves it."""
    padded = data + bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(padded) // 2}H", padded)) + checksum(data)
    assert total % 0xFFFF == 0


def test_sequence_numbers_wrap(path: Path) -> None:
    with CaptureWriter(path) as writer:
        writer.tap(CLIENT, BROKER, True, ask(1), NOW)
        talk = writer._talks._talks[CLIENT, BROKER]
        talk._used[0] = (1 << 32) + 4
        writer.tap(CLIENT, BROKER, True, b"behind", NOW)
    with open_capture(path) as capture:
        assert [seq for _, _, _, seq, *_, payload, _ in capture if payload == b"behind"] == [4]


# tshark


def test_tshark_sees_the_same_exchanges(path: Path) -> None:
    with CaptureWriter(path) as writer:
        for client, broker in ((CLIENT, ("127.0.0.1", 9092)), (CLIENT6, ("::1", 9092))):
            for number in (1, 2, 3):
                writer.tap(client, broker, True, ask(number), NOW)
                writer.tap(client, broker, False, tell(number, "h" * 10_000 * number), NOW + 1000)
    fields = ["ip.version", "tcp.srcport", "kafka.correlation_id"]
    lines = tshark(path, "-Y", "kafka", "-T", "fields", *(word for name in fields for word in ("-e", name)))
    wanted = [
        (e.peers.client if half.direction == "request" else e.peers.broker, e.correlation_id)
        for e in kdbg.read(path)
        for half in (e.request, e.response)
        if half
    ]
    seen = [(int(port), int(number)) for _, port, number in (line.split("\t") for line in lines)]
    assert sorted(seen) == sorted((end[1], number) for end, number in wanted)


def test_tshark_finds_nothing_odd_in_the_tcp(path: Path) -> None:
    with CaptureWriter(path) as writer:
        for number in range(1, 30):
            writer.tap(CLIENT, BROKER, True, ask(number), NOW + number)
            writer.tap(CLIENT6, BROKER6, True, ask(number, "x" * 20_000), NOW + number)
            writer.tap(CLIENT, BROKER, False, tell(number, "x" * 30_000) * 5, NOW + number)
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    assert (
        tshark(path, *checks, "-Y", "tcp.analysis.flags || tcp.checksum.status == 0 || ip.checksum.status == 0") == []
    )
    ends = tshark(path, "-Y", "tcp.flags.fin == 1", "-T", "fields", "-e", "tcp.stream")
    assert sorted(ends) == ["0", "0", "1", "1"]


def test_tshark_reads_times_to_the_nanosecond(path: Path) -> None:
    with CaptureWriter(path) as writer:
        writer.tap(CLIENT, BROKER, True, ask(1), NOW)
    (time,) = tshark(path, "-Y", "kafka", "-T", "fields", "-e", "frame.time_epoch")
    assert time.startswith("1795264200.123456789")


# Files


def test_it_can_be_read_while_it_is_written(path: Path) -> None:
    """So that a session that was killed is not lost."""
    with CaptureWriter(path) as writer:
        writer.tap(CLIENT, BROKER, True, ask(1), NOW)
        writer.tap(CLIENT, BROKER, False, tell(1), NOW)
        (exchange,) = kdbg.read(path)
        assert exchange.response is not None


def test_closing_twice_writes_once(path: Path) -> None:
    writer = CaptureWriter(path)
    writer.tap(CLIENT, BROKER, True, ask(1), NOW)
    writer.close()
    size = path.stat().st_size
    writer.close()
    writer.tap(CLIENT, BROKER, True, ask(2), NOW)
    assert path.stat().st_size == size, "what comes after the end is not written"


def test_a_path_as_text(path: Path) -> None:
    with CaptureWriter(str(path)) as writer:
        assert writer.name == str(path)


@pytest.mark.parametrize("name", ["", "none/session.pcap"])
def test_a_file_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(CaptureRefused, match=r"cannot be written: (No such file|Is a directory)"):
        CaptureWriter(tmp_path / name)


def test_a_full_disk() -> None:
    with pytest.raises(CaptureRefused, match="/dev/full: cannot be written: No space left on device"):
        CaptureWriter("/dev/full")


def test_a_disk_that_fills_up(path: Path) -> None:
    writer = CaptureWriter(path)
    with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123 - unbuffered
        writer._file.close()
        writer._file = full
        with pytest.raises(CaptureError, match="cannot be written further: No space left"):
            writer.tap(CLIENT, BROKER, True, ask(1), NOW)
        writer.tap(CLIENT, BROKER, True, ask(1), NOW)  # the error was raised, and once is enough
        writer.close()


def test_a_full_disk_leaves_whole_packets(path: Path) -> None:
    """What the system took of the last packet is taken away."""
    writer = CaptureWriter(path)
    writer.tap(CLIENT, BROKER, True, ask(1), NOW)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    signals = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 40, limits[1]))
    try:
        with pytest.raises(CaptureError, match="cannot be written further: File too large"):
            writer.tap(CLIENT, BROKER, True, ask(2), NOW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, signals)
    writer.close()
    assert path.read_bytes() == before


def test_writing_does_not_import_scapy(path: Path) -> None:
    code = "import sys; from kdbg.capture.write import CaptureWriter; CaptureWriter(sys.argv[1]).close()"
    code += "; sys.exit('scapy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 0


def test_a_file_that_takes_a_few_bytes_at_a_time(path: Path) -> None:
    class Slow(io.FileIO):
        def write(self, data: Any, /) -> int:
            return super().write(bytes(data[:7]))

    with CaptureWriter(path) as whole:
        whole.tap(CLIENT, BROKER, True, ask(1), NOW)
    expected = path.read_bytes()
    with CaptureWriter(path) as writer:
        writer._file.close()
        writer._file = Slow(path, "wb")
        writer._append(expected[:24])
        writer.tap(CLIENT, BROKER, True, ask(1), NOW)
    assert path.read_bytes() == expected


def test_a_new_file_is_its_owners_alone(path: Path) -> None:
    """There may be passwords in it."""
    CaptureWriter(path).close()
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_that_was_there_becomes_its_owners_alone(path: Path) -> None:
    path.write_bytes(b"anything")
    path.chmod(0o644)
    CaptureWriter(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


@cache
def many_and_a_long_one() -> bytes:
    return b"".join(ask(number) for number in range(9000)) + ask(9000, "t" * 200)


@pytest.mark.parametrize(("client", "broker"), [(CLIENT, BROKER), (CLIENT6, BROKER6)])
@pytest.mark.parametrize("plain", [False, True])
def test_packets_in_parts_are_those_that_are_written_and_plain_ones_are_fewer(
    client: Any, broker: Any, plain: bool
) -> None:
    """kdbg reads both the same, though the length of a long one stands nowhere in it."""
    sent = many_and_a_long_one()
    assert len(sent) > MOST_LONG
    whole = list(Talks(plain=plain).packets(client, broker, True, sent))
    parts = list(Talks(plain=plain).parted(client, broker, True, memoryview(sent)))
    assert [head + payload for head, payload in parts] == whole
    assert len(whole) == 3 + -(-len(sent) // (MOST_LONG if plain else MOST))
    file = file_header(RAW_IP) + b"".join(packet_record(NOW, packet) for packet in whole)
    with open_capture(io.BytesIO(file)) as capture:
        assert b"".join(packet[6] for packet in capture) == sent
    with kdbg.read(io.BytesIO(file)) as reading:
        assert sum(1 for exchange in reading) == 9001
