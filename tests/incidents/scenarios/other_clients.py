"""Failures of other tables once more, by kafka-python and Java: what a rule must not take from one client."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from ..foreign import java_client
from ..incident import Incident, Shown
from ..stage import PATIENCE, Stage, apart, ended
from .groups import SHORT, alive, polled

ONE, STRICT, LONELY, NARROW = "127.0.0.11:9092", "127.0.0.31:9092", "127.0.0.71:9092", "127.0.0.81:9092"


def python_consumer(client: str, group: str | None, *topics: str, **options: Any) -> Any:
    """A consumer of kafka-python's that reads from the start and commits nothing by itself."""
    from kafka import KafkaConsumer

    habits = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "fetch_max_wait_ms": 300}
    if group is not None:
        habits |= {"session_timeout_ms": 6000, "heartbeat_interval_ms": 500}
    return KafkaConsumer(*topics, bootstrap_servers=ONE, client_id=client, group_id=group, **habits | options)


def polled_python(reader: Any, seconds: float, handled: Callable[[Any], object] = lambda _: None) -> None:
    """Poll for so long, and hand over each record."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for records in reader.poll(200).values():
            for record in records:
                handled(record)


def wrong_name(stage: Stage, topic: str = "orders/eu") -> None:
    """Java's producer and a topic whose name has a slash."""
    stage.topic("orders-eu")
    with stage.recording():
        ended(java_client("produce", topic, {"bootstrap.servers": ONE, "client.id": "order-form", "do.count": 2}))


def never_commits(stage: Stage, commits: bool = False) -> None:
    stage.topic("bills")
    stage.fill("bills", *(f"bill {number}" for number in range(40)))

    def read() -> None:
        reader = python_consumer("bill-loader", "bill-loaders", "bills")
        polled_python(reader, 2)
        if commits:
            reader.commit()
        reader.close()

    with stage.recording():
        for _ in range(4):
            apart(read)


def commits_each(stage: Stage, every: int = 1) -> None:
    stage.topic("events")
    stage.fill("events", *(f"event {number}" for number in range(150)))

    def read() -> None:
        reader, seen = python_consumer("event-store", "event-stores", "events"), [0]

        def handle(_: Any) -> None:
            seen[0] += 1
            if seen[0] % every == 0:
                reader.commit()

        polled_python(reader, 4, handle)
        reader.close()

    with stage.recording():
        apart(read)


def crashes(stage: Stage, crash: bool = True) -> None:
    """A member of kafka-python's that dies soon after it has joined, and is started again."""
    stage.topic("routes", partitions=4)

    def member() -> None:
        polled_python(python_consumer("router-2", "routers", "routes", session_timeout_ms=1500), 30)

    options = SHORT | {"session_timeout_ms": 1500, "partition_assignment_strategy": "range"}
    with (
        stage.recording(),
        stage.producer("route-feed") as writer,
        stage.consumer("router-1", "routers", "routes", **options) as stays,
    ):
        alive(writer, stays, topic="routes", seconds=1.5)
        stage.fails_now()
        for _ in range(5 if crash else 1):
            process = multiprocessing.get_context("fork").Process(target=member)
            process.start()
            alive(writer, stays, topic="routes", seconds=2 if crash else 10)
            process.kill()
            process.join()


def deleted_in_use(stage: Stage, delete: bool = True) -> None:
    """A topic is deleted under Java's producer."""
    stage.topic("beacons")
    settings = {
        "bootstrap.servers": STRICT, "client.id": "beacon-hub", "do.count": 40, "do.pause": 200,
        "metadata.max.age.ms": 1000, "max.block.ms": 1500, "delivery.timeout.ms": 3500,
    }  # fmt: skip
    with stage.recording():
        process = java_client("produce", "beacons", settings)
        time.sleep(4)
        stage.fails_now()
        if delete:
            stage.admin.delete_topics(["beacons"])["beacons"].result(PATIENCE)
        ended(process)


def assignor(stage: Stage, name: str = "sticky-rack") -> None:
    stage.topic("scenes", partitions=2)
    settings = {
        "bootstrap.servers": ONE, "client.id": "scene-sort", "group.id": "scene-sorters", "group.protocol": "consumer",
        "group.remote.assignor": name, "do.seconds": 4,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("consume", "scenes", settings))


def leaks(stage: Stage, once: bool = False) -> None:
    """A program of kafka-python's that makes a producer for each task, and closes none."""
    from kafka import KafkaProducer

    stage.topic("tasks")

    def work() -> None:
        made: list[Any] = []
        for number in range(25):
            if number == 0 or not once:
                made.append(KafkaProducer(bootstrap_servers=ONE, client_id="task-page"))
            made[-1].send("tasks", b"task %d" % number).get(5)
            time.sleep(0.1)

    with stage.recording():
        apart(work, timeout=40)


