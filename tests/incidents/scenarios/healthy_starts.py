"""Starts and changes that are well: what comes late, what grows, what is far away, what may not see everything."""

from __future__ import annotations

import time
from contextlib import ExitStack

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewPartitions

from ..certificates import AUTHORITY, CLIENT, FOLDER, pem
from ..clusters import FAR, LINE_PORT, NEAR
from ..incident import Packets, Shown, healthy
from ..line import DEVICE
from ..stage import PATIENCE, QUIET, Stage
from .administration import script, tried
from .certificates import AT
from .groups import SHORT, alive, polled
from .membership import NEW
from .permissions import login

LINE, STRICT = f"{NEAR}:{LINE_PORT}", "127.0.0.31:9092"


def before_broker(stage: Stage) -> None:
    """A program starts some seconds before its broker, as containers do that are started together."""
    stage.topic("leads")
    stage.broker.stop()
    with stage.recording(), stage.producer("lead-form", reconnect_backoff_ms=300) as writer:
        for number in range(3):
            writer.produce("leads", f"lead {number}")
            writer.poll(0)
            time.sleep(0.7)
        stage.broker.start()
        alive(writer, topic="leads", seconds=4)
        writer.flush(PATIENCE)


def before_topic(stage: Stage) -> None:
    """A consumer that is subscribed some seconds before the topic's first record makes it."""
    stage.no_topic("ratings")
    options = SHORT | {"topic_metadata_refresh_interval_ms": 1000, "allow_auto_create_topics": False}
    with stage.recording(), stage.consumer("rating-sum", "rating-sums", "ratings", **options) as reader:
        polled(reader, seconds=2.5)
        with stage.producer("rating-form") as writer:
            alive(writer, reader, topic="ratings", seconds=5)
            writer.flush(PATIENCE)


def grown(stage: Stage) -> None:
    """A topic is given more partitions while a group reads it."""
    stage.topic("parcels-out", partitions=2)
    admin = script("ops-script")
    options = SHORT | {"topic_metadata_refresh_interval_ms": 1000}
    with (
        stage.recording(),
        stage.producer("parcel-belt", topic_metadata_refresh_interval_ms=1000) as writer,
        stage.consumer("parcel-1", "parcel-doors", "parcels-out", **options) as one,
        stage.consumer("parcel-2", "parcel-doors", "parcels-out", **options) as two,
    ):
        alive(writer, one, two, topic="parcels-out", seconds=4)
        tried(admin.create_partitions([NewPartitions("parcels-out", 4)]))
        alive(writer, one, two, topic="parcels-out", seconds=5)
        writer.flush(PATIENCE)


def far_away(stage: Stage) -> None:
    """Clients at the end of a line of 20 ms, which is what it is; nobody waits for it."""
    stage.topic("weather")
    line = stage.line()
    line.becomes(delay=0.01)

    def work() -> None:
        options = SHORT | {"bootstrap_servers": LINE, "session_timeout_ms": 6000}
        with (
            stage.producer("weather-mast", bootstrap_servers=LINE, linger_ms=20) as writer,
            stage.consumer("weather-map", "weather-maps", "weather", **options) as reader,
        ):
            alive(writer, reader, topic="weather", seconds=6, pause=0.1)
            writer.flush(PATIENCE)

    with stage.recording("tcp", DEVICE):
        line.at_far_end(work)


def mutual(stage: Stage) -> None:
    """Both sides show certificates, and all is in order."""
    stage.topic("letters")
    options = {
        "security_protocol": "ssl", "ssl_ca_location": str(FOLDER / f"{AUTHORITY}.crt"),
        "ssl_certificate_location": str(pem(CLIENT)), "ssl_key_location": str(pem(CLIENT)),
        "bootstrap_servers": AT["MUTUAL"],
    }  # fmt: skip
    with (
        stage.recording(),
        stage.producer("letter-box", **options) as writer,
        stage.consumer("letter-van", "letter-vans", "letters", **SHORT, **options) as reader,
    ):
        alive(writer, reader, topic="letters", seconds=4)


def sees_little(stage: Stage) -> None:
    """A user that lists the topics, and is shown those that it may see: none."""
    stage.topic("payroll")
    admin = AdminClient({key.replace("_", "."): value for key, value in login(user="bob").items()} | QUIET)
    with stage.recording():
        for _ in range(3):
            admin.list_topics(timeout=PATIENCE)
            time.sleep(0.5)


def deployed(stage: Stage) -> None:
    """The members of a group of the new protocol are replaced one by one."""
    stage.topic("bookings-in", partitions=3)
    with stage.recording(), stage.producer("booking-web") as writer, ExitStack() as members:
        pods: list[tuple[ExitStack, Consumer]] = []
        for name in ("6f4d-aa2k", "6f4d-9xzt", "b81c-p0wn", "b81c-77hd"):
            pod = members.enter_context(ExitStack())
            reader = pod.enter_context(stage.consumer(f"booking-{name}", "booking", "bookings-in", **NEW))
            pods.append((pod, reader))
            alive(writer, *(each for _, each in pods), topic="bookings-in", seconds=4)
            if len(pods) > 2:
                pods.pop(0)[0].close()
                alive(writer, *(each for _, each in pods), topic="bookings-in", seconds=3)


INCIDENTS = (
    healthy("client-before-its-broker", "strict", before_broker, "a closed port",
            Packets("R", address="127.0.0.31", at_least=2), Shown("Produce", client_id="lead-form", at_least=5)),
    healthy("consumer-before-its-topic", "one", before_topic, "an unknown topic",
            Shown("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", client_id="rating-sum"),
            Shown("Fetch", client_id="rating-sum", at_least=3)),
    healthy("partitions-added-under-group", "one", grown, "rebalance storm",
            Shown("CreatePartitions"), Shown("JoinGroup", client_id="parcel-1", at_least=2)),
    healthy("line-of-20-ms", "one", far_away, "network latency", Packets("S", address=FAR, at_least=3),
            Shown("Produce", client_id="weather-mast", at_least=10)),
    healthy("mutual-tls-at-work", "guarded", mutual, "a refused certificate", Packets("P", port=9101, at_least=40)),
    healthy("user-sees-no-topics", "guarded", sees_little, "failing authorization", Shown("Metadata", at_least=3)),
    healthy("pods-replaced-new-protocol", "one", deployed, "rebalance storm",
            Shown("ConsumerGroupHeartbeat", at_least=12)),
)  # fmt: skip
