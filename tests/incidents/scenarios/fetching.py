"""Clients that ask too often or for too little, do not wait or read late, and those that connect too often."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial

from confluent_kafka import Producer, TopicPartition

from ..foreign import franz_go, java_client
from ..handmade import Handmade, fetched, handmade
from ..incident import Incident, Packets, Shown
from ..stage import PATIENCE, Stage, apart, ended
from .groups import polled

ONE, STRICT, OLD = "127.0.0.11:9092", "127.0.0.31:9092", "127.0.0.41:9092"


def busy(stage: Stage, wait: int = 0) -> None:
    """A consumer that does not let the broker wait for records."""
    stage.topic("alerts")
    stage.fill("alerts", "the only alert")
    with stage.recording(), stage.consumer("alert-pager", "pagers", fetch_wait_max_ms=wait) as reader:
        reader.assign([TopicPartition("alerts", 0, 0)])
        polled(reader, seconds=0.6)


def busy_python(stage: Stage, wait: int = 0) -> None:
    from kafka import KafkaConsumer

    stage.topic("alerts")

    def read() -> None:
        options = {"client_id": "alert-board", "group_id": None, "fetch_max_wait_ms": wait}
        reader = KafkaConsumer("alerts", bootstrap_servers=ONE, **options)
        end = time.monotonic() + 1.6
        while time.monotonic() < end:
            reader.poll(100)

    with stage.recording():
        apart(read)


def small_bites(stage: Stage, most: int = 500) -> None:
    """A fetch that is smaller than every batch there is: each brings one, however many wait."""
    stage.topic("maps")
    stage.fill("maps", *("m" * 3000 for _ in range(60)), batch_num_messages=1)
    options = {"fetch_message_max_bytes": most, "fetch_wait_max_ms": 300}
    with stage.recording(), stage.consumer("map-render", "renderers", "maps", **options) as reader:
        polled(reader, seconds=3)


def too_small_for_one(stage: Stage, most: int = 400) -> None:
    """A broker of before KIP-74, and a client whose fetch has no room for the next message: it never gets on."""
    stage.topic("maps")
    stage.fill("maps", "short", "m" * 3000, batch_num_messages=1)
    with stage.recording(), handmade("map-import", OLD) as client:
        client.ask("ApiVersions", 0)
        offset = 0
        for number in range(14):
            asked = fetched("maps", offset, wait=200, most=most)
            told = client.ask(
                "Fetch", 2, **{key: asked[key] for key in ("replica_id", "max_wait_ms", "min_bytes", "topics")}
            )
            records = told["responses"][0]["partitions"][0]["records"] or []
            offset += sum(1 for each in records if "partial" not in each)
            if number == 0:
                stage.fails_now()
            time.sleep(0.1)


def no_sessions(stage: Stage, kept: bool = False) -> None:
    """A broker that keeps no fetch sessions: every fetch names all partitions, every answer too."""
    address, other = STRICT, "one"
    if kept:
        stage.beside(other)
        address = ONE
        with stage.producer("setup", bootstrap_servers=ONE) as writer:
            writer.produce("floors", "made on the spot")
            writer.flush(PATIENCE)
    else:
        stage.topic("floors", partitions=20)
    settings = {
        "bootstrap.servers": address, "client.id": "lift-view", "group.id": "lift-views", "do.seconds": 5,
        "fetch.max.wait.ms": 200,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("consume", "floors", settings))


def unknown_session(stage: Stage, session: int = 424_242) -> None:
    """A client that goes on with a fetch session which the broker has not, and never begins a new one."""
    stage.topic("floors", partitions=3)
    with stage.recording(), handmade("floor-proxy", ONE) as client:
        client.ask("ApiVersions", 0)
        for epoch in range(1, 15):
            asked = fetched("floors", partitions=range(3), wait=100)
            new = {"session_id": session, "session_epoch": epoch if session else -1, "forgotten_topics_data": []}
            client.ask("Fetch", 7, **asked, **new)
            time.sleep(0.15)


def impatient(stage: Stage, timeout: float = 1.0) -> None:
    """A client that waits for less time than it lets the broker wait, and comes again on another connection."""
    stage.topic("quiet")
    stage.fill("quiet", "one", "two")
    with stage.recording():
        for _ in range(5):
            with handmade("homemade-perl", ONE, timeout=timeout) as client, suppress(OSError):
                client.ask("ApiVersions", 0)
                client.ask("Fetch", 4, **fetched("quiet", wait=2500, least=1_000_000))


def impatient_java(stage: Stage, timeout: int = 1000) -> None:
    stage.topic("quiet")
    settings = {
        "bootstrap.servers": ONE, "client.id": "quiet-reader", "group.id": "quiet-readers", "do.seconds": 8,
        "fetch.min.bytes": 1_000_000, "fetch.max.wait.ms": 2500, "request.timeout.ms": timeout,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("consume", "quiet", settings))


def impatient_aiokafka(stage: Stage, timeout: int = 1000) -> None:
    import asyncio

    from aiokafka import AIOKafkaConsumer

    stage.topic("quiet")
    options = {"fetch_max_wait_ms": 2500, "fetch_min_bytes": 1_000_000, "request_timeout_ms": timeout}

    async def read() -> None:
        async with AIOKafkaConsumer("quiet", bootstrap_servers=ONE, client_id="quiet-aio", **options) as reader:
            await reader.getmany(timeout_ms=9000)

    with stage.recording():
        asyncio.run(read())


def takes_it_for_the_next(stage: Stage, wait: int = 1800) -> None:
    """A client that gives up a Fetch after a second and asks on: the late answer comes in front of the next one."""
    stage.topic("quiet")
    stage.fill("quiet", "one", "two")
    with stage.recording():
        for _ in range(4):
            with handmade("homemade-tcl", ONE) as client:
                client.ask("ApiVersions", 0)
                client.send("Fetch", 4, **fetched("quiet", wait=wait, least=1_000_000))
                with suppress(TimeoutError):
                    client.socket.settimeout(1.0)
                    client.answer()
                client.socket.settimeout(20.0)
                client.send("Metadata", 4, topics=[{"name": "quiet"}], allow_auto_topic_creation=False)
                client.answer()


def reads_late(stage: Stage, pause: float = 2.5) -> None:
    """A client that leaves what came for it in its socket."""
    stage.topic("films")
    stage.fill("films", *(bytes(20_000) for _ in range(20)), linger_ms=100, compression_type="none")
    with stage.recording(), handmade("film-player", ONE, receive_buffer=8192) as client:
        client.ask("ApiVersions", 0)
        for number in range(3):
            client.send("Fetch", 4, **fetched("films", most=300_000))
            if number == 1:
                stage.fails_now()
            time.sleep(pause if number else 0)
            client.answer()


def behind_another(stage: Stage, wait: int = 2000) -> None:
    """One connection for all: what is asked behind a long poll waits until that is answered."""
    stage.topic("jobs")
    with stage.recording(), handmade("job-runner", ONE) as client:
        client.ask("ApiVersions", 0)
        for _ in range(4):
            client.send("Fetch", 4, **fetched("jobs", wait=wait, least=100_000))
            time.sleep(0.1)
            client.send("Metadata", 4, topics=[{"name": "jobs"}], allow_auto_topic_creation=False)
            client.answer()
            client.answer()


def churning(stage: Stage, again: bool = True) -> None:
    """A new producer for each record."""
    stage.topic("beacons")
    with stage.recording():
        if not again:
            with stage.producer("beacon-php") as writer:
                _one_each(writer)
            return
        for number in range(25):
            with stage.producer("beacon-php") as writer:
                writer.produce("beacons", f"beacon {number}")
                writer.flush(PATIENCE)


def _one_each(writer: Producer) -> None:
    for number in range(25):
        writer.produce("beacons", f"beacon {number}")
        writer.flush(PATIENCE)
        time.sleep(0.05)


def churning_in_go(stage: Stage, runs: int = 15) -> None:
    """A job that is started for each record."""
    stage.topic("beacons")
    with stage.recording():
        for _ in range(runs):
            ended(franz_go("produce", "beacons", brokers=ONE, id="cron-beacon", count=15 // runs, pause=10))


def crowded(stage: Stage, most: int = 2) -> None:
    """More connections from one address than max.connections.per.ip allows: the broker hangs up on the rest."""
    stage.topic("doors")
    rule = f"max.connections.per.ip.overrides=127.0.0.77:{most}"
    stage.configure("--entity-type", "brokers", "--entity-default", add=rule)
    clients: list[Handmade] = []
    stage.finally_do(lambda: [each.close() for each in clients])
    with stage.recording():
        for number in range(8):
            time.sleep(0.2)
            client = Handmade(f"door-{number}", ONE, source="127.0.0.77")
            clients.append(client)
            with suppress(OSError):
                client.ask("ApiVersions", 0)
                client.ask("Metadata", 4, topics=[{"name": "doors"}], allow_auto_topic_creation=False)


CLIENT = "client_id"
STUCK = "request.topics.exists(t, t.partitions.exists(p, p.fetch_offset == 1))"
INCIDENTS = (
    Incident(
        "fetch-without-waiting", "busy-fetch-loop", "one", busy, {CLIENT: "alert-pager", "topic": "alerts"},
        (Shown("Fetch", client_id="alert-pager", at_least=200),), "fetch.wait.max.ms=500", partial(busy, wait=500),
    ),
    Incident(
        "fetch-without-waiting-kafka-python", "busy-fetch-loop", "one", busy_python,
        {CLIENT: "alert-board", "topic": "alerts"}, (Shown("Fetch", client_id="alert-board", at_least=100),),
        "fetch_max_wait_ms=500", partial(busy_python, wait=500),
    ),
    Incident(
        "fetch-of-one-batch", "fetch-size-too-small", "one", small_bites, {CLIENT: "map-render", "topic": "maps"},
        (Shown("Fetch", client_id="map-render", at_least=30),), "fetch.message.max.bytes=1048576",
        partial(small_bites, most=1_048_576),
    ),
    Incident(
        "fetch-too-small-for-one-message", "fetch-size-too-small", "old", too_small_for_one,
        {CLIENT: "map-import", "topic": "maps"},
        (Shown("Fetch", version=2, client_id="map-import", where=STUCK, at_least=8),),
        "a fetch larger than the largest message", partial(too_small_for_one, most=100_000),
    ),
    Incident(
        "no-fetch-sessions-kept", "fetch-sessions-unavailable", "strict", no_sessions,
        {CLIENT: "lift-view", "broker": STRICT}, (Shown("Fetch", client_id="lift-view", at_least=10),),
        "max.incremental.fetch.session.cache.slots", partial(no_sessions, kept=True),
    ),
    Incident(
        "fetch-session-unknown", "fetch-sessions-unavailable", "one", unknown_session,
        {CLIENT: "floor-proxy", "broker": ONE},
        (Shown("Fetch", "FETCH_SESSION_ID_NOT_FOUND", client_id="floor-proxy", at_least=10),),
        "begin a new session after FETCH_SESSION_ID_NOT_FOUND", partial(unknown_session, session=0),
    ),
    Incident(
        "timeout-below-max-wait-handmade", "client-timeout-below-max-wait", "one", impatient,
        {CLIENT: "homemade-perl", "topic": "quiet"},
        (Shown("Fetch", client_id="homemade-perl", at_least=4), Packets("R", port=9092, at_least=3)),
        "a timeout above max_wait_ms", partial(impatient, timeout=10.0),
    ),
    Incident(
        "timeout-below-max-wait-java", "client-timeout-below-max-wait", "one", impatient_java,
        {CLIENT: "quiet-reader", "topic": "quiet"}, (Shown("Fetch", client_id="quiet-reader", unanswered=True),),
        "request.timeout.ms above fetch.max.wait.ms", partial(impatient_java, timeout=8000),
    ),
    Incident(
        "timeout-below-max-wait-aiokafka", "client-timeout-below-max-wait", "one", impatient_aiokafka,
        {CLIENT: "quiet-aio", "topic": "quiet"},
        (Shown("Fetch", client_id="quiet-aio", at_least=3), Packets("R", port=9092, at_least=2)),
        "request_timeout_ms above fetch_max_wait_ms", partial(impatient_aiokafka, timeout=8000),
    ),
    Incident(
        "late-answer-taken-for-the-next", "client-timeout-below-max-wait", "one", takes_it_for_the_next,
        {CLIENT: "homemade-tcl", "topic": "quiet"},
        (Shown("Fetch", client_id="homemade-tcl", at_least=4),
         Shown("Metadata", client_id="homemade-tcl", slower_than=400, at_least=4)),
        "a timeout above max_wait_ms; another connection after it", partial(takes_it_for_the_next, wait=300),
    ),
    Incident(
        "client-reads-late", "slow-client", "one", reads_late, {CLIENT: "film-player", "topic": "films"},
        (Packets("A", port=9092, empty_window=True, at_least=3),),
        "read at once, or fetch less", partial(reads_late, pause=0.0),
    ),
    Incident(
        "metadata-behind-a-long-poll", "head-of-line-blocking", "one", behind_another,
        {CLIENT: "job-runner", "broker": ONE},
        (Shown("Metadata", client_id="job-runner", slower_than=1000, at_least=4),),
        "a connection of its own for long polls", partial(behind_another, wait=50),
    ),
    Incident(
        "a-producer-for-each-record", "connection-churn", "one", churning, {CLIENT: "beacon-php", "broker": ONE},
        (Packets("S", port=9092, at_least=50), Shown("ApiVersions", client_id="beacon-php", at_least=25)),
        "one producer for all records", partial(churning, again=False),
    ),
    Incident(
        "a-process-for-each-record", "connection-churn", "one", churning_in_go,
        {CLIENT: "cron-beacon", "broker": ONE},
        (Packets("S", port=9092, at_least=30), Shown("ApiVersions", client_id="cron-beacon", at_least=15)),
        "one producer for all records", partial(churning_in_go, runs=1),
    ),
    Incident(
        "too-many-connections", "connection-limit", "one", crowded, {"host": "127.0.0.77", "broker": ONE},
        (Packets("R", port=9092, address="127.0.0.77", at_least=4),), "max.connections.per.ip, or fewer connections",
        partial(crowded, most=20),
    ),
)  # fmt: skip
