"""Consumers that do not keep up, pause, or meet what is gone or broken."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from confluent_kafka import Producer, TopicPartition

from ..foreign import java_client
from ..incident import Incident, Shown
from ..stage import PATIENCE, Stage, ended
from .groups import SHORT, polled

ONE = "127.0.0.11:9092"


def slower(stage: Stage, work: float = 0.1, client: str = "event-indexer") -> None:
    """The consumer handles ten records a second, the producer writes fifty."""
    stage.topic("events")
    options = SHORT | {"queued_min_messages": 1, "fetch_message_max_bytes": 600, "auto_commit_interval_ms": 500}
    options |= {"enable_auto_commit": True, "fetch_queue_backoff_ms": 50}
    with (
        stage.recording(),
        stage.producer("event-source", linger_ms=0) as writer,
        stage.consumer(client, "indexer", "events", **options) as reader,
    ):
        polled(reader, seconds=1.5)
        stage.fails_now()
        thread, done = _writing(writer, "events", 0.02), time.monotonic() + 7
        while time.monotonic() < done:
            polled(reader, seconds=0.2, work=work)
        thread()


def slower_in_java(stage: Stage, work: int = 100) -> None:
    stage.topic("events")
    settings = {
        "bootstrap.servers": ONE, "client.id": "search-feed", "group.id": "search", "max.poll.records": 5,
        "auto.commit.interval.ms": 500, "fetch.max.bytes": 2000, "max.partition.fetch.bytes": 600, "do.seconds": 7,
        "do.work": work, "auto.offset.reset": "earliest",
    }  # fmt: skip
    with stage.recording(), stage.producer("event-source", linger_ms=0) as writer:
        end = _writing(writer, "events", 0.02)
        ended(java_client("consume", "events", settings))
        end()


def _writing(writer: Producer, topic: str, pause: float) -> Callable[[], None]:
    """Begin to write to a topic, a record after each pause; what is returned ends it."""
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.wait(pause):
            writer.produce(topic, f"event {number} " + "e" * 60)
            writer.poll(0)
            number += 1

    thread = threading.Thread(target=write)
    thread.start()

    def end() -> None:
        stop.set()
        thread.join()

    return end


def paused(stage: Stage, resumes: bool = False) -> None:
    """A consumer that pauses its partition after some records, and never resumes."""
    stage.topic("mails")
    with (
        stage.recording(),
        stage.producer("mail-out") as writer,
        stage.consumer("mail-scan", "mail-scanners", "mails", **SHORT) as reader,
    ):
        end = _writing(writer, "mails", 0.2)
        polled(reader, seconds=3)
        where = reader.assignment()
        reader.pause(where)
        stage.fails_now()
        polled(reader, seconds=0.5)
        if resumes:
            reader.resume(where)
        polled(reader, seconds=8)
        end()


def deleted(stage: Stage, gone: int = 12, reset: str = "earliest") -> None:
    """What the group had not read yet was deleted: it goes on behind the hole."""
    stage.topic("history")
    stage.fill("history", *(f"entry {number}" for number in range(20)), batch_num_messages=1)
    with stage.consumer("setup", "historians") as before:
        before.commit(offsets=[TopicPartition("history", 0, 4)], asynchronous=False)
    if gone:
        for each in stage.admin.delete_records([TopicPartition("history", 0, gone)]).values():
            each.result(PATIENCE)
    options = SHORT | {"auto_offset_reset": reset}
    with stage.recording(), stage.consumer("historian", "historians", "history", **options) as reader:
        polled(reader, seconds=3)


def deleted_in_java(stage: Stage, gone: int = 15) -> None:
    stage.topic("history")
    stage.fill("history", *(f"entry {number}" for number in range(20)), batch_num_messages=1)
    with stage.consumer("setup", "chroniclers") as before:
        before.commit(offsets=[TopicPartition("history", 0, 2)], asynchronous=False)
    if gone:
        for each in stage.admin.delete_records([TopicPartition("history", 0, gone)]).values():
            each.result(PATIENCE)
    settings = {
        "bootstrap.servers": ONE, "client.id": "chronicler", "group.id": "chroniclers", "do.seconds": 3,
        "auto.offset.reset": "latest",
    }  # fmt: skip
    with stage.recording():
        ended(java_client("consume", "history", settings))


def poison(stage: Stage, skips: bool = False) -> None:
    """A record that is no JSON ends the program, which is started again, and meets it again."""
    stage.topic("baskets")
    stage.fill("baskets", '{"n": 1}', '{"n": 2}', '{"n": 3}', "not a basket", '{"n": 5}', batch_num_messages=1)
    options = SHORT | {"enable_auto_commit": False}
    with stage.recording():
        for _ in range(4):
            with stage.consumer("basket-value", "basket-values", "baskets", **options) as reader, suppress(ValueError):
                end = time.monotonic() + 2.5
                while time.monotonic() < end:
                    message = reader.poll(0.2)
                    if message is None or message.error() is not None:
                        continue
                    if not (skips and message.offset() == 3):
                        json.loads(message.value() or b"")
                    reader.commit(message=message, asynchronous=False)
            time.sleep(0.3)


def poison_by_seeking(stage: Stage, skips: bool = False) -> None:
    """A consumer that goes back to the record which it cannot handle, for ever."""
    stage.topic("baskets")
    stage.fill("baskets", '{"n": 1}', '{"n": 2}', "not a basket", '{"n": 4}', batch_num_messages=1)
    with stage.recording(), stage.consumer("basket-audit", "basket-audits", "baskets", **SHORT) as reader:
        end = time.monotonic() + 6
        while time.monotonic() < end:
            message = reader.poll(0.2)
            if message is None or message.error() is not None:
                continue
            try:
                json.loads(message.value() or b"")
            except ValueError:
                if not skips:
                    time.sleep(0.2)
                    reader.seek(TopicPartition("baskets", 0, message.offset() or 0))


def broken_on_disk(stage: Stage, broken: bool = True) -> None:
    """A bit of a batch is turned over on the broker's disk: the consumer finds its checksum wrong, again and again."""
    stage.topic("vault")
    stage.fill("vault", *(f"paper {number}" for number in range(6)), batch_num_messages=1)
    if broken:
        segment = stage.broker.data / "vault-0" / "00000000000000000000.log"
        with segment.open("r+b") as file:
            file.seek(segment.read_bytes().index(b"paper 3"))
            file.write(b"P")
    settings = {
        "bootstrap.servers": ONE, "client.id": "vault-reader", "group.id": "vault-readers", "do.seconds": 4,
        "auto.offset.reset": "earliest", "fetch.max.wait.ms": 300,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("consume", "vault", settings))


