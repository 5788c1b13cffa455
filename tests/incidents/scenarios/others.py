"""What is not a plain client or not Apache's broker: Kafka Streams, Connect, MirrorMaker; other authors' brokers."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from urllib.request import Request, urlopen

from ..incident import Bytes, Incident, Shown, healthy
from ..platforms import TEXT, connect, fresh, word_count
from ..stage import PATIENCE, Stage, ended, until

ONE, STRICT, FRESH = "127.0.0.11:9092", "127.0.0.31:9092", "127.0.0.51:9092"
LINES = ("the quick brown fox", "jumps over the lazy dog", "the dog sleeps", "a fox is quick")


def stopped(process: subprocess.Popen[bytes]) -> None:
    """End a program in good order."""
    process.send_signal(signal.SIGTERM)
    ended(process, PATIENCE)


def words(stage: Stage, name: str = "essays", **settings: str) -> None:
    """Two instances of an application that counts words; the second comes later, and goes before the first."""
    stage.topic(name, partitions=2)
    stage.topic(f"{name}-counts", partitions=2)
    told = {
        "bootstrap.servers": ONE, "application.id": f"{name}-counter", "commit.interval.ms": 1000,
        "heartbeat.interval.ms": 1000, "session.timeout.ms": 10_000, "num.stream.threads": 1,
        "replication.factor": 1,
    } | settings  # fmt: skip
    if settings.get("group.protocol"):
        told = {key: value for key, value in told.items() if "timeout" not in key and "interval" not in key}
    with stage.recording(), stage.producer(f"{name}-desk") as writer:
        first = word_count(name, f"{name}-counts", 20, fresh("state-1"), told | {"client.id": f"{name}-1"})
        second = None
        for number in range(32):
            writer.produce(name, LINES[number % 4], key=f"page {number}")
            writer.flush(PATIENCE)
            time.sleep(0.6)
            if number == 8:
                second = word_count(name, f"{name}-counts", 8, fresh("state-2"), told | {"client.id": f"{name}-2"})
        if second is not None:
            ended(second)
        ended(first)


def restored(stage: Stage) -> None:
    """An application starts again with an empty disk, and restores its state from the changelog; exactly once."""
    stage.topic("novels")
    stage.topic("novels-counts")
    stage.fill("novels", *(LINES[number % 4] for number in range(60)))
    told = {
        "bootstrap.servers": ONE, "application.id": "novel-counter", "client.id": "novel-1",
        "commit.interval.ms": 500, "heartbeat.interval.ms": 1000, "processing.guarantee": "exactly_once_v2",
        "auto.offset.reset": "earliest", "replication.factor": 1,
    }  # fmt: skip
    with stage.recording():
        for number in range(2):
            ended(word_count("novels", "novels-counts", 6, fresh(f"state-{number}"), told))


def without_source(stage: Stage, there: bool = False) -> None:
    """An application whose source topic nobody has made."""
    stage.no_topic("minutes")
    stage.topic("minutes-counts")
    if there:
        stage.topic("minutes")
    told = {
        "bootstrap.servers": STRICT, "application.id": "minute-counter", "client.id": "minutes-1",
        "heartbeat.interval.ms": 1000, "replication.factor": 1, "metadata.max.age.ms": 1000,
    }  # fmt: skip
    with stage.recording():
        ended(word_count("minutes", "minutes-counts", 8, fresh("state-1"), told))


def file_connectors(stage: Stage) -> None:
    """A worker of Connect on its own: lines of a file become records, which become lines of another file."""
    stage.topic("ledger")
    folder = fresh("connect")
    (folder / "in.txt").write_text("")
    worker = {
        "bootstrap.servers": ONE, "key.converter": TEXT, "value.converter": TEXT, "listeners": "http://127.0.0.1:8083",
        "offset.storage.file.filename": folder / "offsets", "offset.flush.interval.ms": 2000,
        "plugin.discovery": "only_scan", "consumer.heartbeat.interval.ms": 1000,
    }  # fmt: skip
    source = {
        "name": "ledger-in", "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": 1, "file": folder / "in.txt", "topic": "ledger",
    }  # fmt: skip
    sink = {
        "name": "ledger-out", "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "tasks.max": 1, "file": folder / "out.txt", "topics": "ledger",
    }  # fmt: skip
    with stage.recording():
        process = connect("cli.ConnectStandalone", folder, worker, source, sink)
        until(lambda: (folder / "out.txt").exists(), 60)
        for number in range(30):
            _append(folder / "in.txt", f"entry {number}\n")
            time.sleep(0.3)
        until(lambda: "entry 29" in (folder / "out.txt").read_text())
        stopped(process)


def distributed(stage: Stage) -> None:
    """Two workers of Connect share the tasks of a source; the second one joins later, and leaves."""
    stage.topic("journal")
    folder = fresh("distributed")
    (folder / "in.txt").write_text("")
    worker = {
        "bootstrap.servers": ONE, "group.id": "journal-workers", "key.converter": TEXT, "value.converter": TEXT,
        "offset.flush.interval.ms": 2000, "plugin.discovery": "only_scan", "heartbeat.interval.ms": 1000,
        "session.timeout.ms": 10_000, "scheduled.rebalance.max.delay.ms": 1000, "offset.storage.partitions": 3,
        "status.storage.partitions": 2,
    }  # fmt: skip
    for store in ("offset", "config", "status"):
        worker |= {f"{store}.storage.topic": f"journal-{store}s", f"{store}.storage.replication.factor": 1}
    source = {
        "name": "journal-in", "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "1", "file": str(folder / "in.txt"), "topic": "journal",
    }  # fmt: skip
    with stage.recording():
        first, second = (_worker(folder, number, worker) for number in (1, 2))
        time.sleep(10)
        until(lambda: _runs(source), 60)
        for number in range(40):
            _append(folder / "in.txt", f"entry {number}\n")
            time.sleep(0.4)
            if number == 25:
                stopped(second)
        stopped(first)


def _worker(folder: Path, number: int, settings: Mapping[str, object]) -> subprocess.Popen[bytes]:
    address = {"listeners": f"http://127.0.0.1:{8082 + number}", "client.id": f"journal-worker-{number}"}
    return connect("cli.ConnectDistributed", fresh(f"distributed/{number}"), {**settings, **address})


def _runs(config: Mapping[str, object]) -> bool:
    """Ask the first worker to run a connector; False while it is not ready to."""
    body = json.dumps({"name": config["name"], "config": config}).encode()
    asked = Request("http://127.0.0.1:8083/connectors", body, {"Content-Type": "application/json"})
    time.sleep(4)
    with suppress(OSError), urlopen(asked, timeout=PATIENCE) as response:
        return bool(response.status == HTTPStatus.CREATED)
    return False


def _append(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(line)


def mirrored(stage: Stage) -> None:
    """MirrorMaker 2 copies a topic and a group's offsets from one cluster to another."""
    stage.beside("fresh")
    stage.topic("stations", partitions=2)
    folder = fresh("mirror")
    topics = {f"{name}.topic.replication.factor": 1 for name in ("checkpoints", "heartbeats", "offset-syncs")}
    stores = {f"{name}.storage.replication.factor": 1 for name in ("offset", "status", "config")}
    settings = {
        "clusters": "north, south", "north.bootstrap.servers": ONE, "south.bootstrap.servers": FRESH,
        "north->south.enabled": "true", "south->north.enabled": "false", "topics": "stations", "groups": "station-maps",
        "replication.factor": 1, **topics, **stores, "offset.storage.partitions": 3, "status.storage.partitions": 2,
        "refresh.topics.interval.seconds": 5, "sync.group.offsets.enabled": "true",
        "emit.checkpoints.interval.seconds": 3, "sync.group.offsets.interval.seconds": 3,
        "offset.flush.interval.ms": 3000, "dedicated.mode.enable.internal.rest": "false",
        "north->south.emit.heartbeats.enabled": "true", "plugin.discovery": "only_scan",
    }  # fmt: skip
    with (
        stage.recording(),
        stage.producer("station-master") as writer,
        stage.consumer("station-map", "station-maps", "stations", session_timeout_ms=10_000) as reader,
    ):
        process = connect("mirror.MirrorMaker", folder, settings)
        for number in range(60):
            writer.produce("stations", f"train {number} arrives")
            writer.flush(PATIENCE)
            if (message := reader.poll(0.1)) is not None and message.error() is None:
                reader.commit(message, asynchronous=False)
            time.sleep(0.4)
        stopped(process)


