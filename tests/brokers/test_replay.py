"""Captured sessions of real clients, asked of other brokers again, and answered to clients without any broker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import kdbg

from .classpath import classpath
from .cluster import Cluster, start
from .java import QUICK
from .java import java as jvm
from .pool import Pool
from .settings import logging_options

PATIENCE = 60
CLIENTS = Path(__file__).parent.parent / "recording" / "clients"
MESSAGES = 20


def produce(address: str, tag: str) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "client.id": "maker", "enable.idempotence": True})
    for number in range(MESSAGES):
        producer.produce(f"rides-{tag}", f"to station {number}", key=str(number))
    assert producer.flush(PATIENCE) == 0


def consume(address: str, tag: str, protocol: str, group: str = "") -> list[bytes | None]:
    from confluent_kafka import Consumer

    where: dict[str, Any] = {"bootstrap.servers": address, "auto.offset.reset": "earliest"}
    consumer = Consumer(where | {"group.id": group or f"{protocol}-{tag}", "group.protocol": protocol})
    consumer.subscribe([f"rides-{tag}"])
    found: list[bytes | None] = []
    while len(found) < MESSAGES:
        messages = consumer.consume(MESSAGES, PATIENCE)
        assert messages
        found += [message.value() for message in messages if message.error() is None]
    consumer.commit(asynchronous=False)
    consumer.close()
    return found


def transact(address: str, tag: str) -> None:
    from confluent_kafka import Producer

    ledger = Producer({"bootstrap.servers": address, "transactional.id": f"ledger-{tag}"})
    ledger.init_transactions(PATIENCE)
    for text in ("debit", "credit"):
        ledger.begin_transaction()
        ledger.produce(f"transfers-{tag}", text)
        ledger.commit_transaction(PATIENCE)
    ledger.begin_transaction()
    ledger.produce(f"transfers-{tag}", "mistake")
    ledger.flush(PATIENCE)
    ledger.abort_transaction(PATIENCE)


SESSIONS = {
    "produce": lambda address, tag: produce(address, tag),
    "classic group": lambda address, tag: consume(address, tag, "classic"),
    "new group": lambda address, tag: consume(address, tag, "consumer"),
    "transactions": lambda address, tag: transact(address, tag),
}


@pytest.fixture(scope="module")
def recorded(brokers: Pool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of librdkafka's sessions with Kafka 4, one after the other."""
    pytest.importorskip("confluent_kafka")
    tag = f"r{os.getpid()}"
    path = tmp_path_factory.mktemp("recorded") / f"{tag}.pcap"
    with kdbg.proxy(brokers.cluster("4").brokers[0].bootstrap) as proxy:
        for session in SESSIONS.values():
            session(proxy.address, tag)
        path.write_bytes(proxy.capture)
    return path


@pytest.fixture(scope="module")
def fresh() -> Iterator[Cluster]:
    """A broker of the same release, for these tests alone."""
    with start("4") as cluster:
        yield cluster


class Outcome(NamedTuple):
    """What `kdbg replay` made of a capture: its status, a line for each request, and the closing line."""

    status: int
    lines: list[dict[str, Any]]
    closing: str

    def verdicts(self, verdict: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["verdict"] == verdict]


