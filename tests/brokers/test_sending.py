"""`kdbg send` at real brokers, as its users run it: each API by its options, and all that can be said besides."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

from kdbg.library import read

from . import probe
from .broker import Broker
from .pool import Pool
from .sending import Outcome, send

CAPTURE = Path(__file__).resolve().parents[2] / "captures" / "first-contact.pcap"
API_VERSIONS = "0000000a0012000000000001ffff"
"""A whole request: ApiVersions v0, correlation id 1, no client id."""
MEMBER_ID_REQUIRED, ILLEGAL_SASL_STATE, ILLEGAL_GENERATION = 79, 34, 22


@pytest.fixture
def topic(broker_4: Broker) -> str:
    """A new topic with a record in it."""
    name = f"sent-{uuid.uuid4().hex[:8]}"
    body = ask(broker_4, "create-topics", "--topic", name, "--partitions", 2)
    assert body["topics"][0]["error_code"] == 0
    broker_4.wait_for_topic(name)
    return name


def ask(broker: Broker, *arguments: object) -> Any:
    """The body of the answer."""
    return send(broker, *arguments, "-f", "json").body


def produce(broker: Broker, topic: str, *options: object) -> Any:
    """The one partition of the answer."""
    (answered,) = ask(broker, "produce", "--topic", topic, *options)["responses"]
    (partition,) = answered["partition_responses"]
    return partition


class TestApis:
    """Each API with options of its own."""

    def test_topics_are_made_told_and_deleted(self, broker_4: Broker) -> None:
        name = f"made-{uuid.uuid4().hex[:8]}"
        size = ("--partitions", 3, "--replication-factor", 1, "--topic-config", "retention.ms=3600000")
        (tried,) = ask(broker_4, "create-topics", "--topic", name, *size, "--validate-only")["topics"]
        assert (tried["error_code"], name in broker_4.topics()) == (0, False)
        (made,) = ask(broker_4, "create-topics", "--topic", name, *size)["topics"]
        assert {one["name"]: one["value"] for one in made["configs"]}["retention.ms"] == "3600000"
        broker_4.wait_for_topic(name)
        (told,) = ask(broker_4, "metadata", "--topic", name, "--no-create")["topics"]
        assert (told["error_code"], len(told["partitions"])) == (0, 3)
        (gone,) = ask(broker_4, "delete-topics", "--topic", name)["responses"]
        assert (gone["name"], gone["error_code"]) == (name, 0)

    def test_records_and_offsets(self, broker_4: Broker, topic: str, tmp_path: Path) -> None:
        (tmp_path / "value").write_bytes(b"\x00\xff")
        said = ("--key", "k", "--header", "trace=1", "--timestamp", "2026-11-21T00:00:00", "--compression", "zstd")
        values = ("--value", "größe", "--file", tmp_path / "value", "--tombstone")
        assert produce(broker_4, topic, "--partition", 1, *said, *values, "--acks", "all")["error_code"] == 0
        fetched = ask(broker_4, "fetch", "--topic", topic, "--partition", 1, "--max-bytes", 1 << 20, "--min-bytes", 1)
        (batch,) = fetched["responses"][0]["partitions"][0]["records"]
        assert [record["value"] for record in batch["records"]] == ["größe", {"base64": "AP8="}, None]
        assert {record["timestamp"] for record in batch["records"]} == {1795219200000}
        assert [record["headers"] for record in batch["records"]] == [[{"key": "trace", "value": "1"}]] * 3
        for time, offset in (("latest", 3), ("earliest", 0), ("2026-11-21T00:00:00", 0)):
            told = ask(broker_4, "offsets", "--topic", topic, "--partition", 1, "--time", time)
            assert told["topics"][0]["partitions"][0]["offset"] == offset
        (empty,) = ask(
            broker_4, "fetch", "--topic", topic, "--partition", 1, "--offset", "latest", "--max-wait", 1
        )["responses"][0]["partitions"]  # fmt: skip
        assert (empty["error_code"], empty["records"] or []) == (0, [])

    def test_no_answer_is_wanted_with_acks_0(self, broker_4: Broker, topic: str) -> None:
        outcome = send(broker_4, "produce", "--topic", topic, "--partition", 0, "--value", "x", "--acks", 0)
        assert outcome.status == 0
        assert "no response expected" in outcome.closing
        fetched = ask(broker_4, "fetch", "--topic", topic, "--offset", 0, "--max-wait", 10_000)
        assert fetched["responses"][0]["partitions"][0]["records"]

    def test_a_group_from_its_join_to_its_end(self, broker_4: Broker, topic: str) -> None:
        group = f"group-{topic}"
        first = ask(broker_4, "join-group", "--group", group, "--topic", topic)
        assert first["error_code"] == MEMBER_ID_REQUIRED
        me = ("--group", group, "--member-id", first["member_id"])
        joined = ask(broker_4, "join-group", *me, "--topic", topic, "--session-timeout-ms", 10_000)
        assert (joined["error_code"], joined["leader"]) == (0, first["member_id"])
        member = (*me, "--generation", joined["generation_id"])
        synced = ask(broker_4, "sync-group", *member, "--topic", topic, "--partition", 0, "--partition", 1)
        assert synced["error_code"] == 0
        assert synced["assignment"]
        assert ask(broker_4, "heartbeat", *member)["error_code"] == 0
        assert ask(broker_4, "heartbeat", *me, "--generation", 99)["error_code"] == ILLEGAL_GENERATION
        committed = ask(broker_4, "offset-commit", *member, "--topic", topic, "--offset", 7, "--metadata", "here")
        assert committed["topics"][0]["partitions"][0]["error_code"] == 0
        (described,) = ask(broker_4, "describe-groups", "--group", group)["groups"]
        assert (described["group_state"], len(described["members"])) == ("Stable", 1)
        assert group in [one["group_id"] for one in ask(broker_4, "list-groups", "--state", "Stable")["groups"]]
        assert ask(broker_4, "leave-group", *me)["members"][0]["error_code"] == 0
        (fetched,) = ask(broker_4, "offset-fetch", "--group", group, "--topic", topic)["groups"]
        place = fetched["topics"][0]["partitions"][0]
        assert (place["committed_offset"], place["metadata"]) == (7, "here")

    def test_coordinators(self, broker_4: Broker) -> None:
        for whose in (("--group", "g"), ("--transactional-id", "t")):
            (found,) = ask(broker_4, "consumer-metadata", *whose)["coordinators"]
            assert found["error_code"] in (0, 15)  # the topic it is kept in may still be in the making

    def test_what_the_broker_speaks(self, broker_4: Broker) -> None:
        told = ask(broker_4, "api-versions", "--software-name", "me", "--software-version", "1")["api_keys"]
        assert {one["api_key"]: (one["min_version"], one["max_version"]) for one in told} == probe.api_versions(
            broker_4.port
        )
        assert ask(broker_4, "sasl-handshake", "--mechanism", "PLAIN")["error_code"] == ILLEGAL_SASL_STATE


class TestVersions:
    """Exact versions, all of them, and brokers that say nothing of theirs."""

    def test_an_exact_version(self, broker_3_9: Broker) -> None:
        for version in (0, 5, 12):
            (line,) = send(broker_3_9, "metadata", "--topic", "exact", "--version", version, "-f", "json").lines
            assert line["api_version"] == version

    @pytest.mark.parametrize(("api", "version"), [("produce", 2), ("fetch", 3)])
    def test_one_that_the_broker_refuses(self, broker_4: Broker, topic: str, api: str, version: int) -> None:
        value = ("--value", "x") if api == "produce" else ("--offset", 0)
        outcome = send(broker_4, api, "--topic", topic, "--partition", 0, *value, "--version", version)
        assert outcome.status == 1
        assert f"{api.title()} v{version}" in outcome.out
        assert "no-response: the capture contains no response to this request" in outcome.out
        (line,) = outcome.err.splitlines()
        assert line.startswith(f"kdbg: {broker_4.bootstrap}: the broker closed the connection without a response")

    def test_the_refusal_of_api_versions_is_an_answer(self, broker_3_9: Broker) -> None:
        outcome = send(broker_3_9, "api-versions", "--version", 5)
        assert outcome.status == 0
        assert "UNSUPPORTED_VERSION" in outcome.closing

    def test_every_version_in_a_table(self, broker_4: Broker, topic: str) -> None:
        lowest, highest = probe.api_versions(broker_4.port)[3]
        outcome = send(broker_4, "metadata", "--topic", topic, "--all-versions")
        assert outcome.status == 0
        name, heading, *rows = outcome.out.splitlines()
        assert (name, heading.split()) == ("Metadata", ["version", "request", "response", "time", "result"])
        assert [(row.split()[0], row.split()[-1]) for row in rows] == [
            (str(version), "OK") for version in range(lowest, highest + 1)
        ]

    def test_kafka_0_8_hangs_up_on_the_question(self, brokers: Pool) -> None:
        broker = brokers.cluster("0.8").brokers[0]
        for api, *options in (["produce", "--value", "v"], ["fetch"], ["offsets"], ["metadata"]):
            outcome = send(broker, api, "--topic", "old", *options, "-f", "json")
            assert outcome.lines[0]["api_version"] == 0
            assert (
                f"{broker.bootstrap} closes the connection after ApiVersions, as brokers before 0.10 do" in outcome.err
            )
            assert outcome.status == 0

    def test_kafka_0_8_is_asked_up_to_its_first_refusal(self, brokers: Pool) -> None:
        outcome = send(brokers.cluster("0.8").brokers[0], "offsets", "--topic", "old", "--all-versions")
        assert [row.split()[0] for row in outcome.out.splitlines()[2:]] == ["0", "1"]
        assert "the broker does not report its versions" in outcome.err


class TestWhatIsSent:
    """Bodies, captured requests and bytes."""

    def test_a_template_is_a_body(self, broker_4: Broker, topic: str, tmp_path: Path) -> None:
        template = tmp_path / "body.json"
        template.write_text(send(broker_4, "describe-configs", "--show-template").out)
        body = json.loads(template.read_text())
        body["resources"] = [{"resource_type": 2, "resource_name": topic, "configuration_keys": ["retention.ms"]}]
        template.write_text(json.dumps(body))
        (answer,) = ask(broker_4, "describe-configs", "--body", f"@{template}")["results"]
        assert [one["name"] for one in answer["configs"]] == ["retention.ms"]

    def test_set_says_it_too(self, broker_4: Broker, topic: str) -> None:
        resource = json.dumps([{"resource_type": 2, "resource_name": topic, "configuration_keys": None}])
        (answer,) = ask(broker_4, "describe-configs", "--set", f"resources={resource}")["results"]
        assert len(answer["configs"]) > 10
        changed = ask(
            broker_4, "offsets", "--topic", topic, "--set", "topics[0].partitions[0].partition_index=1"
        )["topics"]  # fmt: skip
        assert changed[0]["partitions"][0]["partition_index"] == 1

    def test_a_captured_request_is_sent_again(self, broker_4: Broker, topic: str) -> None:
        outcome = send(
            broker_4, "--from", f"{CAPTURE}#{first('Produce')}", "--set", f"topic_data[0].name={topic}", "-f", "json"
        )
        (answered,) = outcome.body["responses"]
        assert answered["partition_responses"][0]["error_code"] == 0
        (fetched,) = ask(broker_4, "fetch", "--topic", topic)["responses"]
        assert fetched["partitions"][0]["records"][0]["records"][0]["value"]

    def test_bytes_are_sent_as_they_are(self, broker_4: Broker) -> None:
        outcome = send(broker_4, "--raw", API_VERSIONS, "-f", "json")
        assert {one["api_key"] for one in outcome.body["api_keys"]} == set(probe.api_versions(broker_4.port))

    def test_half_a_request_is_waited_for_in_vain(self, broker_4: Broker) -> None:
        outcome = send(broker_4, "--raw", API_VERSIONS[:-4], "--timeout", 0.5)
        assert (outcome.status, "sent no response" in outcome.closing) == (1, True)

    def test_what_is_no_request_is_hung_up_on(self, broker_4: Broker) -> None:
        outcome = send(broker_4, "--raw", "00000004ffffffff")
        assert (outcome.status, "closed the connection without a response" in outcome.closing) == (1, True)


class TestMany:
    """One request many times."""

    def test_repeated_with_ten_in_flight(self, broker_4: Broker, topic: str) -> None:
        options = ("--topic", topic, "--partition", 0, "--value", "x", "--repeat", 50, "--in-flight", 10)
        outcome = send(broker_4, "produce", *options)
        assert outcome.status == 0
        assert "50 of 50 done, 10 in flight" in outcome.out
        assert re.search(r"latency +p50 .* · p90 .* · p99 .* · max ", outcome.out)
        (figures,) = send(broker_4, "produce", *options, "-f", "json").lines
        assert (figures["requests"], figures["answers"], figures["errors"]) == (50, 50, {})
        assert end(broker_4, topic, 0) == 100

    def test_records_go_round_the_partitions(self, broker_4: Broker, topic: str) -> None:
        options = ("--topic", topic, "--value", "x", "--partitioner", "round-robin", "--repeat", 10)
        outcome: Outcome = send(broker_4, "produce", *options)
        assert outcome.status == 0, outcome.err
        assert {end(broker_4, topic, partition) for partition in (0, 1)} == {5}


def end(broker: Broker, topic: str, partition: int) -> int:
    """How many records a partition has."""
    told = ask(broker, "offsets", "--topic", topic, "--partition", partition, "--time", "latest")
    offset: int = told["topics"][0]["partitions"][0]["offset"]
    return offset


def first(api: str) -> int:
    """The number of the capture's first exchange of an API."""
    return next(one.number for one in read(CAPTURE) if one.api is not None and one.api.name == api)