def clock_behind(stage: Stage, behind: float = 2400.0) -> None:
    from kafka import KafkaProducer

    stage.topic("doors")

    def send() -> None:
        writer = KafkaProducer(bootstrap_servers=ONE, client_id="door-cam")
        for number in range(15):
            writer.send("doors", b"seen %d" % number, timestamp_ms=int((time.time() - behind) * 1000)).get(5)
            time.sleep(0.2)
        writer.close()

    with stage.recording():
        apart(send)


def half_assigned(stage: Stage, partitions: tuple[int, ...] = (0, 1)) -> None:
    """A program of kafka-python's that assigns itself two of a topic's four partitions."""
    from kafka import TopicPartition

    stage.topic("visits", partitions=4)

    def read() -> None:
        reader = python_consumer("visit-chart", None)
        reader.assign([TopicPartition("visits", each) for each in partitions])
        polled_python(reader, 6)
        reader.close()

    with stage.recording(), stage.producer("visit-count") as writer:
        process = multiprocessing.get_context("fork").Process(target=read)
        process.start()
        for number in range(32):
            writer.produce("visits", f"visit {number}", partition=number % 4)
            writer.flush(PATIENCE)
            time.sleep(0.2)
        process.join(PATIENCE)


def crowd(stage: Stage, members: int = 3, group: str = "lifters") -> None:
    """More members of Java's than group.max.size (2)."""
    stage.topic("pallets", partitions=4)
    settings = {
        "bootstrap.servers": NARROW, "group.id": group, "session.timeout.ms": 6000, "heartbeat.interval.ms": 500,
        "do.seconds": 7,
    }  # fmt: skip
    with stage.recording():
        names = [f"lifter-{number}" for number in range(1, members + 1)]
        running = [java_client("consume", "pallets", settings | {"client.id": name}) for name in names]
        for each in running:
            ended(each)


def expired(stage: Stage, pause: int = 6000) -> None:
    """Java's producer, whose transactional id is expired while it pauses."""
    stage.topic("rents")
    settings = {
        "bootstrap.servers": NARROW, "client.id": "rent-book", "transactional.id": "rents-2", "do.count": 3,
        "do.pause": pause,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("transact", "rents", settings))


def transact_first(stage: Stage, address: str = LONELY) -> None:
    if address != LONELY:
        stage.beside("one")
    settings = {"bootstrap.servers": address, "client.id": "hello-book", "transactional.id": "hello-2", "do.count": 1}
    with stage.recording(), suppress(TimeoutError):
        ended(java_client("transact", "hello", settings | {"max.block.ms": 7000}))


def fed_back(stage: Stage, target: str = "tickets") -> None:
    """A program of kafka-python's that sends what failed to the topic which it reads, to try again."""
    from kafka import KafkaProducer

    stage.topic("tickets")
    stage.topic("tickets-failed")
    stage.fill("tickets", "ticket 1", "ticket 2")

    def work() -> None:
        writer = KafkaProducer(bootstrap_servers=ONE, client_id="ticket-retry")
        reader = python_consumer("ticket-retry", "ticket-retries", "tickets", enable_auto_commit=True)

        def handle(record: Any) -> None:
            time.sleep(0.05)
            writer.send(target, record.value).get(5)

        polled_python(reader, 6, handle)
        reader.close()

    with stage.recording():
        apart(work)


def no_such_pattern(stage: Stage, pattern: str = "^ordres-.*") -> None:
    stage.topic("orders-us")

    def read() -> None:
        reader = python_consumer("order-stats", "order-statistics", metadata_max_age_ms=1000)
        reader.subscribe(pattern=pattern)
        polled_python(reader, 6)
        reader.close()

    with stage.recording(), stage.producer("order-feed") as writer:
        process = multiprocessing.get_context("fork").Process(target=read)
        process.start()
        alive(writer, topic="orders-us", seconds=6)
        process.join(PATIENCE)


def busy_member(stage: Stage, work: int = 8000) -> None:
    """A member of Java's works on a record while one of librdkafka's joins."""
    stage.topic("scans", partitions=2)
    stage.fill("scans", "scan 1", "scan 2")
    settings = {
        "bootstrap.servers": ONE, "client.id": "scan-ocr-1", "group.id": "scan-readers", "do.seconds": 14,
        "do.block": work, "auto.offset.reset": "earliest", "heartbeat.interval.ms": 500, "session.timeout.ms": 6000,
        "max.poll.interval.ms": 20_000,
    }  # fmt: skip
    options = SHORT | {"partition_assignment_strategy": "range", "session_timeout_ms": 6000}
    with stage.recording():
        process = java_client("consume", "scans", settings)
        time.sleep(3.5)
        stage.fails_now()
        with stage.consumer("scan-ocr-2", "scan-readers", "scans", **options) as reader:
            while process.poll() is None:
                polled(reader, seconds=0.4)
        ended(process)


