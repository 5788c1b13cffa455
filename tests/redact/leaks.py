"""How captures are made that hold secrets where a redaction may overlook them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import kdbg
from kdbg.capture import frames
from kdbg.protocol.wire.records.compression import compress

from ..traffic import RAW_IP, START, Talk, client_hello, ip, packed, pcap
from .seen import seen

WHO, WHERE = "10.99.98.97", "10.99.98.98"
SECRET = b"warehouse-secret"
PACKED = bytes([10, 99, 98, 97])
MAC = bytes.fromhex("02cafe4711aa")
ETHERNET, SLL = 1, 113


class Case(NamedTuple):
    """A capture, and what must not be found in it once it is redacted."""

    capture: bytes
    secrets: tuple[bytes, ...]
    suffix: str = ".pcap"

    @property
    def is_of_names(self) -> bool:
        """Whether it is about texts alone, which are replaced without `--addresses` as well."""
        return not any(one in (MAC, PACKED) for one in self.secrets)

    def left_in(self, made: Path) -> list[bytes]:
        """Return the secrets that are left in a redacted capture."""
        data = [made.read_bytes().lower(), *(one.lower() for one in seen(made).inside)]
        return [one for one in self.secrets if any(one.lower() in piece for piece in data)]


def of(*frames: bytes, link: int = ETHERNET) -> bytes:
    """A capture of these frames."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, link)
    return head + b"".join(struct.pack("<IIII", START + i, 0, len(one), len(one)) + one for i, one in enumerate(frames))


def talk(**more: Any) -> Talk:
    return Talk((WHO, 51514), (WHERE, 9092), **more)


def ethernet(packet: bytes, kind: int = 0x0800) -> bytes:
    return MAC + MAC + struct.pack(">H", kind) + packet


def carried(wrap: Callable[[bytes], bytes]) -> bytes:
    """A capture of an exchange whose IP packets are put into others."""
    one = talk().ask("Heartbeat", 0, group_id=SECRET.decode(), member_id="m").answer().end()
    return of(*(ethernet(wrap(segment.data)) for segment in one.segments))


def outer(protocol: int, body: bytes) -> bytes:
    made = ip("192.0.2.7", "192.0.2.8", body)
    return made[:9] + bytes([protocol]) + made[10:]


def udp(port: int, body: bytes) -> bytes:
    return outer(17, struct.pack(">HHHH", 50_000, port, 8 + len(body), 0) + body)


