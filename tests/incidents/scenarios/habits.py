"""Programs that work, and cost more than they need: too many requests, connections, round trips, bytes for a line."""

from __future__ import annotations

import socket
import struct
import time
from contextlib import ExitStack, suppress
from functools import partial

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import ConfigResource

import kdbg

from ..clusters import FAR, LINE_PORT, NEAR
from ..foreign import java_client
from ..handmade import Handmade, handmade
from ..incident import Incident, Packets, Shown
from ..line import DEVICE
from ..stage import PATIENCE, Stage, apart, ended
from .administration import script
from .groups import polled

ONE, LINE = "127.0.0.11:9092", f"{NEAR}:{LINE_PORT}"


def asks_for_metadata(stage: Stage, pause: float = 0.01) -> None:
    """A program that looks whether its topic is there before each record."""
    stage.topic("prices")
    with stage.recording(), stage.producer("price-feed", linger_ms=0) as writer:
        end, number = time.monotonic() + 4, 0
        while time.monotonic() < end:
            if pause < 1 or number == 0:
                writer.list_topics("prices", PATIENCE)
            if number % 10 == 0:
                writer.produce("prices", f"price {number}")
            writer.poll(0)
            time.sleep(min(pause, 0.05))
            number += 1
        writer.flush(PATIENCE)


def asks_for_metadata_in_python(stage: Stage, pause: float = 0.01) -> None:
    from kafka import KafkaConsumer

    stage.topic("prices")

    def look() -> None:
        reader = KafkaConsumer(bootstrap_servers=ONE, client_id="price-board", group_id=None)
        end = time.monotonic() + 4
        while time.monotonic() < end:
            reader.topics()
            time.sleep(pause)

    with stage.recording():
        apart(look)


def describes(stage: Stage, pause: float = 0.0) -> None:
    """A monitor that describes the settings of a topic without a pause."""
    stage.topic("prices")
    admin = script("config-watch")
    with stage.recording():
        end = time.monotonic() + 3
        while time.monotonic() < end:
            for done in admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, "prices")]).values():
                done.result(PATIENCE)
            time.sleep(pause)


def measures_lag(stage: Stage, pause: float = 0.0) -> None:
    """A monitor of lag that fetches the offsets of a group without a pause."""
    stage.topic("prices")
    with stage.consumer("setup", "price-views") as reader:
        reader.commit(offsets=[TopicPartition("prices", 0, 0)], asynchronous=False)
    admin = script("lag-watch")
    with stage.recording():
        end = time.monotonic() + 3
        while time.monotonic() < end:
            with suppress(KafkaException):
                for done in admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("price-views")]).values():
                    done.result(PATIENCE)
            time.sleep(pause)


def one_after_another(stage: Stage, together: int = 1) -> None:
    """A producer that waits for each record before it sends the next, over a line of 6 ms each way."""
    stage.topic("audits")
    line = stage.line()
    line.becomes(delay=0.006)

    def work() -> None:
        with stage.producer("audit-trail", bootstrap_servers=LINE, linger_ms=0 if together == 1 else 20) as writer:
            for number in range(150):
                writer.produce("audits", f"audit {number}")
                if number % together == 0:
                    writer.flush(PATIENCE)
            writer.flush(PATIENCE)

    with stage.recording("tcp", DEVICE):
        line.at_far_end(work)


def one_after_another_in_java(stage: Stage, count: int = 150, batch: int = 1) -> None:
    stage.topic("audits")
    line = stage.line()
    line.becomes(delay=0.006)
    settings = {"bootstrap.servers": LINE, "client.id": "audit-job", "do.count": count, "do.pause": 0}
    with stage.recording("tcp", DEVICE):
        ended(java_client("produce", "audits", settings | {"do.batch": batch, "linger.ms": 5}, enter=line.enter))


def leaks(stage: Stage, once: bool = False) -> None:
    """A program that makes a client for each of its tasks, and never closes one."""
    stage.topic("tasks")
    with stage.recording(), ExitStack() as opened:
        for number in range(30):
            if number == 0 or not once:
                writer = opened.enter_context(stage.producer("task-server"))
            writer.produce("tasks", f"task {number}")
            writer.flush(PATIENCE)
            time.sleep(0.15)