CLIENT = "client_id"
INCIDENTS = (
    Incident(
        "topic-with-wrong-name-java-producer", "error-response", "one", wrong_name,
        {CLIENT: "order-form", "topic": "orders/eu"},
        (Shown("Metadata", "INVALID_TOPIC_EXCEPTION", client_id="order-form"),),
        "letters, digits, '.', '_' and '-' only", partial(wrong_name, topic="orders-eu"),
    ),
    Incident(
        "consumer-never-commits-kafka-python", "never-commits", "one", never_commits,
        {CLIENT: "bill-loader", "group": "bill-loaders", "topic": "bills"},
        (Shown("JoinGroup", client_id="bill-loader", at_least=4), Shown("Fetch", client_id="bill-loader")),
        "enable_auto_commit=True, or commit", partial(never_commits, commits=True),
    ),
    Incident(
        "commit-for-each-record-kafka-python", "repeated-requests", "one", commits_each,
        {CLIENT: "event-store", "group": "event-stores"},
        (Shown("OffsetCommit", client_id="event-store", at_least=80),), "commit every few seconds",
        partial(commits_each, every=100),
    ),
    Incident(
        "member-crashes-again-and-again-kafka-python", "rebalance-storm", "one", crashes,
        {"group": "routers", CLIENT: "router-2"}, (Shown("JoinGroup", client_id="router-1", at_least=5),),
        "find out why the member ends", partial(crashes, crash=False),
    ),
    Incident(
        "topic-deleted-in-use-java", "topic-deleted-in-use", "strict", deleted_in_use,
        {CLIENT: ["beacon-hub", "setup"], "topic": "beacons"},
        (Shown("DeleteTopics"), Shown("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", client_id="beacon-hub")),
        "create the topic again; find who deleted it", partial(deleted_in_use, delete=False),
    ),
    Incident(
        "assignor-of-the-client-java", "error-response", "one", assignor,
        {CLIENT: "scene-sort", "group": "scene-sorters"},
        (Shown("ConsumerGroupHeartbeat", "UNSUPPORTED_ASSIGNOR", client_id="scene-sort"),),
        "group.remote.assignor: uniform or range", partial(assignor, name="uniform"),
    ),
    Incident(
        "clients-never-closed-kafka-python", "connection-leak", "one", leaks, {CLIENT: "task-page", "broker": ONE},
        (Shown("ApiVersions", client_id="task-page", at_least=25),),
        "one client for all tasks; close those that are done", partial(leaks, once=True),
    ),
    Incident(
        "clock-of-a-host-is-slow-kafka-python", "clock-skew", "one", clock_behind,
        {CLIENT: "door-cam", "topic": "doors"}, (Shown("Produce", client_id="door-cam", at_least=10),),
        "let NTP set the host's clock", partial(clock_behind, behind=0.0),
    ),
    Incident(
        "partitions-that-nobody-reads-kafka-python", "partitions-not-consumed", "one", half_assigned,
        {CLIENT: "visit-chart", "topic": "visits"}, (Shown("Fetch", client_id="visit-chart", at_least=5),),
        "subscribe, or assign all partitions", partial(half_assigned, partitions=(0, 1, 2, 3)),
    ),
    Incident(
        "group-is-full-java", "group-full", "narrow", crowd, {"group": "lifters"},
        (Shown("JoinGroup", "GROUP_MAX_SIZE_REACHED"),), "group.max.size, or fewer members",
        partial(crowd, members=2, group="two-lifters"),
    ),
    Incident(
        "transactional-id-expired-java", "transactional-id-expired", "narrow", expired,
        {CLIENT: "rent-book", "transactional_id": "rents-2"},
        (Shown("InitProducerId", client_id="rent-book"), Shown("Produce", "INVALID_PRODUCER_ID_MAPPING")),
        "transactional.id.expiration.ms, or a new producer", partial(expired, pause=500),
    ),
    Incident(
        "transaction-log-wants-three-brokers-java", "coordinator-unavailable", "lonely", transact_first,
        {CLIENT: "hello-book", "transactional_id": "hello-2", "broker": LONELY},
        (Shown("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", client_id="hello-book", at_least=20),),
        "transaction.state.log.replication.factor=1", partial(transact_first, address=ONE),
    ),
    Incident(
        "program-reads-what-it-wrote-kafka-python", "feedback-loop", "one", fed_back,
        {CLIENT: "ticket-retry", "topic": "tickets"}, (Shown("Produce", client_id="ticket-retry", at_least=20),),
        "write to another topic", partial(fed_back, target="tickets-failed"),
    ),
    Incident(
        "pattern-fits-no-topic-kafka-python", "pattern-without-topic", "one", no_such_pattern,
        {CLIENT: "order-stats", "group": "order-statistics"},
        (Shown("Metadata", client_id="order-stats", where="request.topics == null", at_least=3),),
        "correct the pattern", partial(no_such_pattern, pattern="^orders-.*"),
    ),
    Incident(
        "group-waits-for-a-busy-member-java", "rebalance-blocked", "one", busy_member,
        {CLIENT: "scan-ocr-1", "group": "scan-readers"},
        (Shown("JoinGroup", client_id="scan-ocr-2", slower_than=3000),), "less work between polls",
        partial(busy_member, work=0),
    ),
)  # fmt: skip
