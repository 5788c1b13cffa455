"""Requests of a capture sent again, in this process: to a mock of the same capture, and to two brokers of a script."""

from __future__ import annotations

import socket
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.live.embedded import RunningMock
from kdbg.protocol import grammars

from ..cli.calls import Outcome
from ..cli.conftest import cli, write
from ..traffic import Talk
from .proxies import broker, frame, read_frame

__all__ = ["cli", "write"]
Cli = Callable[..., Outcome]
CAPTURES = Path("captures")
OLD, NEW = ("10.0.0.1", 9092), ("10.0.0.2", 9093)
"""The brokers of captures here: nodes 1 and 2."""


def replayed(cli: Cli, *arguments: object, timeout: float = 5) -> tuple[dict[int, Any], str]:
    """The lines by the numbers of their exchanges, and what is said."""
    found = cli("replay", *arguments, "--speed", "max", "--timeout", timeout, "-f", "json")
    return {line["number"]: line for line in found.lines}, found.err


def said(exchange: kdbg.Exchange) -> Any:
    assert exchange.request is not None
    message = exchange.request.message()
    assert message is not None
    return message.body


@pytest.mark.parametrize("name", ["first-contact", "transactions"])
def test_a_mock_gets_what_the_broker_got(cli: Cli, kdbg_mock: Callable[..., RunningMock], name: str) -> None:
    """Connection by connection, in its order, by the same client; ids of the mock are those of the capture."""
    path = CAPTURES / f"{name}.pcap"
    mock = kdbg_mock(path)
    lines, err = replayed(cli, path, "-b", mock.address)
    with kdbg.read_capture(path) as reading:
        asked = [one for one in reading if one.api is not None]
    assert [line["number"] for line in lines.values()] == [
        one.number for one in sorted(asked, key=lambda one: one.time)
    ]
    differs = {line["api"] for line in lines.values() if line["verdict"] == "differs"}
    assert differs <= {"ApiVersions", "Fetch", "EndTxn", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit"}
    assert {line["tries"] for line in lines.values() if line["verdict"] == "same"} == {1}
    verdicts = Counter(line["verdict"] for line in lines.values())
    counts = [f"{verdicts[each]} {each}" for each in ("same", "differs", "failed", "not compared")]
    assert " · ".join([f"{len(asked)} requests", *counts, f"{len({one.peers for one in asked})} connections"]) in err
    wanted, got = defaultdict(list), defaultdict(list)
    for one in asked:
        if one.api.name != "ApiVersions":
            wanted[one.peers.number].append((one.api.name, one.version, one.client_id, said(one)))
    for one in mock.exchanges():
        if one.api is not None and one.client_id not in (None, "kdbg"):
            got[one.peers.number].append((one.api.name, one.version, one.client_id, said(one)))
    mine = [rows for rows in (without_versions(rows) for rows in got.values()) if rows]
    assert sorted(map(repr, mine)) == sorted(map(repr, (without_sessions(rows) for rows in wanted.values())))


def without_versions(rows: list[Any]) -> list[Any]:
    """What a client sends but ApiVersions, which every connection of now begins with."""
    return without_sessions([row for row in rows if row[0] != "ApiVersions"])


def without_sessions(rows: list[Any]) -> list[Any]:
    return [(*row[:3], None if row[0] == "Fetch" else row[3]) for row in rows]


# Brokers of a script


class Script:
    """Two brokers: node 1 is named to clients; `bodies` says what an API's next answers are, the last for good."""

    def __init__(self, **bodies: list[dict[str, Any]]) -> None:
        self.bodies = bodies
        self.got: list[tuple[int, str, Any]] = []
        self.times: list[float] = []
        self.nodes: list[tuple[str, int]] = []
        self.offered = {0: (7, 9), 3: (1, 9), 10: (1, 2), 12: (0, 3), 18: (0, 3), 19: (2, 4), 22: (0, 1)}

    def serve(self, node: int, sock: socket.socket) -> None:
        with sock:
            while True:
                try:
                    data = read_frame(sock)
                except (ConnectionError, OSError):
                    return
                api, version = grammars.by_key(int.from_bytes(data[:2])), int.from_bytes(data[2:4])
                message = kdbg.decode(data, api=api.key, version=version, direction="request")
                assert message.header is not None
                self.times.append(time.monotonic())
                self.got.append((node, api.name, message.body))
                body = self._body(api.name, message.body)
                if body is None:
                    return
                header = {"correlation_id": message.header["correlation_id"]}
                answer = kdbg.encode(body, api=api.key, version=version, direction="response", header=header)
                sock.sendall(frame(answer))

    def _body(self, name: str, asked: Any) -> dict[str, Any] | None:
        if name in self.bodies:
            rows = self.bodies[name]
            return rows.pop(0) if len(rows) > 1 else rows[0]
        if name == "ApiVersions":
            keys = [{"api_key": key, "min_version": low, "max_version": high}
                    for key, (low, high) in self.offered.items()]  # fmt: skip
            return {"error_code": 0, "api_keys": keys}
        if name == "Metadata":
            return metadata(self.nodes)
        host, port = self.nodes[0]
        return {"FindCoordinator": {"error_code": 0, "node_id": 1, "host": host, "port": port}}.get(name)

    def asked(self, *apis: str) -> list[Any]:
        return [(node, body) for node, name, body in self.got if name in apis]


def metadata(nodes: list[tuple[str, int]]) -> dict[str, Any]:
    """Partition 0 of orders is led by the second node, which is the controller as well."""
    part = {"error_code": 0, "partition_index": 0, "leader_id": 2, "replica_nodes": [1, 2], "isr_nodes": [1, 2]}
    return {
        "brokers": [{"node_id": number, "host": host, "port": port} for number, (host, port) in enumerate(nodes, 1)],
        "controller_id": 2,
        "topics": [{"error_code": 0, "name": "orders", "is_internal": False, "partitions": [part]}],
    }  # fmt: skip


@contextmanager
def scripted(**bodies: list[dict[str, Any]]) -> Iterator[Script]:
    with ExitStack() as stack:
        script = Script(**bodies)
        for node in (1, 2):
            script.nodes.append(stack.enter_context(broker(lambda sock, node=node: script.serve(node, sock))))
        yield script


def at(script: Script) -> str:
    host, port = script.nodes[0]
    return f"{host}:{port}"


def produce(producer: int = -1, sequence: int = -1, transactional_id: str | None = None) -> dict[str, Any]:
    batch = {"producer_id": producer, "producer_epoch": 3, "base_sequence": sequence, "attributes": 0,
             "records": [{"key": None, "value": b"x"}]}  # fmt: skip
    data = [{"name": "orders", "partition_data": [{"index": 0, "records": [batch]}]}]
    return {"transactional_id": transactional_id, "acks": -1, "timeout_ms": 1, "topic_data": data}


PRODUCED = {"responses": [{"name": "orders", "partition_responses": [{"index": 0, "error_code": 0,
                                                                       "base_offset": 0}]}]}  # fmt: skip
HEARTBEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}
TOPIC = {"name": "letters", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}


