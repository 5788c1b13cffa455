"""`kdbg send` many times: a sweep over every version, and measurements."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable

import pytest

from .calls import Outcome
from .peers import peer

Cli = Callable[..., Outcome]


class TestMany:
    """Sweeps and measurements."""

    def test_every_version_in_a_table(self, send: Cli) -> None:
        outcome = send("list-offsets", "--topic", "orders", "--all-versions")
        assert outcome.status == 0
        name, heading, *rows = outcome.out.splitlines()
        assert name == "ListOffsets"
        assert heading.split() == ["version", "request", "response", "time", "result"]
        assert [row.split()[0] for row in rows] == [str(version) for version in range(8)]
        assert all(row.endswith("OK") for row in rows)

    def test_what_groups_want_to_know_is_made_up_and_said(self, send: Cli) -> None:
        outcome = send("heartbeat", "--all-versions")
        assert outcome.status == 0
        assert (
            "Heartbeat uses placeholders for missing options: --group kdbg --generation 0 --member-id kdbg\n"
            in outcome.err
        )
        results = [row.split()[-1] for row in outcome.out.splitlines()[2:]]
        assert set(results) <= {"UNKNOWN_MEMBER_ID", "COORDINATOR_NOT_AVAILABLE", "GROUP_ID_NOT_FOUND"}
        assert len(results) >= 3
        outcome = send("heartbeat", "--all-versions", "--member-id", "m", "--generation", 4)
        assert "placeholders for missing options: --group kdbg\n" in outcome.err

    @pytest.mark.parametrize("arguments", [("heartbeat",), ("delete-topics", "--all-versions")])
    def test_nothing_else_is_made_up(self, send: Cli, arguments: tuple[str, ...]) -> None:
        outcome = send(*arguments)
        assert (outcome.status, outcome.out) == (2, "")
        assert " requires --" in outcome.err

    def test_every_version_as_json(self, send: Cli) -> None:
        lines = send("list-offsets", "--topic", "orders", "--partition", 99, "--all-versions", "-f", "json").lines
        assert [line["api_version"] for line in lines] == list(range(8))
        assert {line["result"] for line in lines} == {"UNKNOWN_TOPIC_OR_PARTITION"}
        assert all(line["good"] and line["latency_ms"] > 0 for line in lines)

    def test_versions_that_have_nothing_in_common(self, cli: Cli) -> None:
        def ahead(connection: socket.socket) -> None:
            while frame := connection.recv(4096):
                offer = bytes.fromhex("0000 00000001 0010 0032 003c")  # ListGroups v50 to v60
                connection.sendall((len(offer) + 4).to_bytes(4, "big") + frame[8:12] + offer)

        with peer(ahead) as broker:
            outcome = cli("send", "list-groups", "--all-versions", "--broker", broker)
        assert (outcome.status, outcome.out) == (2, "")
        assert "the broker supports ListGroups v50 to v60; v0 to v5 has no version in common" in outcome.err

    def test_what_cannot_be_read_is_named_and_makes_the_status(self, cli: Cli) -> None:
        """A byte more than ListGroups v1 has."""

        def wordy(connection: socket.socket) -> None:
            while frame := connection.recv(4096):
                lists = frame[4:6] == b"\0\x10"
                offer = bytes.fromhex("0000 00000001 0010 0000 0001")  # ListGroups v0 and v1, as ApiVersions v0 says it
                answer = frame[8:12] + (bytes((6, 11)[frame[7]]) if lists else offer)
                connection.sendall(len(answer).to_bytes(4, "big") + answer)

        with peer(wordy) as broker:
            outcome = cli("send", "list-groups", "--broker", broker, "--version", 1, "--format", "summary")
            assert outcome.status == 1
            assert "trailing-bytes" in outcome.out
            outcome = cli("send", "list-groups", "--broker", broker, "--all-versions")
        assert re.search(r"^ +1 .*OK · trailing-bytes$", outcome.out, re.MULTILINE)
        assert outcome.status == 1

    def test_a_broker_that_tells_no_versions_is_asked_up_to_its_first_refusal(self, cli: Cli) -> None:
        def old(connection: socket.socket) -> None:
            while frame := connection.recv(4096):
                if frame[4:8] not in (b"\0\x10\0\0", b"\0\x10\0\1"):  # all but ListGroups v0 and v1
                    return
                answer = frame[8:12] + bytes((0, 0, 0, 0, 0, 0) if frame[7] == 0 else (0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
                connection.sendall(len(answer).to_bytes(4, "big") + answer)

        with peer(old) as broker:
            outcome = cli("send", "list-groups", "--all-versions", "--broker", broker)
        rows = [row.split() for row in outcome.out.splitlines()[2:]]
        assert [(row[0], row[-1]) for row in rows] == [("0", "OK"), ("1", "OK"), ("2", "connection")]
        assert "it does not support ListGroups v2" in outcome.err
        assert outcome.status == 0

    @pytest.mark.parametrize("in_flight", [1, 7, 100])
    def test_repeating_measures(self, send: Cli, in_flight: int) -> None:
        options = ("--topic", "orders", "--repeat", 50, "--in-flight", in_flight)
        outcome = send("list-offsets", *options)
        assert outcome.status == 0
        assert f"50 of 50 done, {in_flight} in flight" in outcome.out
        assert re.search(r"latency +p50 .* · p90 .* · p99 .* · max ", outcome.out)
        (figures,) = send("list-offsets", *options, "-f", "json").lines
        assert figures["requests"] == figures["answers"] == 50
        assert 0 < figures["p50_ms"] <= figures["p90_ms"] <= figures["p99_ms"] <= figures["p100_ms"]
        assert figures["errors"] == {}

    def test_repeated_records_go_round_the_partitions(self, send: Cli) -> None:
        outcome = send("produce", "--topic", "round", "--value", "x", "--partitioner", "round-robin", "--repeat", 8)
        assert "8 of 8 done" in outcome.out
        answers = [send("list-offsets", "--topic", "round", "--partition", i, "-f", "json").lines[0] for i in range(4)]
        partitions = [answer["response"]["body"]["topics"][0]["partitions"][0] for answer in answers]
        assert [partition["offset"] for partition in partitions] == [2, 2, 2, 2]

    def test_errors_are_counted(self, send: Cli) -> None:
        outcome = send("list-offsets", "--topic", "orders", "--partition", 99, "--repeat", 5)
        assert "errors" in outcome.out
        assert "UNKNOWN_TOPIC_OR_PARTITION 5" in outcome.out

    def test_records_without_answers_are_counted_too(self, cli: Cli) -> None:
        """Against a peer that is silent, as brokers are then: the mock one answers acks=0 too."""

        def silent(connection: socket.socket) -> None:
            while connection.recv(4096):
                pass

        options = ("--direct", "--version", 3, "--topic", "t", "--partition", 0, "--value", "x", "--acks", 0)
        with peer(silent) as broker:
            outcome = cli("send", "produce", "--broker", broker, *options, "--repeat", 9)
        assert outcome.status == 0
        assert "9 of 9 done" in outcome.out
        assert "no response expected (acks=0)" in outcome.out
