"""Clients that look in the wrong place: another cluster, an old leader, a topic that is not the one they knew."""

from __future__ import annotations

import time
from functools import partial

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ..foreign import java_client, kafkajs
from ..handmade import Handmade, fetched
from ..incident import Incident, Packets, Shown
from ..stage import PATIENCE, SETUP, Stage, ended
from .groups import SHORT, polled
from .producing import move

ONE, STRICT = "127.0.0.11:9092", "127.0.0.31:9092"


def wrong_cluster(stage: Stage, right: bool = False) -> None:
    """A consumer whose bootstrap servers are another cluster's, where its topic is not."""
    stage.no_topic("orders-eu")
    if right:
        stage.topic("orders-eu")
    settings = {
        "bootstrap.servers": STRICT, "client.id": "order-mailer-staging", "group.id": "order-mailers-staging",
        "do.seconds": 5, "metadata.max.age.ms": 1000,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("consume", "orders-eu", settings))


def one_here_one_there(stage: Stage, mixed: bool = True) -> None:
    """One writes to a topic of one cluster, the other reads the topic of that name of another, and gets nothing."""
    stage.topic("stock")
    other = ONE
    if mixed:
        stage.beside("strict")
        other = STRICT
        admin = AdminClient({"bootstrap.servers": STRICT, "client.id": SETUP})
        admin.create_topics([NewTopic("stock", 1, 1)])["stock"].result(PATIENCE)
        time.sleep(1)
    with (
        stage.recording(),
        stage.producer("stock-feed") as writer,
        stage.consumer("stock-shop", "stock-shops", "stock", bootstrap_servers=other, **SHORT) as reader,
    ):
        for number in range(15):
            writer.produce("stock", f"shoe {number}")
            writer.poll(0)
            polled(reader, seconds=0.4)
        writer.flush(PATIENCE)


def old_leader_read(stage: Stage, refresh: bool = False) -> None:
    """A consumer made by hand that goes on fetching from the broker which led the partition before."""
    stage.topic("gauges", replicas=[[2, 1]])
    stage.fill("gauges", *(f"gauge {number}" for number in range(5)))
    with stage.recording():
        client = Handmade("gauge-poller", "127.0.0.22:9092")
        for _ in range(4):
            client.ask("Fetch", 4, **fetched("gauges", 5, wait=150))
        move(stage, "gauges", 1, 2)
        stage.fails_now()
        for number in range(14):
            if refresh and number == 0:
                client.ask("Metadata", 4, topics=[{"name": "gauges"}], allow_auto_topic_creation=False)
                client.close()
                client = Handmade("gauge-poller", "127.0.0.21:9092")
            client.ask("Fetch", 4, **fetched("gauges", 5, wait=150))
            time.sleep(0.1)
        client.close()


def made_anew(stage: Stage, deleted: bool = True) -> None:
    """A topic that was deleted and made anew: what the group has committed is beyond its end."""
    stage.topic("inbox")
    stage.fill("inbox", *(f"mail {number}" for number in range(30)))
    with stage.consumer("setup", "inbox-readers") as before:
        before.commit(offsets=[TopicPartition("inbox", 0, 25)], asynchronous=False)
        if deleted:
            stage.topic("inbox")
            stage.fill("inbox", *(f"new mail {number}" for number in range(5)))
            before.commit(offsets=[TopicPartition("inbox", 0, 25)], asynchronous=False)
    with stage.recording(), stage.consumer("inbox-reader", "inbox-readers", "inbox", **SHORT) as reader:
        polled(reader, seconds=3)


def one_key_in_java(stage: Stage, count: int = 1, batch: int = 1) -> None:
    """Java's producer with keys that all end in one partition, and the same with many."""
    stage.topic("meters-in", partitions=8)
    settings = {
        "bootstrap.servers": ONE, "client.id": "meter-hub", "do.count": count, "do.batch": batch, "do.pause": 0,
        "do.key": "null" if count > batch else "", "linger.ms": 5,
    }  # fmt: skip
    with stage.recording():
        ended(java_client("produce", "meters-in", settings))


def one_by_one_in_javascript(stage: Stage, count: int = 250, batch: int = 1) -> None:
    stage.topic("hits")
    kafka = {"brokers": [ONE], "clientId": "hit-counter"}
    with stage.recording():
        ended(kafkajs("produce", "hits", kafka=kafka, count=count, pause=1, batch=batch))


INCIDENTS = (
    Incident(
        "bootstrap-of-the-wrong-cluster", "unknown-topic", "strict", wrong_cluster,
        {"client_id": "order-mailer-staging", "topic": "orders-eu", "broker": STRICT},
        (Shown("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", client_id="order-mailer-staging", at_least=3),),
        "the bootstrap servers of the right cluster, or make the topic", partial(wrong_cluster, right=True),
    ),
    Incident(
        "writer-here-reader-there", "two-clusters-mixed", "one", one_here_one_there,
        {"client_id": ["stock-feed", "stock-shop"], "topic": "stock", "broker": [ONE, STRICT]},
        (Shown("Produce", client_id="stock-feed", at_least=10), Shown("Fetch", client_id="stock-shop", at_least=5),
         Packets("P", address="127.0.0.31")),
        "the same bootstrap servers for both", partial(one_here_one_there, mixed=False),
    ),
    Incident(
        "old-leader-fetched-from", "stale-leader", "three", old_leader_read,
        {"client_id": "gauge-poller", "topic": "gauges", "broker": "127.0.0.22:9092"},
        (Shown("Fetch", "NOT_LEADER_OR_FOLLOWER", client_id="gauge-poller", at_least=8),),
        "ask for Metadata after NOT_LEADER_OR_FOLLOWER", partial(old_leader_read, refresh=True),
    ),
    Incident(
        "topic-made-anew", "offset-out-of-range-data-loss", "one", made_anew,
        {"client_id": "inbox-reader", "group": "inbox-readers", "topic": "inbox"},
        (Shown("Fetch", "OFFSET_OUT_OF_RANGE", client_id="inbox-reader"),),
        "reset the group's offsets with the topic", partial(made_anew, deleted=False),
    ),
    Incident(
        "one-key-for-all-java", "hot-partition", "one", partial(one_key_in_java, count=250),
        {"client_id": "meter-hub", "topic": "meters-in"}, (Shown("Produce", client_id="meter-hub", at_least=50),),
        "keys that differ", partial(one_key_in_java, count=2, batch=200),
    ),
    Incident(
        "one-record-a-batch-kafkajs", "unbatched-producer", "one", one_by_one_in_javascript,
        {"client_id": "hit-counter", "topic": "hits"}, (Shown("Produce", client_id="hit-counter", at_least=200),),
        "many messages in one send", partial(one_by_one_in_javascript, count=3, batch=100),
    ),
)  # fmt: skip