def known() -> Talk:
    """A connection with the first broker, that says who the brokers are."""
    return Talk(broker=OLD).ask("Metadata", 1, topics=None).answer(**metadata([OLD, NEW]))


def test_each_request_goes_to_the_broker_it_belongs_to(cli: Cli, write: Callable[..., Path]) -> None:
    """What belongs to none goes to the one that stands for the broker of the capture."""
    talk = known()
    talk.ask("Produce", 7, **produce()).answer(**PRODUCED)
    talk.ask("Heartbeat", 2, **HEARTBEAT).answer(error_code=0)
    talk.ask("CreateTopics", 2, topics=[TOPIC], timeout_ms=1).answer(topics=[{"name": "letters", "error_code": 0}])
    other = Talk(broker=NEW, client=("10.0.0.9", 5), at=100, client_id="other").ask("Metadata", 1, topics=[])
    other.answer(**metadata([OLD, NEW]))
    with scripted(Produce=[PRODUCED], Heartbeat=[{"error_code": 0}],
                  CreateTopics=[{"topics": [{"name": "letters", "error_code": 36}]}]) as script:  # fmt: skip
        lines, err = replayed(cli, write(talk.end(), other.end()), "-b", at(script), timeout=0.3)
        assert [node for node, _ in script.asked("Produce", "Heartbeat", "CreateTopics")][:3] == [2, 1, 2]
        assert script.got[-1][:2] == (2, "Metadata")
        for (node, body), wanted in zip(script.asked("Heartbeat"), [HEARTBEAT], strict=True):
            assert (node, {name: body[name] for name in wanted}) == (1, wanted)
    assert [line["verdict"] for line in lines.values()] == ["same", "same", "same", "differs", "same"]
    assert lines[4]["differences"] == [{"path": "topics[letters].error_code", "captured": 0, "replayed": 36}]
    assert "5 requests · 4 same · 1 differs · 0 failed · 0 not compared · 2 connections" in err