class Piecewise(Handmade):
    """Sends the length of a request and the request itself by two calls, as a naive client does."""

    def send(self, api: str, version: int, **body: object) -> None:
        request = kdbg.encode(body, api=api, version=version, direction="request", header=self._next())
        self.asked[self.correlation_id] = (api, version)
        self.socket.sendall(struct.pack(">i", len(request)))
        self.socket.sendall(request)


def in_two_pieces(stage: Stage, nagle: bool = True) -> None:
    """Nagle's algorithm keeps the second piece back until the first is acknowledged; the broker delays that."""
    stage.topic("meters")
    with stage.recording():
        client = Piecewise("meter-driver", ONE)
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not nagle)
        client.ask("ApiVersions", 0)
        for _ in range(60):
            client.ask("Metadata", 4, topics=[{"name": "meters"}], allow_auto_topic_creation=False)
        client.close()


def narrow(stage: Stage, rate: float = 40_000) -> None:
    """A line that is full: what the producer has to send takes longer than it may."""
    stage.topic("films")
    line = stage.line()
    line.becomes(rate=rate)

    def work() -> None:
        options = {"bootstrap_servers": LINE, "compression_type": "none", "linger_ms": 5, "batch_num_messages": 4}
        with stage.producer("film-upload", **options) as writer:
            for _ in range(100):
                writer.produce("films", "f" * 4000)
                writer.poll(0.02)
            writer.flush(9)

    with stage.recording("tcp", DEVICE):
        line.at_far_end(work)


def narrow_for_java(stage: Stage, rate: float = 40_000) -> None:
    stage.topic("films")
    line = stage.line()
    line.becomes(rate=rate)
    settings = {
        "bootstrap.servers": LINE, "client.id": "film-archive", "do.count": 20, "do.batch": 5, "do.value": 4000,
        "do.pause": 10, "request.timeout.ms": 15_000, "delivery.timeout.ms": 20_000,
    }  # fmt: skip
    with stage.recording("tcp", DEVICE):
        ended(java_client("produce", "films", settings, enter=line.enter))


def forgotten(stage: Stage, after: float = 2.0) -> None:
    """A firewall that forgets connections which are silent for two seconds: the response of a long poll is dropped."""
    stage.topic("visits")
    stage.fill("visits", "visit 1")
    line = stage.line()
    line.becomes(forgets=after)

    def work() -> None:
        options = {"fetch_wait_max_ms": 4000, "socket_timeout_ms": 6000, "bootstrap_servers": LINE}
        with stage.consumer("visit-board", "visit-boards", **options) as reader:
            reader.assign([TopicPartition("visits", 0, 0)])
            polled(reader, seconds=20)

    with stage.recording("tcp", DEVICE):
        line.at_far_end(work)


def out_of_order(stage: Stage, jitter: float = 0.02) -> None:
    """A line on which packets overtake one another."""
    stage.topic("scans")
    line = stage.line()
    line.becomes(jitter=jitter, delay=0.005)

    def work() -> None:
        options = {"bootstrap_servers": LINE, "compression_type": "none", "linger_ms": 20}
        with stage.producer("scan-upload", **options) as writer:
            for _ in range(60):
                writer.produce("scans", "s" * 9000)
                writer.poll(0.02)
            writer.flush(PATIENCE)

    with stage.recording("tcp", DEVICE):
        line.at_far_end(work)


