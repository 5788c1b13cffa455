"""What is slow, lossy or cut between clients and brokers; brokers that stand still; a box that mixes up answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from ..clusters import ADVERTISED, FAR, LINE_PORT, MIDDLE, NEAR
from ..foreign import java_client
from ..incident import Incident, Packets, Shown
from ..line import DEVICE
from ..middlebox import Middlebox
from ..stage import PATIENCE, Stage, apart, ended
from .groups import SHORT, polled

ONE, LINE = "127.0.0.11:9092", f"{NEAR}:{LINE_PORT}"
BOX = f"{MIDDLE[0]}:{MIDDLE[1]}"


def branch(stage: Stage, topic: str, count: int, size: int = 100, pause: float = 0.1) -> None:
    """A producer and a consumer at the far end of a line."""
    options = SHORT | {"bootstrap_servers": LINE, "session_timeout_ms": 10_000}
    with (
        stage.consumer("branch-mailer", "branch-mailers", topic, **options) as reader,
        stage.producer("branch-api", bootstrap_servers=LINE, linger_ms=0) as writer,
    ):
        for number in range(count):
            writer.produce(topic, f"{number:04}" + "b" * size)
            writer.poll(0)
            polled(reader, seconds=pause)
        writer.flush(PATIENCE)
        polled(reader, seconds=1)


def on_line(stage: Stage, *, count: int = 30, size: int = 100, **way: float) -> None:
    """A line that is the same all the time."""
    stage.topic("visits")
    line = stage.line()
    line.becomes(**way)
    with stage.recording("tcp", DEVICE):
        line.at_far_end(partial(branch, stage, "visits", count, size))


def java_on_line(stage: Stage, delay: float = 0.1) -> None:
    stage.topic("visits")
    line = stage.line()
    line.becomes(delay=delay)
    settings = {"bootstrap.servers": LINE, "client.id": "branch-ledger", "do.count": 12, "do.pause": 50}
    with stage.recording("tcp", DEVICE):
        ended(java_client("produce", "visits", settings, enter=line.enter))


def cut(stage: Stage, seconds: float = 4.0) -> None:
    """A line that passes nothing for some seconds."""
    stage.topic("visits")
    line = stage.line()

    def scissors() -> None:
        time.sleep(2.5)
        if seconds:
            stage.fails_now()
            line.becomes(cut=True)
            time.sleep(seconds)
            line.becomes(cut=False)

    with stage.recording("tcp", DEVICE):
        _beside(scissors, lambda: line.at_far_end(partial(branch, stage, "visits", 60)))


def _beside(one: Callable[[], object], other: Callable[[], object]) -> None:
    """Do both at the same time."""
    thread = threading.Thread(target=one)
    thread.start()
    other()
    thread.join()


def narrow_for_requests(stage: Stage, longest: int = 900) -> None:
    """Somewhere on the line long packets are dropped, and nobody is told: small requests pass, large ones never."""
    stage.topic("claims-in")
    line = stage.line()
    line.becomes(longest=longest)

    def work() -> None:
        options = {"bootstrap_servers": LINE, "socket_timeout_ms": 3000, "message_timeout_ms": 7000}
        with stage.producer("claim-upload", **options) as writer:
            for size in (50, 60, 7400, 7400):
                writer.produce("claims-in", "c" * size)
                writer.flush(3.5)

    with stage.recording("tcp", DEVICE):
        line.at_far_end(work)


def narrow_for_answers(stage: Stage, longest: int = 900) -> None:
    """The same for what a consumer is to get."""
    stage.topic("claims-out")
    stage.fill("claims-out", "short", "also short", *("c" * 6000 for _ in range(3)), batch_num_messages=1)
    line = stage.line()
    line.becomes(longest=longest)

    def work() -> None:
        options = SHORT | {"bootstrap_servers": LINE, "socket_timeout_ms": 4000, "session_timeout_ms": 10_000}
        with stage.consumer("claim-print", "claim-printers", "claims-out", **options) as reader:
            polled(reader, seconds=8)

    with stage.recording("tcp", DEVICE):
        line.at_far_end(work)


def frozen(stage: Stage, seconds: float = 2.5) -> None:
    """A broker whose process does not run for some seconds."""
    stage.topic("orders")
    with (
        stage.recording(),
        stage.producer("order-api", linger_ms=0) as writer,
        stage.consumer("order-mailer", "order-mailers", "orders", **SHORT) as reader,
    ):
        polled(reader, seconds=2)

        def ice() -> None:
            time.sleep(1)
            stage.fails_now()
            if seconds:
                stage.frozen(stage.broker, seconds)

        def work() -> None:
            for number in range(40):
                writer.produce("orders", f"order {number}")
                polled(reader, seconds=0.12)
            writer.flush(PATIENCE)
            polled(reader, seconds=1)

        _beside(ice, work)


def frozen_for_java(stage: Stage, seconds: float = 2.5) -> None:
    stage.topic("orders")
    told = {"bootstrap.servers": ONE, "client.id": "order-form", "request.timeout.ms": 9000, "do.pause": 50}
    told |= {"delivery.timeout.ms": 20_000}
    with stage.recording():
        process = java_client("produce", "orders", told | {"do.count": 60})
        time.sleep(2)
        stage.fails_now()
        if seconds:
            stage.frozen(stage.broker, seconds)
        ended(process)


def lagging_follower(stage: Stage, seconds: float = 2.5) -> None:
    """A follower that does not fetch for some seconds: who writes with acks=all waits for it."""
    stage.topic("trades", replicas=[[3, 1, 2]], min_insync_replicas="1")
    follower = next(each for each in stage.cluster.brokers if each.node not in (3, _controller(stage)))
    stage.concerns(broker=follower.bootstrap)
    with stage.recording(), stage.producer("trade-api", acks="all", linger_ms=0) as writer:

        def ice() -> None:
            time.sleep(1)
            stage.fails_now()
            if seconds:
                stage.frozen(follower, seconds)

        def work() -> None:
            for number in range(25):
                writer.produce("trades", f"trade {number}")
                writer.poll(0)
                time.sleep(0.2)
            writer.flush(PATIENCE)

        _beside(ice, work)


def _controller(stage: Stage) -> int:
    return int(stage.admin.describe_cluster().result(PATIENCE).controller.id)


def mixed_up(stage: Stage, wrong_from: int | None = 3) -> None:
    """kafka-python through a box that gives answers other ids than their requests had."""
    from kafka import KafkaProducer
    from kafka.errors import KafkaError

    stage.topic("tickets")
    port = ADVERTISED["TOLD_MIDDLEBOX"][0]
    box = Middlebox(MIDDLE, ("127.0.0.11", port), wrong_from=wrong_from)
    stage.finally_do(box.close)

    def send() -> None:
        with suppress(KafkaError):
            writer = KafkaProducer(bootstrap_servers=BOX, client_id="ticket-gate", max_block_ms=4000, retries=2)
            for number in range(4):
                with suppress(KafkaError):
                    writer.send("tickets", b"ticket %d" % number).get(2)

    with stage.recording(f"tcp and host {MIDDLE[0]}"):
        apart(send)


def mixed_up_librdkafka(stage: Stage, wrong_from: int | None = 3) -> None:
    stage.topic("tickets")
    port = ADVERTISED["TOLD_MIDDLEBOX"][0]
    box = Middlebox(MIDDLE, ("127.0.0.11", port), wrong_from=wrong_from)
    stage.finally_do(box.close)
    options = {"bootstrap_servers": BOX, "socket_timeout_ms": 1500, "message_timeout_ms": 5000}
    with stage.recording(f"tcp and host {MIDDLE[0]}"), stage.producer("ticket-hall", **options) as writer:
        for number in range(4):
            writer.produce("tickets", f"ticket {number}")
            writer.flush(2)


UNASKED = '"unsolicited-response" in finding_kinds'
AT_LINE = {"host": FAR, "broker": LINE}
INCIDENTS = (
    Incident(
        "network-delay", "network-latency", "one", partial(on_line, delay=0.12, count=40),
        AT_LINE, (Packets("S", address=FAR, at_least=4), Shown("Produce", client_id="branch-api", at_least=10)),
        "a broker that is nearer, fewer round trips", partial(on_line, count=40),
    ),
    Incident(
        "network-delay-java", "network-latency", "one", java_on_line, AT_LINE,
        (Packets("S", address=FAR, at_least=2), Shown("Produce", client_id="branch-ledger", at_least=10)),
        "a broker that is nearer, fewer round trips", partial(java_on_line, delay=0.0),
    ),
    Incident(
        "network-loss", "packet-loss", "one", partial(on_line, loss=0.06, count=60, size=2500), AT_LINE,
        (Packets("S", address=FAR, at_least=4), Shown("Produce", client_id="branch-api", at_least=30)),
        "look at the network", partial(on_line, count=60, size=2500),
    ),
    Incident(
        "network-cut", "network-interruption", "one", cut, AT_LINE,
        (Packets("S", address=FAR, at_least=4), Shown("Produce", client_id="branch-api", at_least=10)),
        "look at the network", partial(cut, seconds=0.0),
    ),
    Incident(
        "long-packets-dropped-from-client", "mtu-blackhole", "one", narrow_for_requests, AT_LINE,
        (Packets("S", address=FAR, at_least=2), Shown("Produce", client_id="claim-upload")),
        "the MTU, or the messages of ICMP that tell of it", partial(narrow_for_requests, longest=1500),
    ),
    Incident(
        "long-packets-dropped-to-client", "mtu-blackhole", "one", narrow_for_answers, AT_LINE,
        (Packets("S", address=FAR, at_least=2), Shown("Fetch", client_id="claim-print")),
        "the MTU, or the messages of ICMP that tell of it", partial(narrow_for_answers, longest=1500),
    ),
    Incident(
        "broker-stood-still", "broker-frozen", "one", frozen, {"broker": ONE},
        (Shown("Produce", client_id="order-api", slower_than=1000, at_least=3),),
        "look at the broker's pauses: GC, disk, VM",
        partial(frozen, seconds=0.0),
    ),
    Incident(
        "broker-stood-still-java", "broker-frozen", "one", frozen_for_java, {"broker": ONE},
        (Shown("Produce", client_id="order-form", slower_than=1500),), "look at the broker's pauses: GC, disk, VM",
        partial(frozen_for_java, seconds=0.0),
    ),
    Incident(
        "follower-stood-still", "slow-follower", "three", lagging_follower,
        {"topic": "trades"},
        (Shown("Produce", client_id="trade-api", slower_than=1000, at_least=3), Shown("Fetch", at_least=10)),
        "look at the follower", partial(lagging_follower, seconds=0.0),
    ),
    Incident(
        "answers-mixed-up-kafka-python", "correlation-mismatch-middlebox", "one", mixed_up,
        {"client_id": "ticket-gate", "broker": BOX},
        (Packets("S", address=MIDDLE[0], at_least=2), Shown("Produce", where=UNASKED)),
        "take the box out of the way", partial(mixed_up, wrong_from=None),
    ),
    Incident(
        "answers-mixed-up-librdkafka", "correlation-mismatch-middlebox", "one", mixed_up_librdkafka,
        {"client_id": "ticket-hall", "broker": BOX},
        (Packets("S", address=MIDDLE[0], at_least=2), Shown("Produce", where=UNASKED)),
        "take the box out of the way", partial(mixed_up_librdkafka, wrong_from=None),
    ),
)  # fmt: skip