def test_an_answer_that_is_not_the_last_word_is_asked_for_again(cli: Cli, write: Callable[..., Path]) -> None:
    path = write(known().ask("Heartbeat", 2, **HEARTBEAT).answer(error_code=0).end())
    with scripted(Heartbeat=[{"error_code": 15}, {"error_code": 14}, {"error_code": 0}]) as script:
        lines, _ = replayed(cli, path, "-b", at(script))
    assert (lines[2]["verdict"], lines[2]["tries"], lines[2]["differences"]) == ("same", 3, [])
    with scripted(Heartbeat=[{"error_code": 15}]) as script:
        lines, _ = replayed(cli, path, "-b", at(script), timeout=0.2)
    assert (lines[2]["verdict"], lines[2]["tries"] > 1) == ("differs", True)
    with scripted(Heartbeat=[{"error_code": 25}]) as script:
        lines, _ = replayed(cli, path, "-b", at(script), timeout=0.2)
    assert (lines[2]["verdict"], lines[2]["tries"]) == ("differs", 1)


def test_requests_are_as_far_apart_as_in_the_capture_or_a_part_of_it(cli: Cli, write: Callable[..., Path]) -> None:
    talk = known()
    later = Talk(broker=OLD, client=("10.0.0.9", 5), at=4_000).ask("Metadata", 1, topics=[])
    path = write(talk.end(), later.answer(**metadata([OLD, NEW])).end())
    with scripted() as script:
        found = cli("replay", path, "-b", at(script), "--speed", "20", "-f", "json")
        assert [line["verdict"] for line in found.lines] == ["same", "same"]
        asked = [moment for moment, (_, name, body) in zip(script.times, script.got, strict=True)
                 if name == "Metadata" and body["topics"] == []]  # fmt: skip
        first = script.times[0]
    assert asked[-1] - first >= 3.9 / 20


def test_topics_that_are_created_have_leaders_before_anything_is_sent(cli: Cli, write: Callable[..., Path]) -> None:
    path = write(known().ask("Produce", 7, **produce()).answer(**PRODUCED).end())
    created = {"topics": [{"name": "orders", "error_code": 0, "error_message": None}]}
    with scripted(Produce=[PRODUCED], CreateTopics=[created]) as script:
        nobody, led = metadata(script.nodes), metadata(script.nodes)
        nobody["topics"][0]["partitions"][0]["leader_id"] = -1
        script.bodies["Metadata"] = [led, *[nobody] * 3, led]
        lines, err = replayed(cli, path, "-b", at(script), "--create-topics")
        names = [name for _, name, _ in script.got]
        between = names[names.index("CreateTopics") : names.index("Produce")]
    assert between.count("Metadata") >= 3
    assert lines[2]["verdict"] == "same"
    assert "was not created" not in err


