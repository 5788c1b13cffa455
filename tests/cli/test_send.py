"""`kdbg send` as its users run it, against librdkafka's mock cluster: a real peer, on real sockets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kdbg.protocol import grammars

from .calls import CAPTURES, Outcome
from .peers import API_VERSIONS

Cli = Callable[..., Outcome]
NEWEST = grammars.api("Metadata").versions[-1]


class TestOne:
    """One request, and what is shown of it."""

    def test_the_quick_start(self, cli: Cli) -> None:
        outcome = cli("send", "metadata", "--broker", "mock:", "--topic", "orders", "--version", 8)
        assert outcome.status == 0
        assert re.match(r"#\d+ Metadata v8 · correlation id \d+ · ", outcome.out)
        assert '"orders"' in outcome.out
        assert re.fullmatch(r"broker 127\.0\.0\.1:\d+ responded in .* in total", outcome.closing)

    @pytest.mark.parametrize("format", ["tree", "hex", "json", "summary"])
    def test_the_views_are_those_of_decode(self, send: Cli, tmp_path: Path, cli: Cli, format: str) -> None:
        path = tmp_path / "out.pcap"
        asked = send("list-offsets", "--topic", "orders", "--format", format, "--write", path)
        assert asked.status == 0
        decoded = cli("decode", path, "--api", "list-offsets", "--format", format)
        assert shape(asked.out) == shape(decoded.out)

    def test_only_what_was_asked_for_is_shown_or_all_of_it(self, send: Cli) -> None:
        one = send("list-offsets", "--topic", "orders", "-f", "json")
        assert [line["api"] for line in one.lines] == ["ListOffsets"]
        assert "earlier exchanges" in one.closing
        every = send("list-offsets", "--topic", "orders", "-f", "json", "--show-exchanges")
        assert {"ApiVersions", "Metadata", "ListOffsets"} == {line["api"] for line in every.lines}
        assert every.lines[-1]["api"] == "ListOffsets"

    def test_topic_ids_have_the_names_that_the_session_told(self, send: Cli) -> None:
        outcome = send("metadata", "--topic", "orders", "--full")
        assert re.search(r'topic_id  [0-9a-f-]{36}  "orders"', outcome.out)

    def test_trace_tells_the_steps_on_stderr(self, send: Cli) -> None:
        outcome = send("list-offsets", "--topic", "orders", "-f", "json", "--trace")
        assert len(outcome.lines) == 1
        assert re.search(r"^kdbg: +[\d.]+ ms  connecting to 127", outcome.err, re.MULTILINE)
        assert re.search(r"ms  ListOffsets v\d+ to 127", outcome.err)
        assert re.search(r"ms  \d+ \d\d:.* Metadata v13", outcome.err)

    def test_an_exact_version(self, send: Cli) -> None:
        for version in (0, 3, 7):
            (line,) = send("list-offsets", "--topic", "orders", "-f", "json", "--version", version).lines
            assert line["api_version"] == version

    def test_an_error_code_is_an_answer(self, send: Cli) -> None:
        outcome = send("list-offsets", "--topic", "orders", "--partition", 99, "--direct", "-f", "json")
        (line,) = outcome.lines
        assert line["response"]["body"]["topics"][0]["partitions"][0]["error_code"] == 3
        assert "UNKNOWN_TOPIC_OR_PARTITION" in outcome.closing
        assert outcome.status == 0

    def test_names_aliases_and_keys(self, send: Cli) -> None:
        for name in ("ApiVersions", "api-versions", "APIVERSIONS", "18", "versions"):
            assert send(name, "-f", "json", "--version", 0).lines[0]["api"] == "ApiVersions"
        for name in ("offsets", "Offset", "listOffsets"):
            assert send(name, "--topic", "orders", "-f", "json").lines[0]["api"] == "ListOffsets"

    def test_options_may_stand_before_the_api(self, send: Cli) -> None:
        assert send("-f", "json", "--topic", "orders", "list-offsets").lines[0]["api"] == "ListOffsets"

    def test_the_header_says_what_it_is_told(self, send: Cli) -> None:
        (line,) = send("api-versions", "--version", 0, "-f", "json", "--client-id", "me").lines
        assert line["client_id"] == "me"


class TestRecords:
    """What is produced is fetched again."""

    def produce(self, send: Cli, *options: object) -> Any:
        outcome = send("produce", "-f", "json", *options)
        assert outcome.status == 0, outcome.err
        return outcome.lines[0]

    @pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
    def test_values_keys_headers_and_times_survive(self, send: Cli, codec: str) -> None:
        topic = f"survive-{codec}"
        line = self.produce(
            send, "--topic", topic, "--partition", 1, "--key", "k", "--value", "a", "--value", "größe", "--tombstone",
            "--header", "x=1", "--header", "y", "--compression", codec, "--timestamp", "2026-01-02T03:04:05",
        )  # fmt: skip
        assert line["response"]["body"]["responses"][0]["partition_responses"][0]["error_code"] == 0
        fetched = send("fetch", "--topic", topic, "--partition", 1, "-f", "json").lines[0]["response"]["body"]
        (batch,) = fetched["responses"][0]["partitions"][0]["records"]
        assert [record["value"] for record in batch["records"]] == ["a", "größe", None]
        assert {record["key"] for record in batch["records"]} == {"k"}
        assert {record["timestamp"] for record in batch["records"]} == {1767323045000}
        headers = [{"key": "x", "value": "1"}, {"key": "y", "value": None}]
        assert all(record["headers"] == headers for record in batch["records"])

    def test_files_are_values(self, send: Cli, tmp_path: Path) -> None:
        (tmp_path / "value").write_bytes(b"\x00\xff")
        line = self.produce(send, "--topic", "orders", "--file", tmp_path / "value")
        (batch,) = line["request"]["body"]["topic_data"][0]["partition_data"][0]["records"]
        assert batch["records"][0]["value"] == {"base64": "AP8="}

    @pytest.mark.parametrize(("format", "version", "magic"), [("v0", 1, 0), ("v1", 2, 1), ("v2", 10, 2)])
    def test_the_record_format_limits_the_version(self, send: Cli, format: str, version: int, magic: int) -> None:
        line = self.produce(send, "--topic", "orders", "--value", "x", "--record-format", format)
        assert line["api_version"] == version
        assert line["request"]["body"]["topic_data"][0]["partition_data"][0]["records"][0]["magic"] == magic

    def test_a_partitioner_chooses(self, send: Cli) -> None:
        def partition(*options: object) -> int:
            line = self.produce(send, "--topic", "orders", "--value", "x", *options)
            number: int = line["request"]["body"]["topic_data"][0]["partition_data"][0]["index"]
            return number

        assert partition("--key", "21") == (-973932308 & 0x7FFFFFFF) % 4
        assert partition("--key", "21", "--partitioner", "crc32") == zlib.crc32(b"21") % 4
        assert partition("--partitioner", "round-robin") == 0
        assert {partition() for _ in range(30)} == {0, 1, 2, 3}

    def test_no_answer_is_wanted_with_acks_0(self, send: Cli) -> None:
        outcome = send("produce", "--topic", "orders", "--value", "x", "--acks", 0)
        assert outcome.status == 0
        assert "none expected (acks=0)" in outcome.out
        assert "no response expected (acks=0)" in outcome.closing

    def test_offsets_are_looked_up_by_word(self, send: Cli) -> None:
        for value in "abc":
            self.produce(send, "--topic", "ends", "--partition", 0, "--value", value)

        def offset(*options: object) -> int:
            (line,) = send("fetch", "--topic", "ends", "--max-wait", 1, "-f", "json", *options).lines
            number: int = line["request"]["body"]["topics"][0]["partitions"][0]["fetch_offset"]
            return number

        assert offset() == offset("--offset", "earliest") == 0
        assert offset("--offset", "latest") == 3
        assert offset("--offset", 2) == 2


class TestBodies:
    """--body, --set and --show-template."""

    def body(self, send: Cli, *options: object) -> Any:
        outcome = send(*options, "-f", "json")
        assert outcome.lines, outcome.err
        return outcome.lines[0]["request"]["body"]

    def test_a_body_takes_defaults(self, send: Cli, tmp_path: Path) -> None:
        text = '{"topics": [{"name": "orders", "partitions": [{"timestamp": -2}]}]}'
        (tmp_path / "body.json").write_text(text)
        for given in (text, f"@{tmp_path / 'body.json'}"):
            body = self.body(send, "list-offsets", "--version", 1, "--body", given)
            assert body["topics"][0]["partitions"] == [{"partition_index": 0, "timestamp": -2}]

    def test_set_changes_what_options_and_bodies_say(self, send: Cli) -> None:
        changed = self.body(send, "list-offsets", "--topic", "orders", "--set", "topics[0].partitions[0].timestamp=-2")
        assert changed["topics"][0]["partitions"][0]["timestamp"] == -2
        alone = self.body(send, "list-offsets", "--set", "topics[0].name=orders", "--set", "topics[0].partitions=[{}]")
        assert alone["topics"][0]["name"] == "orders"
        both = self.body(send, "metadata", "--version", 1, "--body", '{"topics": []}', "--set", "topics=null")
        assert both == {"topics": None}

    def test_values_go_by_name_and_are_shown_as_numbers(self, send: Cli) -> None:
        of = ("find-coordinator", "--version", 2, "--group", "g", "--set")
        assert self.body(send, *of, "key_type=transaction") == {"key": "g", "key_type": 1}
        whole = '{"key": "t", "key_type": "Transaction"}'
        assert self.body(send, "find-coordinator", "--version", 2, "--body", whole) == {"key": "t", "key_type": 1}

    def test_a_template_is_a_body(self, send: Cli) -> None:
        template = send("list-offsets", "--show-template", "--version", 2)
        assert template.status == 0
        body = json.loads(template.out)
        assert list(body) == ["replica_id", "isolation_level", "topics"]
        body["topics"][0]["name"] = "orders"
        assert self.body(send, "list-offsets", "--version", 2, "--body", json.dumps(body)) == body

    def test_a_template_needs_no_broker(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("KDBG_BROKER", raising=False)
        newest = json.loads(cli("send", "fetch", "--show-template").out)
        assert "topic_id" in newest["topics"][0]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (
                ["metadata", "--set", "topics[0].nme=x"],
                "topics[0].nme: this version has no such field; kdbg send Metadata",
            ),
            (["metadata", "--body", '{"topcs": []}'], "topcs: this version has no such field"),
            (["metadata", "--body", "{"], "--body: not JSON"),
            (
                ["find-coordinator", "--group", "g", "--set", "key_type=grup"],
                "'grup' is not one of GROUP, TRANSACTION, SHARE",
            ),
            (["metadata", "--body", "[]"], "--body: not a JSON object"),
            (["metadata", "--body", "{}", "--topic", "t"], "--topic cannot be combined with --body"),
            (["metadata", "--set", "topics"], "--set 'topics': expected PATH=VALUE"),
            (["metadata", "--version", 99], f"Metadata has no version 99; supported: 0 to {NEWEST}"),
            (["metadta"], "did you mean Metadata"),
            (["produce", "--topic", "t"], "Produce requires --value (or --file, or --tombstone)"),
            (["fetch"], "Fetch requires --topic"),
            (["fetch", "--topic", "t", "--offset", "soon"], "invalid offset 'soon'; use a number"),
            (["produce", "--topic", "t", "--value", "v", "--acks", "some"], "invalid acks 'some'; use all, 1 or 0"),
            (
                ["produce", "--topic", "t", "--value", "v", "--record-format", "v0", "--header", "a=b"],
                "record format v0 does not support headers",
            ),
            (["produce", "--topic", "t", "--file", "/nosuch"], "/nosuch: No such file"),
            (["find-coordinator"], "a group or transactional id is missing"),
            (["list-groups", "--topic", "t"], "no such option '--topic'"),
            (["describe-groups", "--all-versions", "--group", "g"], "does not support DescribeGroups"),
            (["list-offsets", "--topic", "t", "--time", "noon"], "invalid time 'noon'; use latest"),
            (["produce", "--set", 'topic_data[0].partition_data[0].records=[{"records":[{"timestamp":[]}]}]'], "[]"),
            ([], "nothing to send; give an API"),
            (["metadata", "--raw", "00"], "--raw is a complete request"),
            (["--raw", "zz"], "cannot parse 'z' at character 1"),
            (["--raw", API_VERSIONS, "--repeat", 2], "--raw cannot be combined with --repeat"),
            (["--from", "x.pcap"], "no exchange number; use CAPTURE#N"),
            (["--from", CAPTURES / "first-contact.pcap#9999"], "no exchange #9999"),
            (["metadata", "--repeat", 2, "--all-versions"], "not both"),
            (["metadata", "--all-versions", "--version", 2], "not both"),
        ],
        ids=lambda value: " ".join(map(str, value))[:60] if isinstance(value, list) else "",
    )
    def test_mistakes_are_one_line_and_status_2(self, send: Cli, arguments: list[object], said: str) -> None:
        outcome = send(*arguments)
        assert outcome.status == 2, outcome.out
        assert outcome.out == ""
        assert outcome.closing.startswith("kdbg: ")
        assert said in outcome.err
        assert len(outcome.err.splitlines()) == 1

    def test_no_broker_is_said_with_what_to_try(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("KDBG_BROKER", raising=False)
        outcome = cli("send", "metadata")
        assert outcome.status == 2
        assert "--broker mock:" in outcome.err


def test_help_needs_no_network() -> None:
    """It is instant: what sockets want is imported when something is sent."""
    program = "import sys; from kdbg.ui.cli import run; run(['send', *sys.argv[1:], '--help']); print(*sys.modules)"
    for api in ([], ["produce"]):
        done = subprocess.run([sys.executable, "-c", program, *api], capture_output=True, check=True, text=True)
        assert not {"asyncio", "ssl", "confluent_kafka", "rich", "scapy"} & set(done.stdout.splitlines()[-1].split())


class TestHelp:
    """The help shows what holds for the API at hand."""

    def test_general_options_in_sections(self, cli: Cli) -> None:
        text = cli("send", "--help").out
        for section in ("Request:", "Broker:", "Output:", "Repetition:", "TLS and SASL:"):
            assert f"\n{section}\n" in text
        assert "Produce, Fetch, ListOffsets" in text

    def test_an_apis_own_options_come_first(self, cli: Cli) -> None:
        text = cli("send", "produce", "--help").out
        assert "\nOptions of Produce:\n" in text
        assert text.index("--record-format") < text.index("\nRequest:")
        assert "--cert-key PEM" in text
        assert "--cert-key, --key PEM" in cli("send", "fetch", "--help").out
        assert "Options of" not in cli("send", "describe-configs", "--help").out


def shape(text: str) -> str:
    """Output without what differs between a session and its capture: numbers of packets and connections, times."""
    text = re.sub(r"connection c?\d+|\bc\d+ +|\"id\":\d+", "…", text)
    text = re.sub(r"packets? [\d–]+|\d\d:\d\d:\d\d\.\d+|[\d.]+ (?:µs|ms)\b|[\d.]+(?:µs|ms)\b", "…", text)
    text = re.sub(r'"(?:latency_ms|time)":[\d.]+|"packets":\[\d+,\d+\]', "…", text)
    return "\n".join(re.sub(" +", " ", line).rstrip(" …") for line in text.splitlines() if line)