CLIENT = "client_id"
AT = "request.topics.exists(t, t.partitions.exists(p, p.fetch_offset == {}))"
INCIDENTS = (
    Incident(
        "consumer-too-slow-librdkafka", "consumer-too-slow", "one", slower,
        {CLIENT: "event-indexer", "group": "indexer", "topic": "events"},
        (Shown("OffsetCommit", client_id="event-indexer", at_least=3), Shown("Produce", at_least=100)),
        "more members, less work", partial(slower, work=0.0),
    ),
    Incident(
        "consumer-too-slow-java", "consumer-too-slow", "one", slower_in_java,
        {CLIENT: "search-feed", "group": "search", "topic": "events"},
        (Shown("OffsetCommit", client_id="search-feed", at_least=3), Shown("Produce", at_least=100)),
        "more members, less work", partial(slower_in_java, work=0),
    ),
    Incident(
        "consumer-paused-for-ever", "consumer-paused", "one", paused,
        {CLIENT: "mail-scan", "group": "mail-scanners", "topic": "mails"},
        (Shown("Heartbeat", client_id="mail-scan", at_least=8), Shown("Fetch", client_id="mail-scan")),
        "resume the partition", partial(paused, resumes=True),
    ),
    Incident(
        "records-deleted-unread", "offset-out-of-range-data-loss", "one", deleted,
        {CLIENT: "historian", "group": "historians", "topic": "history"},
        (Shown("Fetch", "OFFSET_OUT_OF_RANGE", client_id="historian"),), "a longer retention, less lag",
        partial(deleted, gone=0),
    ),
    Incident(
        "records-deleted-unread-java", "offset-out-of-range-data-loss", "one", deleted_in_java,
        {CLIENT: "chronicler", "group": "chroniclers", "topic": "history"},
        (Shown("Fetch", "OFFSET_OUT_OF_RANGE", client_id="chronicler"),), "a longer retention, less lag",
        partial(deleted_in_java, gone=0),
    ),
    Incident(
        "batch-broken-on-disk", "corrupt-batch", "one", broken_on_disk,
        {CLIENT: "vault-reader", "topic": "vault", "broker": ONE},
        (Shown("Fetch", client_id="vault-reader", where='"crc-mismatch" in finding_kinds'),),
        "look at the broker's disk; another replica", partial(broken_on_disk, broken=False),
    ),
    Incident(
        "poison-record-restarts", "poison-record", "one", poison,
        {CLIENT: "basket-value", "group": "basket-values", "topic": "baskets"},
        (Shown("Fetch", client_id="basket-value", where=AT.format(3), at_least=3), Shown("JoinGroup", at_least=4)),
        "skip the record, or put it aside", partial(poison, skips=True),
    ),
    Incident(
        "poison-record-seeks", "poison-record", "one", poison_by_seeking,
        {CLIENT: "basket-audit", "group": "basket-audits", "topic": "baskets"},
        (Shown("Fetch", client_id="basket-audit", where=AT.format(2), at_least=5),), "skip the record, or put it aside",
        partial(poison_by_seeking, skips=True),
    ),
)  # fmt: skip