def replay(path: Path, address: str, *arguments: str) -> Outcome:
    command = [sys.executable, "-m", "kdbg", "replay", str(path), "-b", address, "-f", "json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert "Traceback" not in done.stderr, done.stderr
    return Outcome(done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr)


class First(NamedTuple):
    """The capture played to a broker for the first time, at its own speed: what came of it, and its seconds."""

    broker: Cluster
    outcome: Outcome
    seconds: float


@pytest.fixture(scope="module")
def first(recorded: Path) -> Iterator[First]:
    """A broker that nobody has used, and then nobody but these tests."""
    with start("4") as cluster:
        begun = time.monotonic()
        outcome = replay(recorded, cluster.brokers[0].bootstrap, "--create-topics")
        yield First(cluster, outcome, time.monotonic() - begun)


def test_a_fresh_broker_of_the_same_version_answers_the_same(recorded: Path, first: First) -> None:
    exchanges = list(kdbg.read_capture(recorded))
    took = (max(one.time for one in exchanges) - min(one.time for one in exchanges)) / 1e9
    found = first.outcome
    assert [line for line in found.lines if line["verdict"] not in ("same", "not compared")] == []
    assert found.status == 0
    assert first.seconds > took, "at the speed of the capture"
    assert all(line["why"] == "no response in the capture" for line in found.verdicts("not compared"))
    asked = {line["api"] for line in found.verdicts("same")}
    assert asked >= {"Produce", "Fetch", "JoinGroup", "SyncGroup", "ConsumerGroupHeartbeat", "OffsetCommit",
                     "InitProducerId", "AddPartitionsToTxn", "EndTxn", "LeaveGroup"}  # fmt: skip


def test_topics_that_hold_something_already_move_all_offsets(recorded: Path, first: First) -> None:
    found = replay(recorded, first.broker.brokers[0].bootstrap, "--speed", "max")
    assert found.verdicts("failed") == []
    assert {line["api"] for line in found.verdicts("differs")} <= {"OffsetFetch", "ListOffsets"}, (
        "what was there before"
    )
    assert "Fetch" in {line["api"] for line in found.verdicts("same")}


def test_another_version_differs_in_what_is_named(recorded: Path, brokers: Pool) -> None:
    found = replay(recorded, brokers.cluster("3.9").brokers[0].bootstrap, "--create-topics", "--speed", "max")
    assert found.status == 1
    versions = next(line for line in found.lines if line["api"] == "ApiVersions")
    assert {"path": "api_keys[0].max_version", "captured": 13, "replayed": 11} in versions["differences"]
    group = next(line for line in found.lines if line["api"] == "ConsumerGroupHeartbeat")
    assert (group["api_version"], group["sent_version"]) == (1, 0)
    assert {"path": "error_code", "captured": 0, "replayed": 35} in group["differences"]
    same = {line["api"] for line in found.verdicts("same")}
    assert same >= {"Produce", "Fetch", "JoinGroup", "SyncGroup", "InitProducerId", "EndTxn"}


def test_an_old_version_is_spoken_as_far_as_it_can(recorded: Path, brokers: Pool) -> None:
    found = replay(recorded, brokers.cluster("2.8").brokers[0].bootstrap, "--create-topics", "--speed", "max")
    assert found.status == 1
    failed = {line["why"] for line in found.verdicts("failed")}
    assert failed == {"ConsumerGroupHeartbeat: the broker does not support the API"}
    sent = {line["api"]: line["sent_version"] for line in found.lines}
    assert (sent["Metadata"], sent["Fetch"], sent["OffsetFetch"]) == (11, 12, 7)
    assert {"Produce", "Fetch", "JoinGroup", "OffsetFetch"} <= {line["api"] for line in found.verdicts("same")}


@pytest.mark.nightly
def test_what_is_missing_is_named(recorded: Path, fresh: Cluster, tmp_path: Path) -> None:
    """Consumers alone, without what was produced: their fetches lack records."""
    tag = f"missing{os.getpid()}"
    with kdbg.proxy(fresh.brokers[0].bootstrap) as proxy:
        produce(fresh.brokers[0].bootstrap, tag)
        consume(proxy.address, tag, "classic")
        path = tmp_path / "consumer.pcap"
        path.write_bytes(proxy.capture)
    with start("4") as cluster:
        found = replay(path, cluster.brokers[0].bootstrap, "--create-topics", "--speed", "max", "--timeout", "2")
    (fetch,) = found.verdicts("differs")
    assert fetch["api"] == "Fetch"
    assert fetch["tries"] > 1
    assert len(fetch["differences"]) == MESSAGES
    assert fetch["differences"][0]["path"] == f"responses[rides-{tag}].partitions[0].records[0]"


def test_a_cluster_of_three_gets_what_one_broker_got(recorded: Path, brokers: Pool) -> None:
    cluster = brokers.cluster("4", nodes=3)
    found = replay(recorded, cluster.brokers[0].bootstrap, "--create-topics", "--speed", "max")
    assert found.verdicts("failed") == []
    assert found.verdicts("differs") == []


def java(cluster: Cluster, address: str) -> None:
    options = [*QUICK, "-Xmx128m", *logging_options(cluster.home, cluster.release, "ERROR")]
    jars = classpath(cluster.release.broker_artifacts)
    subprocess.run([jvm(), *options, "-cp", jars, str(CLIENTS / "Transactions.java"), address], check=True, timeout=120)


@pytest.mark.nightly  # compiles and runs Java three times; by day other clients are played again and served
def test_the_java_client_is_played_again_and_served(fresh: Cluster, tmp_path: Path) -> None:
    with start("4") as cluster:
        with kdbg.proxy(cluster.brokers[0].bootstrap) as proxy:
            java(cluster, proxy.address)
            path = tmp_path / "java.pcap"
            path.write_bytes(proxy.capture)
        with kdbg.mock(path) as mock:
            java(cluster, mock.address)  # the same program, and no broker
            assert mock.not_recorded == []
    found = replay(path, fresh.brokers[0].bootstrap, "--create-topics", "--speed", "max")
    assert found.verdicts("differs") + found.verdicts("failed") == []


def test_the_recorded_client_is_served_without_a_broker(recorded: Path) -> None:
    tag = recorded.stem
    with kdbg.mock(recorded) as mock:
        for session in SESSIONS.values():
            session(mock.address, tag)
        assert mock.not_recorded == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_another_client_of_the_same_kind_is_served(recorded: Path, protocol: str) -> None:
    with kdbg.mock(recorded) as mock:
        found = consume(mock.address, recorded.stem, protocol, group="quite-another")
        assert found == [b"to station %d" % number for number in range(MESSAGES)]
        assert mock.not_recorded == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a dependency of kafka-python
def test_a_client_of_another_kind_is_served(recorded: Path) -> None:
    kafka = pytest.importorskip("kafka")
    topic = f"rides-{recorded.stem}"
    with kdbg.mock(recorded) as mock:
        sender = kafka.KafkaProducer(bootstrap_servers=mock.address)
        assert sender.send(topic, b"hello").get(30).topic == topic
        sender.close()
        reader = kafka.KafkaConsumer(
            topic, bootstrap_servers=mock.address, group_id="python", auto_offset_reset="earliest"
        )
        seen: list[Any] = []
        while len(seen) < MESSAGES:
            seen += [record.value for records in reader.poll(1000).values() for record in records]
        reader.close()
        assert seen == [b"to station %d" % number for number in range(MESSAGES)]


@pytest.mark.nightly
def test_a_broker_that_dies_amid_the_run_is_said(recorded: Path) -> None:
    with start("4") as cluster:
        broker = cluster.brokers[0]
        command = [sys.executable, "-m", "kdbg", "replay", str(recorded), "-b", broker.bootstrap, "--create-topics",
                   "--timeout", "3", "--speed", "0.2"]  # fmt: skip
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert running.stdout is not None
        running.stdout.readline()
        broker.kill()
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode in (1, 130)
    assert "Traceback" not in err
    assert " requests · " in err or " request · " in err
    assert "leaked" not in err + out