def test_a_producer_of_before_the_capture_is_asked_for(cli: Cli, write: Callable[..., Path]) -> None:
    talk = known()
    for sequence in (40, 41):
        talk.ask("Produce", 7, **produce(77, sequence, "tx")).answer(**PRODUCED)
    given = {"error_code": 0, "producer_id": 900, "producer_epoch": 5}
    with scripted(Produce=[PRODUCED], InitProducerId=[given]) as script:
        lines, _ = replayed(cli, write(talk.end()), "-b", at(script))
        ((_, asked),) = script.asked("InitProducerId")
        sent = [body["topic_data"][0]["partition_data"][0]["records"][0] for _, body in script.asked("Produce")]
    assert (asked["transactional_id"], asked["transaction_timeout_ms"]) == ("tx", 60_000)
    assert [(one["producer_id"], one["producer_epoch"], one["base_sequence"]) for one in sent] == [
        (900, 5, 0), (900, 5, 1)]  # fmt: skip
    assert [line["verdict"] for line in lines.values()] == ["same"] * 3
    with scripted(Produce=[PRODUCED], InitProducerId=[{**given, "error_code": 53}]) as script:
        replayed(cli, write(talk), "-b", at(script))
        (_, body), *_ = script.asked("Produce")
        assert body["topic_data"][0]["partition_data"][0]["records"][0]["producer_id"] == 77


def test_what_cannot_be_sent_says_why(cli: Cli, write: Callable[..., Path]) -> None:
    talk = known().ask("SaslHandshake", 1, mechanism="PLAIN").answer(error_code=0, mechanisms=["PLAIN"])
    talk.ask("ListGroups", 0).answer(error_code=0, groups=[])
    talk.ask("Heartbeat", 2, **HEARTBEAT)
    talk.ask("Produce", 7, **{**produce(), "acks": 0})
    with scripted(Produce=[PRODUCED], Heartbeat=[{"error_code": 0}]) as script:
        lines, _ = replayed(cli, write(talk.end()), "-b", at(script))
    assert {line["api"]: (line["verdict"], line["why"]) for line in lines.values()} == {
        "Metadata": ("same", None),
        "SaslHandshake": ("not compared", "captured SASL login; the replay uses its own options"),
        "ListGroups": ("failed", "ListGroups: the broker does not support the API"),
        "Heartbeat": ("not compared", "no response in the capture"),
        "Produce": ("not compared", "no response expected (acks=0)"),
    }


def test_a_connection_that_breaks_fails_its_request(cli: Cli, write: Callable[..., Path]) -> None:
    path = write(known().ask("Heartbeat", 2, **HEARTBEAT).answer(error_code=0).end())
    with scripted() as script:
        lines, _ = replayed(cli, path, "-b", at(script), timeout=0.3)
    assert [line["verdict"] for line in lines.values()] == ["same", "failed"]
    assert "Heartbeat" in lines[2]["api"]


def test_topics_are_created_first(cli: Cli, write: Callable[..., Path]) -> None:
    path = write(known().ask("Produce", 7, **produce()).answer(**PRODUCED).end())
    for code in (0, 36, 17):
        created = {"topics": [{"name": "orders", "error_code": code, "error_message": None}]}
        with scripted(Produce=[PRODUCED], CreateTopics=[created]) as script:
            _, err = replayed(cli, path, "-b", at(script), "--create-topics", timeout=0.3)
            names = [name for _, name, _ in script.got]
            assert names.index("CreateTopics") < names.index("Produce")
            ((node, asked),) = script.asked("CreateTopics")
        (topic,) = asked["topics"]
        assert (node, topic["name"], topic["num_partitions"], topic["replication_factor"]) == (2, "orders", 1, 2)
        assert ("topic orders was not created: INVALID_TOPIC_EXCEPTION" in err) is (code == 17)
    with scripted(Produce=[PRODUCED]) as script:
        del script.offered[19]
        _, err = replayed(cli, path, "-b", at(script), "--create-topics")
        assert not script.asked("CreateTopics")
    assert "kdbg: no topics created: the broker does not support CreateTopics" in err.splitlines()
