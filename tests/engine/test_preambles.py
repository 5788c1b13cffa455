"""Words with a proxy before Kafka: passed over, named, and none of their secrets shown; by the RFCs' own layouts."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdbg
from kdbg.exchanges.engine.foreign import SIGNATURE, PreambleEnd, begins
from kdbg.exchanges.messages.peers import Via

from ..cases import for_each
from ..cli.calls import call
from ..traffic import Talk, client_hello, pcap

GREETING, TO_NAME = b"\x05\x02\x00\x02", b"\x05\x01\x00\x03\x07kafka-1" + struct.pack(">H", 9092)
REACHED = b"\x05\x00\x00\x01\x0a\x00\x00\x09" + struct.pack(">H", 40000)
LOGIN = b"\x01\x04user\x0dhunter2hunter"
V2_TCP4 = (
    SIGNATURE
    + struct.pack(">BBH", 0x21, 0x11, 12)
    + bytes([203, 0, 113, 7, 10, 0, 0, 2])
    + struct.pack(">HH", 5555, 9092)
)
V2_TCP6 = (
    SIGNATURE + struct.pack(">BBH", 0x21, 0x21, 36 + 5) + bytes(15) + b"\x01" + bytes(15) + b"\x02"
    + struct.pack(">HH", 5555, 9092) + b"\x04\x00\x02ab"
)  # fmt: skip
ASK = b"CONNECT kafka-1:9092 HTTP/1.1\r\nHost: kafka-1:9092\r\nProxy-Authorization: Basic aHVudGVyMg==\r\n\r\n"


class Case(NamedTuple):
    """What is said in turns, the client first; and what it tells."""

    turns: list[bytes]
    via: Via


CASES = {
    "SOCKS5": Case([b"\x05\x01\x00", b"\x05\x00", TO_NAME, REACHED], Via("SOCKS5", target="kafka-1:9092")),
    "SOCKS5 with a password": Case(
        [GREETING, b"\x05\x02", LOGIN, b"\x01\x00", TO_NAME, REACHED], Via("SOCKS5", target="kafka-1:9092")
    ),
    "SOCKS5 to an address": Case(
        [GREETING, b"\x05\x00", b"\x05\x01\x00\x01\x0a\x00\x00\x09" + struct.pack(">H", 9092), REACHED],
        Via("SOCKS5", target="10.0.0.9:9092"),
    ),
    "SOCKS5 to an IPv6 address": Case(
        [GREETING, b"\x05\x00", b"\x05\x01\x00\x04" + bytes(15) + b"\x01" + struct.pack(">H", 9092), REACHED],
        Via("SOCKS5", target="[::1]:9092"),
    ),
    "HTTP CONNECT": Case(
        [ASK, b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n"], Via("HTTP CONNECT", target="kafka-1:9092")
    ),
    "HTTP CONNECT, a login asked for": Case(
        [b"CONNECT kafka-1:9092 HTTP/1.1\r\n\r\n", b"HTTP/1.1 407 No\r\nContent-Length: 5\r\n\r\nhello", ASK,
         b"HTTP/1.0 200 OK\r\n\r\n"], Via("HTTP CONNECT", target="kafka-1:9092"),
    ),
    "PROXY v1": Case(
        [b"PROXY TCP4 203.0.113.7 10.0.0.2 5555 9092\r\n"],
        Via("PROXY protocol v1", "203.0.113.7:5555", "10.0.0.2:9092"),
    ),
    "PROXY v1 over IPv6": Case(
        [b"PROXY TCP6 2001:db8::7 ::2 5555 9092\r\n"], Via("PROXY protocol v1", "[2001:db8::7]:5555", "[::2]:9092")
    ),
    "PROXY v1 unknown": Case([b"PROXY UNKNOWN\r\n"], Via("PROXY protocol v1")),
    "PROXY v2": Case([V2_TCP4], Via("PROXY protocol v2", "203.0.113.7:5555", "10.0.0.2:9092")),
    "PROXY v2 over IPv6, with more": Case([V2_TCP6], Via("PROXY protocol v2", "[::1]:5555", "[::2]:9092")),
    "PROXY v2 of the balancer itself": Case([SIGNATURE + b"\x20\x00\x00\x00"], Via("PROXY protocol v2")),
}  # fmt: skip
every_case = for_each("case", CASES.values(), ids=CASES)


def spoken(turns: list[bytes], most: int = 1400) -> Talk:
    talk = Talk(most=most)
    for number, turn in enumerate(turns):
        (talk.reply if number % 2 else talk.send)(turn)
    return talk


def kafka(talk: Talk) -> Talk:
    talk.ask("Metadata", 1, topics=[{"name": "orders"}]).answer(brokers=[{"node_id": 1, "host": "b", "port": 9}])
    return talk.ask("Heartbeat", 0, group_id="g").answer(error_code=27).end()


def read(talk: Talk) -> kdbg.Reading[kdbg.Exchange]:
    return kdbg.read_capture(io.BytesIO(pcap(talk)))


@every_case
@for_each("most", [1400, 3, 1])
def test_kafka_behind_it_is_decoded_and_it_is_named(case: Case, most: int) -> None:
    reading = read(kafka(spoken(case.turns, most)))
    found = list(reading)
    assert [(one.api.name, one.answered, one.all_findings()) for one in found if one.api] == [
        ("Metadata", True, []), ("Heartbeat", True, []),
    ]  # fmt: skip
    assert {one.peers.via for one in found} == {case.via}
    assert reading.findings == ()


@every_case
def test_what_speaks_tls_behind_it_is_said_to(case: Case) -> None:
    talk = spoken(case.turns)
    talk.send(client_hello("kafka.example")).end()
    reading = read(talk)
    assert list(reading) == []
    ((_, finding),) = reading.findings
    assert finding.kind == "not-decrypted"
    assert "kafka.example" in str(finding)


@pytest.mark.parametrize("format", ["tree", "json", "hex", "summary"])
@pytest.mark.parametrize("words", [[], ["--show-secrets"], ["--jobs", "2"]], ids=" ".join)
def test_it_is_shown_without_its_password(format: str, words: list[str], tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(kafka(spoken(CASES["SOCKS5 with a password"].turns))))
    outcome = call("decode", path, "-f", format, *words)
    assert outcome.status == 0
    assert "hunter2" not in outcome.out + outcome.err
    if format in ("tree", "hex"):
        assert "connection c1 · via SOCKS5 proxy to kafka-1:9092\n" in outcome.out
    if format == "json":
        told = {"protocol": "SOCKS5", "source": None, "target": "kafka-1:9092"}
        assert [line["connection"]["proxy"] for line in outcome.lines] == [told, told]


def test_a_redacted_capture_holds_no_password(tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(kafka(spoken(CASES["SOCKS5 with a password"].turns))))
    assert call("redact", path, f"{path}.out").status == 0
    assert b"hunter2" not in Path(f"{path}.out").read_bytes()


@for_each(
    ("turns", "said"),
    [
        ([GREETING, b"\x05\xff"], "a SOCKS5 proxy that requires another authentication method"),
        ([GREETING, b"\x05\x02", LOGIN, b"\x01\x01"], "a SOCKS5 proxy that rejected the user name and password"),
        ([GREETING, b"\x05\x00", TO_NAME, b"\x05\x05\x00\x01" + bytes(6)],
         "a SOCKS5 proxy that failed to connect to kafka-1:9092: connection refused"),
        ([ASK, b"HTTP/1.1 403 Forbidden\r\n\r\n"],
         "an HTTP proxy that failed to connect to kafka-1:9092: status 403"),
        ([b"PROXY TCP4 10.0.0.1 10.0.0.2 51514 9092\r\n", b""], ""),
        ([b"PROXY TCP4 10.0.0.1\r\n", b"no"], "a PROXY protocol header"),
    ],
)  # fmt: skip
def test_what_is_refused_or_broken_is_told(turns: list[bytes], said: str) -> None:
    reading = read(spoken(turns).end())
    assert list(reading) == []
    assert [
        str(finding).removeprefix("not-kafka: ").removesuffix("; not decoded") for _, finding in reading.findings
    ] == [said] * bool(said)
    assert "hunter2" not in str(reading.findings)


def test_after_a_gap_in_it_kafka_is_found_all_the_same() -> None:
    talk = Talk().send(ASK[:30]).lose(40)
    talk.send(ASK[70:]).reply(b"HTTP/1.1 200 OK\r\n\r\n")
    assert len(list(read(kafka(talk)))) == 2


@given(st.binary(max_size=60), st.binary(max_size=60), st.sampled_from([b"\x05\x01\x00", ASK, b"PROXY ", SIGNATURE]))
def test_any_bytes_are_read_or_not(sent: bytes, answered: bytes, front: bytes) -> None:
    found = begins(front + sent, b"\x05" + answered)
    assert found is not None
    over = found(front + sent, b"\x05" + answered)
    if isinstance(over, PreambleEnd):
        assert over.sent <= len(front + sent)
        assert over.answered <= len(answered) + 1