def malformed(stage: Stage, whole: bool = False) -> None:
    """A client whose requests of flexible versions lack the tagged fields: the broker closes the connection."""
    stage.topic("meters")
    topics = [{"topic_id": "00000000-0000-0000-0000-000000000000", "name": "meters"}]
    body = {"topics": topics, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
    with stage.recording():
        for _ in range(5):
            with handmade("meter-script", ONE) as client, suppress(OSError):
                client.ask("ApiVersions", 0)
                header = {"correlation_id": 2, "client_id": "meter-script"}
                request = kdbg.encode(body, api="Metadata", version=12, direction="request", header=header)
                request = request if whole else request[:-1]
                client.socket.sendall(struct.pack(">i", len(request)) + request)
                client.socket.recv(4096)
            time.sleep(0.3)


AT_LINE = {"host": FAR, "broker": LINE}
INCIDENTS = (
    Incident(
        "metadata-before-each-record", "repeated-requests", "one", asks_for_metadata,
        {"client_id": "price-feed", "broker": ONE}, (Shown("Metadata", client_id="price-feed", at_least=100),),
        "request Metadata when it is needed", partial(asks_for_metadata, pause=1.0),
    ),
    Incident(
        "metadata-before-each-record-kafka-python", "repeated-requests", "one", asks_for_metadata_in_python,
        {"client_id": "price-board", "broker": ONE}, (Shown("Metadata", client_id="price-board", at_least=30),),
        "request Metadata when it is needed", partial(asks_for_metadata_in_python, pause=1.0),
    ),
    Incident(
        "configs-described-without-pause", "repeated-requests", "one", describes,
        {"client_id": "config-watch", "broker": ONE},
        (Shown("DescribeConfigs", client_id="config-watch", at_least=100),), "a pause of some seconds",
        partial(describes, pause=1.0),
    ),
    Incident(
        "lag-measured-without-pause", "repeated-requests", "one", measures_lag,
        {"client_id": "lag-watch", "broker": ONE}, (Shown("OffsetFetch", client_id="lag-watch", at_least=100),),
        "a pause of some seconds", partial(measures_lag, pause=1.0),
    ),
    Incident(
        "records-one-after-another", "synchronous-producer", "one", one_after_another,
        {"client_id": "audit-trail", "topic": "audits"}, (Shown("Produce", client_id="audit-trail", at_least=100),),
        "send without waiting for each", partial(one_after_another, together=75),
    ),
    Incident(
        "records-one-after-another-java", "synchronous-producer", "one", one_after_another_in_java,
        {"client_id": "audit-job", "topic": "audits"}, (Shown("Produce", client_id="audit-job", at_least=100),),
        "send without waiting for each", partial(one_after_another_in_java, count=2, batch=75),
    ),
    Incident(
        "clients-never-closed", "connection-leak", "one", leaks, {"client_id": "task-server", "broker": ONE},
        (Packets("S", port=9092, at_least=50),), "one client for all tasks; close those that are done",
        partial(leaks, once=True),
    ),
    Incident(
        "request-in-two-pieces", "nagle-delayed-ack", "one", in_two_pieces,
        {"client_id": "meter-driver", "broker": ONE}, (Shown("Metadata", client_id="meter-driver", at_least=50),),
        "TCP_NODELAY, or one write for a request", partial(in_two_pieces, nagle=False),
    ),
    Incident(
        "thin-line-librdkafka", "low-bandwidth", "one", narrow, AT_LINE | {"client_id": "film-upload"},
        (Shown("Produce", client_id="film-upload", at_least=20),), "compression.type, or more bandwidth",
        partial(narrow, rate=0),
    ),
    Incident(
        "thin-line-java", "low-bandwidth", "one", narrow_for_java, AT_LINE | {"client_id": "film-archive"},
        (Shown("Produce", client_id="film-archive", at_least=20),), "compression.type, or more bandwidth",
        partial(narrow_for_java, rate=0),
    ),
    Incident(
        "idle-connections-forgotten", "idle-flow-dropped", "one", forgotten, AT_LINE | {"client_id": "visit-board"},
        (Shown("Fetch", client_id="visit-board"), Packets("S", address=FAR, at_least=8)),
        "fetch.max.wait.ms and connections.max.idle.ms below the firewall's idle timeout",
        partial(forgotten, after=0),
    ),
    Incident(
        "packets-overtake-one-another", "packet-reordering", "one", out_of_order, AT_LINE,
        (Packets("A", address=FAR, at_least=100),), "one path for the packets of a connection",
        partial(out_of_order, jitter=0),
    ),
    Incident(
        "request-without-tagged-fields", "malformed-request", "one", malformed,
        {"client_id": "meter-script", "broker": ONE}, (Packets("F", port=9092, at_least=5),),
        "a correct encoder of requests", partial(malformed, whole=True),
    ),
)  # fmt: skip
