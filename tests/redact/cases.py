"""Captures that hold secrets where a redaction may overlook them, each with the secrets: `CASES`, by name."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ..traffic import RAW_IP, Talk, framed, packed, pcap
from .leaks import (
    MAC,
    PACKED,
    SECRET,
    SLL,
    WHO,
    Case,
    arp,
    batch,
    block,
    broken_batch,
    carried,
    cooked,
    described,
    dhcp,
    ethernet,
    extended,
    fetched,
    in_two,
    named,
    ng,
    oauth,
    odd,
    of,
    one_record,
    option,
    option_everywhere,
    outer,
    plain,
    produced,
    quoted,
    retransmitted,
    sasl,
    scram,
    snapshot,
    software,
    talk,
    tls,
    udp,
    wireless,
    with_options,
)


def cases() -> Iterator[tuple[str, Case]]:
    dashed, mac = (b"10-99-98-97",), (MAC,)
    for host in ("ip-10-99-98-97.ec2.internal", "ip-10-99-98-97.eu-west-1.compute.internal", "node_10_99_98_97"):
        yield f"host {host}", Case(named(host), (host[-20:].encode(), b"10-99-98-97", b"10_99_98_97"))
    yield "ssn", Case(named("ssn-078-05-1120"), (b"078-05", b"05-1120"))
    yield "phone", Case(named("call-030-12-34"), (b"030-12", b"12-34"))
    yield "hex in uuid", Case(named("550e8400-e29b-41d4-a716-446655440000"), (b"550e", b"41d4", b"716"))
    yield "letters beside an address", Case(named("h10.99.98.97x"), (b"10.99.98.97",))
    yield "address with too many digits", Case(named("10.99.98.97.1"), (b"10.99.98.97",))
    yield "client host", Case(described(f"/{WHO}"), (WHO.encode(),))
    yield "version-like", Case(named("078.05.11"), (b"078.05",))
    for size in (4, 8, 12, 16, 17, 30):
        yield f"records of {size} bytes", Case(fetched(SECRET[:size].ljust(size, b"s")), (SECRET[:size][:8],))
    yield "records with a magic", Case(fetched(SECRET + b"\2more of it"), (SECRET[:6], b"more"))
    for size in (5, 12, 16, 40):
        yield f"snapshot of {size} bytes", Case(snapshot((SECRET * 3)[:size]), (SECRET[: min(size, 6)],))
    yield "oauth list", Case(oauth({"status": "x", "scopes": ["warehouse-secret", "b"]}), (SECRET,))
    yield "oauth nested", Case(oauth({"status": "x", "a": {"b": [["warehouse-secret"]]}}), (SECRET,))
    yield "oauth key", Case(oauth({"status": "x", "warehouse-secret": "x"}), (SECRET,))
    yield "oauth number", Case(oauth({"status": "x", "ssn": 78051120}), (b"78051120",))
    yield "oauth escapes", Case(oauth({"status": "x", "a": ['"warehouse-secret']}), (SECRET,))
    yield (
        "oauth text behind",
        Case(sasl("OAUTHBEARER", (b"n,,\x01auth=Bearer ab\x01\x01", b'{"status":"x"} warehouse-secret')), (SECRET,)),
    )
    yield "scram i", Case(scram(b"warehouse-secret"), (SECRET,))
    yield "scram i and text", Case(scram(b"4096warehouse-secret"), (SECRET,))
    yield "scram i of an identifier", Case(scram(b"078051120"), (b"078051120",))
    yield "scram extension", Case(scram(b"4096,x=warehouse-secret"), (SECRET,))
    binding = b"p=warehouse-secret,,n=bob,r=abcdefgh"
    yield "scram channel binding", Case(sasl("SCRAM-SHA-256", (binding, b"e=other-error")), (SECRET,))
    yield (
        "scram tokenauth",
        Case(sasl("SCRAM-SHA-256", (b"n,,n=bob,r=abcdefgh,tokenauth=warehouse-secret", b"e=other-error")), (SECRET,)),
    )
    error = b"e=warehouse-secret"
    yield "scram e", Case(sasl("SCRAM-SHA-256", (b"n,,n=bob,r=abcdefgh", error)), (SECRET,))
    yield "software name", Case(software("10.99.98.97 warehouse-secret"), (SECRET,))
    yield "vxlan", Case(carried(lambda data: udp(4789, b"\x08\0\0\0\0\0\x07\0" + ethernet(data))), mac)
    geneve = b"\0\0\x65\x58\0\0\x07\0"
    yield "geneve", Case(carried(lambda data: udp(6081, geneve + ethernet(data))), mac)
    options = b"\x05\0\x65\x58\0\0\x07\0" + b"\1\2\3\4" + SECRET
    yield "geneve options", Case(carried(lambda data: udp(6081, options + ethernet(data))), (*mac, SECRET))
    yield "gre", Case(carried(lambda data: outer(47, b"\0\0\x65\x58" + ethernet(data))), mac)
    yield "gre key", Case(carried(lambda data: outer(47, b"\x20\0\x08\0ware" + data)), (b"ware",))
    yield "gre ip", Case(carried(lambda data: outer(47, b"\0\0\x08\0" + data)), (PACKED,))
    yield "mpls", Case(of(*(ethernet(b"\0\1\1\x40" + one.data, 0x8847) for one in plain())), (MAC, PACKED))
    pppoe = [
        ethernet(b"\x11\0\0\1" + struct.pack(">HH", len(one.data) + 2, 0x21) + one.data, 0x8864) for one in plain()
    ]
    yield "pppoe", Case(of(*pppoe), (MAC, PACKED))
    yield "vlan", Case(of(*(ethernet(b"\0\7\x08\0" + one.data, 0x8100) for one in plain())), (MAC, PACKED))
    yield "ip options", Case(option_everywhere(b"\x44\x0c\x09\x03" + PACKED * 2), (PACKED,))
    yield "record route", Case(option_everywhere(b"\x07\x0b\x0c" + PACKED * 2 + b"\0"), (PACKED,))
    yield "text in ip options", Case(option_everywhere(b"\x88\x12" + SECRET + b"\0\0"), (SECRET,))
    yield "text in tcp options", Case(option_everywhere(b"", b"\xfd\x12" + SECRET + b"\0\0"), (SECRET,))
    yield "text in a tcp timestamp", Case(option_everywhere(b"", b"\1\1\x08\x0a" + SECRET[:8]), (SECRET[:8],))
    yield "text behind tcp options' end", Case(option_everywhere(b"", b"\0\0" + SECRET + b"\0\0"), (SECRET,))
    yield "ipv6 options", Case(extended(60, b"\x1e\x10" + SECRET), (SECRET,))
    yield "ipv6 routing", Case(extended(43, b"\0\1\0\0\0\0" + SECRET), (SECRET,))
    yield "arp", Case(of(arp(), *(ethernet(one.data) for one in plain())), (MAC, PACKED))
    yield "lldp", Case(of(ethernet(SECRET + MAC + PACKED, 0x88CC)), (SECRET, MAC, PACKED))
    yield "dhcp", Case(of(ethernet(dhcp())), (SECRET, MAC, PACKED))
    yield "dns", Case(of(ethernet(udp(53, bytes(12) + b"\x10" + SECRET + PACKED))), (SECRET, PACKED))
    yield "icmp", Case(of(ethernet(quoted())), (SECRET, PACKED))
    yield "trailer", Case(of(*(ethernet(one.data) + SECRET for one in plain())), (SECRET,))
    yield "cooked", Case(of(*(cooked(one.data) for one in plain()), link=SLL), (MAC, PACKED))
    yield "ppp with text", Case(of(*(b"\xff\x03\0\x21" + one.data for one in plain()), link=9), (PACKED,))
    yield "802.11", Case(of(*(wireless(one.data) for one in plain()), link=105), (MAC, PACKED))
    yield "tls", Case(tls(), (SECRET,))
    yield "other tcp", Case(pcap(talk().send(b"GET /" + SECRET)), (SECRET,))
    yield "fin with payload", Case(odd(1), (SECRET,))
    yield "rst with payload", Case(odd(4), (SECRET,))
    yield "syn with payload", Case(odd(2), (SECRET,))
    yield "urgent", Case(odd(0x38), (SECRET,))
    yield "retransmitted", Case(retransmitted(), (SECRET[:4],))
    yield "unknown api", Case(pcap(talk().ask_bytes(999, 0, SECRET).answer_bytes(SECRET)), (SECRET,))
    yield "unknown version", Case(pcap(talk().ask("Metadata", 1, topics=[]).answer(brokers=[]).send(
        framed(struct.pack(">hhi", 3, 99, 2) + packed(b"kdbg") + SECRET))), (SECRET,))  # fmt: skip
    yield "trailing bytes", Case(pcap(talk().ask_bytes("Heartbeat", 0, packed(b"g") + bytes(4) + packed(b"m") + SECRET
        ).answer().end()), (SECRET,))  # fmt: skip
    for codec in (1, 3, 4):
        yield f"broken batch {codec}", Case(produced(broken_batch(codec)), (SECRET,))
    yield "pcapng comment", Case(ng(block(10, SECRET)), (SECRET,), ".pcapng")
    names = struct.pack("<HH", 1, 4 + len(SECRET)) + PACKED + SECRET + bytes(4)
    yield "pcapng names", Case(ng(block(4, names)), (SECRET,), ".pcapng")
    yield "pcapng custom", Case(ng(block(0xBAD, struct.pack("<I", 7) + SECRET)), (SECRET,), ".pcapng")
    interface = struct.pack("<HHI", RAW_IP, 0, 0) + option(2, SECRET)
    yield "pcapng interface", Case(ng(block(1, interface)), (SECRET,), ".pcapng")
    packet = struct.pack("<IIIII", 0, 0, 0, 4, 4) + bytes(4) + option(1, SECRET)
    yield "pcapng packet comment", Case(ng(block(6, packet)), (SECRET,), ".pcapng")
    joined = (
        talk().ask("Heartbeat", 0, group_id=f"{SECRET.decode()}-and-{SECRET.decode()}", member_id="m").answer().end()
    )
    fragments = [ethernet(piece) for one in joined.segments for piece in in_two(one.data, 56)]
    yield "fragments", Case(of(*fragments), (SECRET, MAC, PACKED))
    del fragments[2]
    yield "fragment without its other", Case(of(*fragments), (SECRET, MAC, PACKED))
    before = [("member_id", "warehouse"), ("group_instance_id", "x" * 47)]
    yield (
        "lengths that are letters",
        Case(pcap(talk().ask("Heartbeat", 4, group_id="g", **dict(before)).answer()), (b"warehouse",)),
    )
    yield "dashed", Case(named("gw-10-99-98-97"), dashed)


def more() -> dict[str, Case]:
    """Cases that were staged once the first ones left nothing."""
    found: dict[str, Case] = {}

    def add(name: str, capture: bytes, *secrets: bytes) -> None:
        found[name] = Case(capture, secrets)

    add(
        "acl principal",
        pcap(
            talk()
            .ask("DescribeAcls", 1, resource_type_filter=1)
            .answer(
                resources=[
                    {
                        "resource_type": 2,
                        "resource_name": "warehouse-secret",
                        "pattern_type": 3,
                        "acls": [
                            {
                                "principal": "User:CN=warehouse-secret,O=10-99-98-97",
                                "host": "10.99.98.97",
                                "operation": 3,
                                "permission_type": 3,
                            }
                        ],
                    }
                ]
            )
        ),
        SECRET,
        b"10.99.98.97",
        b"10-99-98-97",
    )
    add(
        "log dirs",
        pcap(
            talk()
            .ask("DescribeLogDirs", 1, topics=None)
            .answer(results=[{"error_code": 0, "log_dir": "/data/10-99-98-97/warehouse-secret", "topics": []}])
        ),
        SECRET,
        b"10-99-98-97",
    )
    add(
        "member uuid",
        pcap(
            talk()
            .ask("Heartbeat", 0, group_id="g-1-2-3", member_id="consumer-7-550e8400-e29b-41d4-a716-446655440000")
            .answer()
        ),
        b"550e8400",
        b"e29b",
        b"41d4",
        b"a716",
        b"446655",
    )
    add("qinq", of(*(ethernet(b"\0\7\x81\0\0\x08\x08\0" + o.data, 0x88A8) for o in plain())), MAC, PACKED)
    add("probe request", of(b"\x40\0\0\0" + MAC * 3 + b"\0\0" + b"\0\x10" + SECRET, link=105), MAC, SECRET[:5])
    add("802.11 no snap", of(b"\x08\x01\0\0" + MAC * 3 + b"\0\0" + SECRET * 3, link=105), MAC, SECRET[:5])
    add(
        "gre in ipv6",
        of(
            *(
                ethernet(
                    struct.pack(">IHBB", 6 << 28, len(o.data) + 18, 47, 64)
                    + bytes(15)
                    + b"\1"
                    + bytes(15)
                    + b"\2"
                    + b"\0\0\x65\x58"
                    + MAC
                    + MAC
                    + b"\x08\0"
                    + o.data,
                    0x86DD,
                )
                for o in plain()
            )
        ),
        MAC,
        PACKED,
    )
    add("gtp", carried(lambda d: udp(2152, b"\x30\xff\0\x40\0\0\0\1" + d)), PACKED, SECRET)
    add("vxlan gpe", carried(lambda d: udp(4790, b"\x0c\0\0\3\0\0\7\0" + ethernet(d))), MAC)
    add("macsec", of(ethernet(SECRET + MAC, 0x88E5)), MAC, SECRET)
    add(
        "ip options in fragments",
        of(
            *(
                ethernet(with_options(o.data[:6] + b"\x20\0" + o.data[8:], b"\x88\x12" + SECRET + b"\0\0"))
                for o in plain()
            )
        ),
        SECRET,
        PACKED,
    )
    add(
        "raw sasl",
        pcap(
            talk()
            .ask("SaslHandshake", 0, mechanism="PLAIN")
            .answer(mechanisms=["PLAIN"])
            .send(framed(b"\0warehouse-secret\0warehouse-secret"))
            .reply(framed(b""))
        ),
        SECRET,
    )
    add("gzip records", produced(batch(1, one_record(SECRET))), SECRET)
    add(
        "record headers",
        produced(batch(0, b"\x40" + b"\0\0\0\1\1\2" + b"\x20" + SECRET + b"\x0e" + SECRET[:7])),
        SECRET,
    )
    add(
        "describe configs",
        pcap(
            talk()
            .ask("DescribeConfigs", 1, resources=[{"resource_type": 4, "resource_name": "1"}])
            .answer(
                results=[
                    {
                        "error_code": 0,
                        "error_message": "warehouse-secret",
                        "resource_type": 4,
                        "resource_name": "1",
                        "configs": [
                            {
                                "name": "advertised.listeners",
                                "value": "PLAINTEXT://10.99.98.97:9092",
                                "read_only": True,
                                "config_source": 1,
                                "is_sensitive": False,
                                "synonyms": [],
                            }
                        ],
                    }
                ]
            )
        ),
        SECRET,
        b"10.99.98.97",
    )
    add(
        "software version",
        pcap(
            talk()
            .ask("ApiVersions", 3, client_software_name="x", client_software_version="1.0 warehouse-secret")
            .answer(api_keys=[])
        ),
        SECRET,
    )
    add("mptcp", option_everywhere(b"", b"\x1e\x0c" + b"\0\x81" + SECRET[:8]), SECRET[:8])
    add("tfo cookie", option_everywhere(b"", b"\x22\x0a" + SECRET[:8] + b"\1\1"), SECRET[:8])
    add("sack text", option_everywhere(b"", b"\1\1\x05\x12" + SECRET), SECRET)
    add("cipso", option_everywhere(b"\x86\x16" + b"\0\0\0\1" + SECRET), SECRET)
    add("truncated option", option_everywhere(b"", b"\x08\x14" + SECRET[:14]), SECRET[:8])
    add(
        "linux cooked v2",
        of(*(b"\x08\0\0\0\0\0\0\1\0\1\0\6" + MAC + b"\0\0" + o.data for o in plain()), link=276),
        MAC,
        PACKED,
    )
    add("radiotap", of(*(b"\0\0\x08\0\0\0\0\0" + wireless(o.data) for o in plain()), link=127), MAC, PACKED)
    add(
        "ppi",
        of(*(b"\0\0\x18\0\x69\0\0\0" + SECRET + wireless(o.data) for o in plain()), link=192),
        MAC,
        PACKED,
        SECRET,
    )
    add("unknown link", of(*(SECRET + o.data for o in plain()), link=147), SECRET, PACKED)
    add("frame relay", of(*(b"\x18\x41\x03\xcc" + o.data for o in plain()), link=107), PACKED)
    add(
        "ipv6 mapped v4",
        pcap(Talk(("::ffff:10.99.98.97", 5), ("::ffff:10.99.98.98", 9092)).ask("Heartbeat", 0, group_id="g").answer()),
        PACKED,
    )
    add("nested json text", oauth({"status": "x", "scope": {"a": ["b", {"c": "warehouse-secret"}]}}), SECRET)
    add("json after number", oauth({"status": "x", "n": [1, "warehouse-secret", 2]}), SECRET)
    add("name with mac", named("node-02-ca-fe-47-11-aa"), b"02-ca-fe", b"47-11")
    add("ip in decimal", named("h-174285409"), b"174285409")
    add("in-addr", named("97.98.99.10.in-addr.arpa"), b"97.98.99.10")
    add("utf-16", fetched(b"\0w\0a\0r\0e\0h\0o"), b"\0w\0a\0r")
    add("fetch partial batch", fetched(batch(0, one_record(SECRET))[:-8]), SECRET[:6])
    add("fetch message set partial", fetched(struct.pack(">qiIbbii", 0, 200, 7, 0, 0, -1, 100) + SECRET), SECRET)
    return found


CASES = dict(cases()) | more()
