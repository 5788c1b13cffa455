"""What takes longer than it needs: records that wait for others, members that wait for one, processes without a CPU."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial

from ..foreign import java_client
from ..incident import Incident, Shown
from ..stage import PATIENCE, Stage, ended
from .groups import SHORT, alive, polled, polled_until

ONE = "127.0.0.11:9092"


def waits_for_more(stage: Stage, least: int = 1_000_000, wait: int = 4000) -> None:
    """A consumer that wants a megabyte or waits for four seconds, of a topic with a few small records a second."""
    stage.topic("orders")
    options = SHORT | {"fetch_min_bytes": least, "fetch_wait_max_ms": wait, "session_timeout_ms": 6000}
    with (
        stage.recording(),
        stage.producer("order-form", linger_ms=0) as writer,
        stage.consumer("order-mailer", "order-mailers", "orders", **options) as reader,
    ):
        alive(writer, reader, topic="orders", seconds=14, pause=0.3)


def waits_for_more_in_java(stage: Stage, least: int = 1_000_000, wait: int = 4000) -> None:
    stage.topic("orders")
    settings = {
        "bootstrap.servers": ONE, "client.id": "order-board", "group.id": "order-boards", "fetch.min.bytes": least,
        "fetch.max.wait.ms": wait, "do.seconds": 12, "auto.offset.reset": "earliest",
    }  # fmt: skip
    with stage.recording(), stage.producer("order-form", linger_ms=0) as writer:
        process = java_client("consume", "orders", settings)
        while process.poll() is None:
            alive(writer, topic="orders", seconds=0.9, pause=0.3)
        ended(process)


def busy_member(stage: Stage, work: float = 7.0) -> None:
    """A member works on a record while another joins: the group waits for it, and nobody reads."""
    stage.topic("videos", partitions=2)
    options = SHORT | {"max_poll_interval_ms": 20_000, "session_timeout_ms": 6000}
    options |= {"partition_assignment_strategy": "range"}
    with (
        stage.recording(),
        stage.producer("video-upload") as writer,
        stage.consumer("transcode-1", "transcoders-2", "videos", **options) as busy,
    ):
        polled_until(lambda: len(busy.assignment()) == 2, busy)
        alive(writer, busy, topic="videos", seconds=2)
        stage.fails_now()
        with stage.consumer("transcode-2", "transcoders-2", "videos", **options) as new:
            end = time.monotonic() + work
            while time.monotonic() < end:
                alive(writer, new, topic="videos", seconds=0.5)
            alive(writer, busy, new, topic="videos", seconds=4)


def skewed(stage: Stage, strategy: str = "range") -> None:
    """Four topics of one partition each: by range, one of two members gets all of them."""
    topics = [f"region-{name}" for name in ("north", "south", "east", "west")]
    for topic in topics:
        stage.topic(topic)
    options = SHORT | {"partition_assignment_strategy": strategy}
    with (
        stage.recording(),
        stage.producer("region-feed") as writer,
        stage.consumer("region-1", "regions", *topics, **options) as one,
        stage.consumer("region-2", "regions", *topics, **options) as two,
    ):
        for number in range(12):
            for topic in topics:
                writer.produce(topic, f"{topic} {number}")
            writer.poll(0)
            polled(one, two, seconds=0.7)
        writer.flush(PATIENCE)


def throttled(stage: Stage, run: float = 0.05, stop: float = 0.25) -> None:
    """A broker that gets the CPU for a sixth of the time, as with a limit of its container."""
    stage.topic("clicks")
    broker, done = stage.broker.pid, threading.Event()

    def limit() -> None:
        while not done.is_set():
            os.kill(broker, signal.SIGSTOP)
            time.sleep(stop)
            os.kill(broker, signal.SIGCONT)
            time.sleep(run)

    options = SHORT | {"session_timeout_ms": 10_000}
    with (
        stage.recording(),
        stage.producer("click-api", linger_ms=0) as writer,
        stage.consumer("click-count", "click-counts", "clicks", **options) as reader,
    ):
        alive(writer, reader, topic="clicks", seconds=2)
        stage.fails_now()
        _beside(limit if stop else done.wait, lambda: alive(writer, reader, topic="clicks", seconds=8), done)
        writer.flush(PATIENCE)


def _beside(one: Callable[[], object], other: Callable[[], object], done: threading.Event) -> None:
    """Do the first in a thread until the second is done."""
    thread = threading.Thread(target=one)
    thread.start()
    try:
        other()
    finally:
        done.set()
        thread.join()


INCIDENTS = (
    Incident(
        "fetch-waits-for-a-megabyte", "fetch-min-bytes-too-large", "one", waits_for_more,
        {"client_id": "order-mailer", "topic": "orders"},
        (Shown("Fetch", client_id="order-mailer", slower_than=3000, at_least=2),), "fetch.min.bytes=1",
        partial(waits_for_more, least=1, wait=500),
    ),
    Incident(
        "fetch-waits-for-a-megabyte-java", "fetch-min-bytes-too-large", "one", waits_for_more_in_java,
        {"client_id": "order-board", "topic": "orders"},
        (Shown("Fetch", client_id="order-board", slower_than=3000, at_least=2),), "fetch.min.bytes=1",
        partial(waits_for_more_in_java, least=1, wait=500),
    ),
    Incident(
        "group-waits-for-a-busy-member", "rebalance-blocked", "one", busy_member,
        {"client_id": "transcode-1", "group": "transcoders-2"},
        (Shown("JoinGroup", client_id="transcode-2", slower_than=5000),), "less work between polls",
        partial(busy_member, work=0.0),
    ),
    Incident(
        "one-member-gets-all-topics", "assignment-skewed", "one", skewed, {"group": "regions"},
        (Shown("SyncGroup", at_least=2), Shown("Fetch", at_least=10)),
        "partition.assignment.strategy: roundrobin or cooperative-sticky", partial(skewed, strategy="roundrobin"),
    ),
    Incident(
        "broker-with-a-sixth-of-a-cpu", "broker-cpu-throttled", "one", throttled, {"broker": ONE},
        (Shown("Produce", client_id="click-api", slower_than=100, at_least=10),), "a larger CPU limit",
        partial(throttled, stop=0.0),
    ),
)  # fmt: skip
