"""JSON Lines, by DESIGN.md's contract: field by field, lossless, one line an exchange."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kdbg
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.message import read
from kdbg.protocol import grammars
from kdbg.protocol.grammars.errors import error_name
from kdbg.protocol.wire.language import Direction
from kdbg.protocol.wire.readings.secrets import Hidden
from kdbg.views.render.jsonlines import dump, json_body, json_line, text
from kdbg.views.render.style import Look

from ..cases import by_day, for_each
from ..traffic import START, Talk, framed, pcap

MAIN = Path(__file__).resolve().parents[2]
CAPTURES = sorted((MAIN / "captures").glob("*.pcap*"))
CLEAN = {"known-variant", "unknown-tag", "invalid-utf8", "non-minimal-varint"}
"""Findings of messages that were read whole."""


def objects(*talks: Talk) -> list[Any]:
    exchanges = kdbg.read(io.BytesIO(pcap(*talks)))
    return [json.loads(json_line(exchange)) for exchange in exchanges]


class TestContract:
    def test_an_exchange_field_by_field(self) -> None:
        (found,) = objects(Talk(client_id="x").ask("Metadata", 1, topics=[{"name": "t"}]).answer(controller_id=2))
        assert found == {
            "connection": {"client": "10.0.0.1:51514", "broker": "10.0.0.2:9092", "id": 1},
            "api": "Metadata", "api_key": 3, "api_version": 1, "number": 1, "correlation_id": 1,
            "client_id": "x", "latency_ms": 1.0, "errors": [], "notes": [], "findings": [],
            "request": {
                "time": pytest.approx(START + 0.002, abs=1e-6), "time_utc": "2026-11-21T12:30:00.002000000Z",
                "packets": [3, 3], "size": 22,
                "body": {"topics": [{"name": "t"}]},
            },
            "response": {
                "time": pytest.approx(START + 0.003, abs=1e-6), "time_utc": "2026-11-21T12:30:00.003000000Z",
                "packets": [4, 4], "size": 20,
                "body": {"brokers": [], "controller_id": 2, "topics": []},
            },
        }  # fmt: skip
        assert list(found) == [
            "connection", "api", "api_key", "api_version", "number", "correlation_id", "client_id", "latency_ms",
            "errors", "notes", "findings", "request", "response",
        ]  # fmt: skip

    def test_a_request_without_response_and_a_response_without_request(self) -> None:
        first, *rest = objects(Talk().ask("Metadata", 1).answer().reply(framed(b"\0\0\0\x09abc")).ask("Metadata", 0))
        last, orphan = sorted(rest, key=lambda found: found["api"] is None)
        assert first["latency_ms"] == 1.0
        names = ("api", "api_key", "api_version", "correlation_id")
        assert [orphan[name] for name in names] == [None, None, None, 9]
        assert (orphan["request"], orphan["latency_ms"], orphan["client_id"]) == (None, None, None)
        assert orphan["response"]["body"] is None
        assert orphan["response"]["size"] == 11
        assert (last["response"], last["latency_ms"]) == (None, None)
        assert last["notes"] == ["no-response: the capture contains no response to this request"]

    def test_packets_are_those_of_the_first_and_last_byte(self) -> None:
        (found,) = objects(Talk(most=10).ask("Metadata", 1, topics=[{"name": "t" * 50}]).answer())
        assert found["request"]["packets"] == [3, 10]
        assert found["request"]["size"] == 74

    def test_ipv6_addresses_stand_in_brackets(self) -> None:
        (found,) = objects(Talk(("fe80::1", 4000), ("::2", 9092)).ask("Metadata", 1).answer())
        assert (found["connection"]["client"], found["connection"]["broker"]) == ("[fe80::1]:4000", "[::2]:9092")

    def test_bytes_are_base64_and_ids_are_text(self) -> None:
        (found,) = objects(Talk().ask("JoinGroup", 5, protocols=[{"name": "range", "metadata": b"\0\1"}]).answer())
        assert found["request"]["body"]["protocols"] == [{"name": "range", "metadata": {"base64": "AAE="}}]
        (found,) = objects(Talk().ask("Metadata", 12, topics=[{"name": "t"}]).answer())
        assert found["request"]["body"]["topics"][0]["topic_id"] == "00000000-0000-0000-0000-000000000000"

    def test_records_are_text_where_they_are_utf_8(self) -> None:
        records = [
            {"key": b"caf\xc3\xa9", "value": b"", "headers": [{"key": "h", "value": b"\xff"}]},
            {"key": None, "value": b"\xff\xfe"},
        ]
        partition = {"index": 0, "records": [{"magic": 2, "records": records}]}
        topics = [{"name": "t", "partition_data": [partition]}]
        (found,) = objects(Talk().ask("Produce", 3, acks=1, topic_data=topics).answer())
        (batch,) = found["request"]["body"]["topic_data"][0]["partition_data"][0]["records"]
        first, second = batch["records"]
        assert (first["key"], first["value"], second["key"]) == ("café", "", None)
        assert first["headers"] == [{"key": "h", "value": {"base64": "/w=="}}]
        assert second["value"] == {"base64": "//4="}

    def test_messages_of_old_sets_too_and_pieces_gain_nothing(self) -> None:
        entries = [{"magic": 1, "key": b"k", "value": b"\xff"}, {"raw": b"\xff" * 20}]
        topics = [{"name": "t", "partition_data": [{"index": 0, "records": entries}]}]
        (found,) = objects(Talk().ask("Produce", 2, acks=1, topic_data=topics).answer())
        message, piece = found["request"]["body"]["topic_data"][0]["partition_data"][0]["records"]
        assert (message["key"], message["value"]) == ("k", {"base64": "/w=="})
        assert piece == {"raw": {"base64": base64.b64encode(b"\xff" * 20).decode()}}

    def test_tags_and_text_that_is_none(self) -> None:
        talk = Talk().ask("Metadata", 9, topics=[{"name": "\udcff"}], tagged_fields={7: b"x"}).answer()
        (found,) = objects(talk)
        assert found["request"]["body"]["tagged_fields"] == {"7": {"base64": "eA=="}}
        assert found["request"]["body"]["topics"] == [{"name": {"base64": "/w=="}}]
        assert [note.partition(":")[0] for note in found["notes"]] == ["invalid-utf8", "unknown-tag"]

    def test_tokens_without_headers_have_no_key(self) -> None:
        lines = [json.loads(json_line(each)) for each in kdbg.read(MAIN / "captures" / "sasl-plain-raw.pcap")]
        token = lines[1]
        assert (token["api"], token["api_key"], token["correlation_id"]) == ("SaslToken", None, None)
        assert token["request"]["body"]["token"]["hidden"] == 25


class TestLossless:
    @pytest.mark.parametrize("path", by_day(CAPTURES, 2), ids=lambda path: path.name)
    def test_every_body_gives_back_its_bytes(self, path: Path) -> None:
        checked = 0
        for exchange in kdbg.read(path):
            line = json.loads(json_line(exchange, look=Look(show_secrets=True)))
            for name, half in (("request", exchange.request), ("response", exchange.response)):
                message = half.message() if half is not None else None
                if half is None or message is None or {finding.kind for finding in message.findings} - CLEAN:
                    continue
                if message.findings or message.version not in message.api.versions or message.api.key < 0:
                    continue
                direction: Direction = half.direction
                data = kdbg.encode(
                    restored(line[name]["body"]), api=message.api.key, version=message.version, direction=direction
                )
                assert half.data.endswith(data)
                assert data == half.data[len(half.data) - len(data) :]
                assert len(data) >= len(half.data) - 60
                checked += 1
        assert checked > 0

    def test_numbers_that_json_lacks(self) -> None:
        found = json_body(read(grammars.api("DescribeClientQuotas"), 0, "response", quota("nan"), header=False))
        assert json.loads(dump(found))["entries"][0]["values"][0]["value"] == "nan"


def quota(value: str) -> bytes:
    entry = {"entity": [], "values": [{"key": "k", "value": float(value)}]}
    return kdbg.encode({"entries": [entry]}, api="DescribeClientQuotas", version=0, direction="response")


def restored(value: Any) -> Any:
    """The body as it is given to `encode`, which takes tags by number."""
    if isinstance(value, dict):
        return {int(key) if key.isdigit() else key: restored(item) for key, item in value.items()}
    return [restored(item) for item in value] if isinstance(value, list) else value


class TestLines:
    @for_each(
        "value",
        [
            "\x1b[31m",
            "\x7f",
            "\x9b",
            "\u202e\u200b\ufeff",
            "a\r\n\u2028\x85b",
            "\U000e0041",
            "\0",
            "東京 🎉",
            "\\u001b",
            "\u07fc",
        ],
    )
    def test_a_string_is_the_same_behind_an_escape(self, value: str) -> None:
        line = dump({"a": value, value: 1})
        assert json.loads(line) == {"a": value, value: 1}
        assert line.endswith(b"\n")
        assert line.decode()[:-1].isprintable()
        assert len(line.decode().splitlines()) == 1

    def test_what_stands_for_bytes_secrets_and_odd_text(self) -> None:
        assert json.loads(dump({"a": b"\0", "b": Hidden(3), "c": "x\udcff", 5: {"d": b""}})) == {
            "a": {"base64": "AA=="}, "b": {"redacted": 3, "hidden": 3}, "c": {"base64": "eP8="},
            "5": {"d": {"base64": ""}},
        }  # fmt: skip
        with pytest.raises(TypeError):
            dump(object())

    def test_notes_are_strings_whatever_they_tell_of(self) -> None:
        from kdbg.exchanges.messages.peers import Peers
        from kdbg.protocol.findings import Finding, Kind
        from kdbg.protocol.findings.facts import FactKind

        exchange = Exchange(Peers(1, ("10.0.0.1", 1), ("10.0.0.2", 2)), None, 0, 0, "\udcff")
        exchange.findings = [Finding(Kind.NOT_KAFKA, facts=FactKind.FOREIGN.of("\udcff\x1b\n"))]
        exchange.response = CapturedMessage(b"\0" * 4, (0, 0), (1, 1), "response")
        found = json.loads(json_line(exchange))
        assert found["notes"] == [r"not-kafka: \xff\x1b\n; not decoded"]
        assert found["findings"][0]["text"] == r"\xff\x1b\n; not decoded"
        assert found["client_id"] == {"base64": "/w=="}

    def test_findings_say_of_what_kind_how_serious_and_where(self) -> None:
        (found,) = objects(Talk().ask_bytes("Metadata", 1, b"\0\0\0\1\0\6order").answer(controller_id=2))
        byte = found["request"]["size"] - 11 + 6
        truncated, mistake = found["findings"]
        assert (mistake["kind"], mistake["path"]) == ("encoding-mistake", "topics[0].name")
        assert truncated == {
            "kind": "truncated", "old_kind": None, "severity": "error", "side": "request", "path": "topics[0].name",
            "offset": byte,
            "text": f"topics[0].name: STRING needs 6 bytes, only 5 left (byte {byte} of the frame, 0x{byte:04x})",
        }  # fmt: skip
        assert found["notes"] == [f"{finding['kind']}: {finding['text']}" for finding in found["findings"]]
        (dialect,) = objects(Talk().ask("ApiVersions", 3).answer_bytes(bytes(6)))[0]["findings"]
        assert (dialect["kind"], dialect["severity"], dialect["side"]) == ("known-variant", "note", "response")
        assert (dialect["path"], dialect["offset"]) == ("", None)

    def test_errors_have_their_names_and_what_they_are_of(self) -> None:
        partitions = [{"partition_index": index, "error_code": code} for index, code in ((0, 0), (3, 6), (4, 999))]
        topics = [{"error_code": 3, "name": "gone", "partitions": []},
                  {"error_code": 0, "name": "t", "partitions": partitions}]  # fmt: skip
        (found,) = objects(Talk().ask("Metadata", 1).answer(topics=topics))
        assert found["errors"] == [
            {"code": 3, "name": "UNKNOWN_TOPIC_OR_PARTITION", "topic": "gone", "partition": None},
            {"code": 6, "name": "NOT_LEADER_OR_FOLLOWER", "topic": "t", "partition": 3},
            {"code": 999, "name": error_name(999), "topic": "t", "partition": 4},
        ]
        (found,) = objects(Talk().ask("Heartbeat", 0).answer(error_code=27))
        assert found["errors"] == [{"code": 27, "name": "REBALANCE_IN_PROGRESS", "topic": None, "partition": None}]

    def test_errors_of_topics_that_have_ids_alone_are_told_by_their_names(self) -> None:
        known, other = UUID(int=7), UUID(int=8)
        responses = [{"topic_id": id, "partitions": [{"partition_index": 1, "error_code": 6}]} for id in (known, other)]
        (exchange,) = kdbg.read(io.BytesIO(pcap(Talk().ask("Fetch", 13).answer(responses=responses))))
        found = json.loads(json_line(exchange, {known: "orders"}))
        assert [error["topic"] for error in found["errors"]] == ["orders", str(other)]

    def test_times_are_exact_to_the_nanosecond(self) -> None:
        (first, *_) = kdbg.read(MAIN / "captures" / "nanosecond.pcapng")
        assert first.request is not None
        found = json.loads(json_line(first))["request"]
        day, _, rest = found["time_utc"].partition(".")
        seconds = int(datetime.fromisoformat(f"{day}+00:00").timestamp())
        assert seconds * 10**9 + int(rest.removesuffix("Z")) == first.request.first_time
        assert first.request.first_time % 1000

    def test_text_of_bytes(self) -> None:
        assert [text(None), text(b"a"), text(b"\xff")] == [None, "a", b"\xff"]

    @pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
    def test_jq_reads_them(self) -> None:
        lines = b"".join(json_line(exchange) for exchange in kdbg.read(MAIN / "captures" / "errors.pcap"))
        done = subprocess.run(["jq", "-c", ".correlation_id"], input=lines, capture_output=True, check=True)
        assert done.stdout.count(b"\n") == 58

    def test_a_header_that_is_null_where_none_may_be(self) -> None:
        """Read only in part, and shown as far as it goes."""
        partition = {"records": [{"magic": 2, "records": [{"value": b"x"}]}]}
        body = {"topic_data": [{"name": "t", "partition_data": [partition]}]}
        data = bytearray(kdbg.encode(body, api="Produce", version=3, direction="request"))
        assert data[-1] == 0
        data[-1] = 1  # -1 as a varint: no headers at all
        message = read(grammars.api("Produce"), 3, "request", bytes(data), header=False)
        assert "crc-mismatch" in [finding.kind for finding in message.findings]
        assert json.loads(dump(json_body(message)))["topic_data"][0]["name"] == "t"


def test_a_body_is_without_its_secrets_if_nothing_else_is_said() -> None:
    data = kdbg.encode({"auth_bytes": b"s3cret"}, api="sasl-authenticate", version=0, direction="request")
    message = read(grammars.api("sasl-authenticate"), 0, "request", data, header=False)
    assert json_body(message) == {"auth_bytes": Hidden(6)}
    assert json_body(message, Look(show_secrets=True)) == {"auth_bytes": b"s3cret"}