INCIDENTS = (
    healthy("streams-count-words", "one", words, "rebalance storm, feedback loop, unknown topics",
            Shown("Produce", client_id="essays-1-StreamThread-1-producer", at_least=3),
            Shown("JoinGroup", client_id="essays-2-StreamThread-1-consumer")),
    healthy("streams-count-words-new-protocol", "one",
            partial(words, name="poems", **{"group.protocol": "streams"}), "rebalance storm, feedback loop",
            Shown("StreamsGroupHeartbeat", at_least=4)),
    healthy("streams-state-restored", "one", restored, "lost records, failing transactions",
            Shown("EndTxn", at_least=2), Shown("TxnOffsetCommit", at_least=2)),
    healthy("connect-files", "one", file_connectors, "feedback loop, a group of one",
            Shown("Produce", client_id="connector-producer-ledger-in-0", at_least=3),
            Shown("Fetch", client_id="connector-consumer-ledger-out-0", at_least=3)),
    healthy("connect-two-workers", "one", distributed, "rebalance storm, feedback loop",
            Shown("JoinGroup", where="request.group_id == 'journal-workers'", at_least=3),
            Shown("Produce", client_id="connector-producer-journal-in-0", at_least=3)),
    healthy("mirror-of-a-cluster", "one", mirrored, "two clusters mixed, unknown topics, no coordinator",
            Bytes(b"north.stations"), Shown("CreateTopics", at_least=3)),
    Incident(
        "streams-without-its-source", "unknown-topic", "strict", without_source,
        {"client_id": "minutes-1-StreamThread-1-consumer", "topic": "minutes"},
        (Shown("Metadata", where="response.topics.exists(t, t.name == 'minutes' && t.error_code == 3)"),),
        "make the topic, or correct its name", partial(without_source, there=True),
    ),
)  # fmt: skip
