"""`kdbg send` of bytes as they are and of captured requests: --raw and --from."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .calls import CAPTURES, Outcome
from .peers import API_VERSIONS, peer

Cli = Callable[..., Outcome]


class TestBytes:
    """--raw and --from."""

    def test_a_raw_request_and_its_answer_are_an_exchange(self, send: Cli) -> None:
        outcome = send("--raw", API_VERSIONS, "-f", "json")
        (line,) = outcome.lines
        assert line["api"] == "ApiVersions"
        assert line["response"]["body"]["error_code"] == 0
        assert outcome.status == 0
        assert "responded with" in outcome.closing

    def test_an_unknown_version_and_its_refusal(self, cli: Cli) -> None:
        """As Kafka brokers answer ApiVersions v99: in version 0, with error 35 and the versions they know (KIP-511)."""

        def refuse(connection: socket.socket) -> None:
            connection.recv(4096)
            connection.sendall(bytes.fromhex("00000010 00000001 0023 00000001 0012 0000 0005"))

        with peer(refuse) as broker:
            (line,) = cli("send", "--raw", "0000000b0012006300000001ffff00", "-f", "json", "--broker", broker).lines
        assert line["api_version"] == 99
        assert line["response"]["body"]["error_code"] == 35

    def test_an_answer_comes_with_its_first_byte(self, cli: Cli) -> None:
        halfway: list[float] = []

        def slowly(connection: socket.socket) -> None:
            connection.recv(4096)
            connection.sendall(bytes.fromhex("00000010 00000001"))
            time.sleep(0.03)
            halfway.append(time.time())
            connection.sendall(bytes.fromhex("0023 00000001 0012 0000 0005"))

        with peer(slowly) as broker:
            (line,) = cli("send", "--raw", API_VERSIONS, "-f", "json", "--broker", broker).lines
        assert line["response"]["time"] <= halfway[0]
        assert line["latency_ms"] / 1000 == pytest.approx(line["response"]["time"] - line["request"]["time"], abs=1e-5)

    def test_a_file_of_hex(self, send: Cli, tmp_path: Path) -> None:
        (tmp_path / "request.hex").write_text("0000000a 0012 0000 00000001 ffff\n")
        assert send("--raw", f"@{tmp_path / 'request.hex'}", "-f", "json").lines[0]["api"] == "ApiVersions"

    def test_what_is_no_request_is_explained(self, send: Cli) -> None:
        outcome = send("--raw", "00000004ffffffff", "--timeout", 1)
        assert outcome.out.startswith("sent · 8 bytes")
        assert re.search("closed the connection without a response|sent no response", outcome.closing)
        assert outcome.status == 1

    def test_half_a_request_is_waited_for_in_vain(self, send: Cli) -> None:
        started = time.monotonic()
        outcome = send("--raw", API_VERSIONS[:-4], "--timeout", 0.5)
        assert time.monotonic() - started < 5
        assert "sent no response" in outcome.closing
        assert outcome.status == 1

    @pytest.mark.parametrize("answer", [b"\0", b"\0\0\0\x10\0\0", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\0"])
    def test_what_is_no_answer_is_shown_all_the_same(self, cli: Cli, answer: bytes) -> None:
        def speak(connection: socket.socket) -> None:
            connection.recv(4096)
            connection.sendall(answer)

        with peer(speak) as broker:
            for sent in (API_VERSIONS, "00000004ffffffff"):
                outcome = cli("send", "--raw", sent, "--broker", broker, "--timeout", 1, "-f", "hex")
                assert f"responded with {len(answer)} byte" in outcome.closing
                assert answer[:4].hex(" ") in outcome.out

    def test_a_captured_request_is_sent_again_changed(self, send: Cli) -> None:
        capture = CAPTURES / "first-contact.pcap"
        outcome = send("--from", f"{capture}#{number_of('Metadata')}", "-f", "json", "--set", "topics[0].name=other")
        (line,) = outcome.lines
        assert line["api"] == "Metadata"
        assert line["request"]["body"]["topics"][0]["name"] == "other"
        assert line["response"]["body"]["topics"][0]["name"] == "other"

    def test_checksums_follow_what_was_set(self, send: Cli) -> None:
        source = f"{CAPTURES / 'first-contact.pcap'}#{number_of('Produce')}"
        (same,) = send("--from", source, "-f", "json", "--direct").lines
        path = "topic_data[0].partition_data[0].records[0].records[0].value"
        (changed,) = send("--from", source, "-f", "json", "--direct", "--set", f"{path}=something else").lines
        was, now = (batches(line)[0] for line in (same, changed))
        assert now["records"][0]["value"] == "something else"
        assert now["crc"] != was["crc"]
        assert changed["notes"] == same["notes"] == []


def number_of(api: str) -> int:
    """The number of the first request of an API in the capture of a first contact."""
    import kdbg

    exchanges = kdbg.read(CAPTURES / "first-contact.pcap")
    return next(exchange.number for exchange in exchanges if exchange.api is not None and exchange.api.name == api)


def batches(line: Any) -> Any:
    """The record set of a Produce request."""
    return line["request"]["body"]["topic_data"][0]["partition_data"][0]["records"]