def with_options(packet: bytes, ip_options: bytes = b"", tcp_options: bytes = b"") -> bytes:
    """An IPv4 packet with TCP in it, with options, whose bytes are as many as four times some number."""
    body = packet[20:]
    tcp = body[:12] + bytes([(5 + len(tcp_options) // 4) << 4]) + body[13:20] + tcp_options + body[20:]
    total = struct.pack(">H", 20 + len(ip_options) + len(tcp))
    return bytes([0x45 + len(ip_options) // 4]) + packet[1:2] + total + packet[4:20] + ip_options + tcp


def in_two(packet: bytes, place: int) -> list[bytes]:
    """The two fragments of an IPv4 packet, of which the second begins with this byte of its payload."""
    cut = 20 + place
    first = packet[:2] + struct.pack(">HHH", cut, 7, 0x2000) + packet[8:cut]
    rest = packet[cut:]
    return (
        [first, packet[:2] + struct.pack(">HHH", 20 + len(rest), 7, place // 8) + packet[8:20] + rest]
        if rest
        else [packet]
    )


def named(host: str) -> bytes:
    """A capture of Metadata that names a host."""
    one = talk().ask("Metadata", 1, topics=[])
    return pcap(one.answer(brokers=[{"node_id": 1, "host": host, "port": 9092}]).end())


def fetched(records: bytes, version: int = 4) -> bytes:
    """A capture of a Fetch whose record set are these bytes."""
    one = talk().ask("Fetch", version, topics=[{"topic": "t", "partitions": [{"partition": 0}]}])
    part = struct.pack(">ihqqii", 0, 0, 5, 5, -1, len(records)) + records
    body = struct.pack(">ii", 0, 1) + packed(b"t") + struct.pack(">i", 1) + part
    return pcap(one.answer_bytes(body).end())


def snapshot(data: bytes) -> bytes:
    one = talk().ask("FetchSnapshot", 0, topics=[{"name": "__cluster_metadata", "partitions": [{"partition": 0}]}])
    part: dict[str, Any] = {"index": 0, "size": 10_000, "position": 5000, "unaligned_records": b""}
    body = kdbg.encode(
        {"topics": [{"name": "__cluster_metadata", "partitions": [part]}]},
        api="FetchSnapshot", version=0, direction="response",
    )  # fmt: skip
    at = body.rindex(b"\1\0\0\0") if b"\1\0\0\0" in body[-5:] else len(body) - 4
    return pcap(one.answer_bytes(body[:at] + bytes([len(data) + 1]) + data + body[at + 1 :]).end())


def sasl(mechanism: str, *tokens: tuple[bytes, bytes]) -> bytes:
    one = talk().ask("SaslHandshake", 1, mechanism=mechanism).answer(mechanisms=[mechanism])
    for sent, answered in tokens:
        one.ask("SaslAuthenticate", 0, auth_bytes=sent).answer(auth_bytes=answered)
    return pcap(one.end())


def oauth(error: object) -> bytes:
    return sasl("OAUTHBEARER", (b"n,,\x01auth=Bearer abcdef\x01\x01", json.dumps(error).encode()))


def scram(iterations: bytes) -> bytes:
    first = b"r=abcdefghijklmnop,s=c2FsdHNhbHQ=,i=" + iterations
    return sasl("SCRAM-SHA-256", (b"n,,n=bob,r=abcdefgh", first))


def retransmitted() -> bytes:
    """A message behind a plain one, of whose segment a first copy with other bytes at its size is in the capture."""
    one = talk().ask("Metadata", 1, topics=[]).answer(brokers=[])
    whole = len(one.segments)
    one.ask("Heartbeat", 0, group_id="group", member_id="m")
    last = one.segments[whole]
    other = last.data[:40] + SECRET[:4] + last.data[44:]
    one.segments.append(last._replace(data=other, at=last.at))
    return pcap(one.answer().end())


def produced(data: bytes, version: int = 3) -> bytes:
    """A capture of a Produce whose record set are these bytes."""
    body = struct.pack(">hhii", -1, 1, 1000, 1) + packed(b"topic") + struct.pack(">iiI", 1, 0, len(data)) + data
    return pcap(talk().ask_bytes("Produce", version, body).answer().end())


def broken_batch(codec: int) -> bytes:
    """A batch whose compressed bytes are cut off in the middle, with a secret right behind."""
    packed_records = compress(codec, SECRET * 4)[:-9] + SECRET
    tail = struct.pack(">hiqqqhii", codec, 0, 0, 0, -1, -1, -1, 1) + packed_records
    return struct.pack(">qiibI", 0, len(tail) + 9, 0, 2, 0) + tail


def ng(*more: bytes) -> bytes:
    """A pcapng file of a small exchange with other blocks in it."""
    one = talk().ask("Heartbeat", 0, group_id="group", member_id="m").answer().end()
    packets = [frames.enhanced(0, (START + i) * 10**9, one.data, len(one.data)) for i, one in enumerate(one.segments)]
    return frames.section() + frames.interface(RAW_IP) + b"".join(more) + b"".join(packets)


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def option(code: int, data: bytes) -> bytes:
    return struct.pack("<HH", code, len(data)) + data + bytes(-len(data) % 4) + bytes(4)


def arp(kind: int = 0x0806) -> bytes:
    return ethernet(struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + (MAC + PACKED) * 2, kind)


def dhcp() -> bytes:
    return udp(67, bytes(12) + PACKED * 2 + bytes(8) + MAC + SECRET)


def quoted() -> bytes:
    """ICMP's "port unreachable" with the packet that it is about."""
    return outer(1, b"\x03\x03\0\0\0\0\0\0" + talk().ask("Heartbeat", 0, group_id=SECRET.decode()).segments[-1].data)


def extended(header: int, data: bytes) -> bytes:
    """An exchange over IPv6 with an extension header that holds these bytes, padded to whole eights."""
    one = Talk(("2001:db8::1", 51514), ("2001:db8::2", 9092)).ask("Heartbeat", 0, group_id="g").answer().end()
    data += bytes((-len(data) - 2) % 8)
    more = bytes([6, (len(data) + 2) // 8 - 1]) + data
    found = []
    for segment in one.segments:
        whole = segment.data
        length = struct.pack(">H", len(whole) - 40 + len(more))
        found.append(ethernet(whole[:4] + length + bytes([header]) + whole[7:40] + more + whole[40:], 0x86DD))
    return of(*found)


def option_everywhere(ip_options: bytes = b"", tcp_options: bytes = b"") -> bytes:
    return carried(lambda data: with_options(data, ip_options, tcp_options))


def plain() -> list[Any]:
    return talk().ask("Heartbeat", 0, group_id="group", member_id="m").answer().end().segments


def described(host: str) -> bytes:
    member = {"member_id": "m", "client_id": "c", "client_host": host}
    one = talk().ask("DescribeGroups", 0, groups=["group"])
    return pcap(one.answer(groups=[{"group_id": "group", "members": [member]}]).end())


def software(name: str) -> bytes:
    one = talk().ask("ApiVersions", 3, client_software_name=name, client_software_version="1.0")
    return pcap(one.answer(api_keys=[]).end())


def cooked(data: bytes) -> bytes:
    return struct.pack(">HHH", 4, 1, 6) + MAC + b"\0\0" + b"\x08\0" + data


def wireless(data: bytes) -> bytes:
    return b"\x08\x01\0\0" + MAC * 3 + b"\0\0" + bytes.fromhex("aaaa030000000800") + data


def tls() -> bytes:
    one = talk().send(client_hello(SECRET.decode()))
    return pcap(one.reply(b"\x16\x03\x03\0\x20" + SECRET * 2))


def odd(flags: int) -> bytes:
    """A packet with these flags and bytes that belong to no exchange."""
    one = talk().ask("Heartbeat", 0, group_id="group", member_id="m").answer()
    one._packet(0, flags | 0x10 * (flags != 2), SECRET)
    return pcap(one)


def batch(codec: int, records: bytes, count: int = 1) -> bytes:
    """A record batch; its checksum is wrong."""
    tail = struct.pack(">hiqqqhii", codec, count - 1, 0, 0, -1, -1, -1, count)
    tail += compress(codec, records) if codec else records
    return struct.pack(">qiibI", 0, len(tail) + 9, 0, 2, 0) + tail


def one_record(value: bytes) -> bytes:
    body = b"\0\0\0\1" + bytes([2 * len(value)]) + value + b"\0"
    return bytes([2 * len(body)]) + body
