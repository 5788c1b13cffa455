"""Jobs, scripts and deployments that are well: short lives, restarts, aborts and errors that are part of the work."""

from __future__ import annotations

import asyncio
import time
import uuid
from contextlib import ExitStack, suppress

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, OffsetSpec

from ..foreign import franz_go, java_client, kafkajs
from ..handmade import handmade
from ..incident import Packets, Shown, healthy
from ..stage import PATIENCE, Stage, ended
from .administration import script, tried
from .groups import SHORT, alive, polled
from .producing import move

ONE, CLOSED = "127.0.0.11:9092", "127.0.0.12:9092"


def restart(stage: Stage) -> None:
    """A broker of three is stopped in good order and started again under clients of franz-go and KafkaJS."""
    stage.topic("trams", partitions=3)
    with stage.recording("tcp and not port 9990 and host 127.0.0.1"):
        told = {"brokers": stage.bootstrap, "group": "tram-maps", "seconds": 13}
        reader = franz_go("consume", "trams", id="tram-map", **told)
        writer = franz_go("produce", "trams", brokers=stage.bootstrap, id="tram-stop", count=30, pause=400)
        kafka = {"brokers": stage.bootstrap.split(","), "clientId": "tram-app", "retry": {"retries": 8}}
        other = kafkajs("produce", "trams", kafka=kafka, count=20, pause=600)
        time.sleep(4)
        stage.cluster.brokers[1].stop()
        stage.cluster.brokers[1].start()
        for each in (writer, other, reader):
            ended(each)


def manage(stage: Stage) -> None:
    """A script that lists, creates, describes, alters and deletes."""
    stage.topic("stock")
    stage.no_topic("stock-2026")
    admin = script("ops-script")
    retention = ConfigEntry("retention.ms", "3600000", incremental_operation=AlterConfigOpType.SET)
    with stage.recording():
        for _ in range(2):
            admin.list_topics(timeout=PATIENCE)
            tried(admin.create_topics([NewTopic("stock-2026", 3, 1)]))
            time.sleep(0.5)
            where = ConfigResource(ConfigResource.Type.TOPIC, "stock-2026", incremental_configs=[retention])
            tried(admin.incremental_alter_configs([where]))
            tried(admin.describe_configs([ConfigResource(ConfigResource.Type.BROKER, "1")]))
            admin.list_consumer_groups().result(PATIENCE)
            tried(admin.list_offsets({TopicPartition("stock", 0): OffsetSpec.latest()}))
            tried(admin.delete_topics(["stock-2026"]))
            time.sleep(0.5)


def hourly(stage: Stage) -> None:
    """A job that is started again and again: it reads what is new, commits, and ends."""
    stage.topic("receipts")
    with stage.recording(), stage.producer("till-3") as writer:
        for run in range(4):
            for number in range(5):
                writer.produce("receipts", f"receipt {run}.{number}")
            writer.flush(PATIENCE)
            with stage.consumer("receipt-report", "receipt-reports", "receipts", **SHORT) as reader:
                polled(reader, seconds=1.8)
                reader.commit(asynchronous=False)
            time.sleep(0.5)


def load(stage: Stage) -> None:
    """Many records without keys: each batch goes to one partition, the next one to another."""
    stage.topic("archive-in", partitions=4)
    options = {"compression_type": "lz4", "linger_ms": 50, "batch_num_messages": 2000}
    with stage.recording(), stage.producer("archive-load", **options) as writer:
        for number in range(12_000):
            writer.produce("archive-in", f"row {number % 50} of the archive")
            writer.poll(0)
        writer.flush(PATIENCE)


def long_polls(stage: Stage) -> None:
    """A consumer that lets the broker wait for 20 s; a record ends the wait early."""
    stage.topic("doorbells")
    options = SHORT | {"fetch_wait_max_ms": 20_000, "socket_timeout_ms": 40_000, "session_timeout_ms": 6000}
    with (
        stage.recording(),
        stage.producer("doorbell") as writer,
        stage.consumer("doorbell-chime", "doorbell-chimes", "doorbells", **options) as reader,
    ):
        for number in range(4):
            polled(reader, seconds=2.5)
            writer.produce("doorbells", f"ring {number}")
            writer.flush(PATIENCE)
        polled(reader, seconds=1)


def short_lives(stage: Stage) -> None:
    """Forty jobs of a scheduler, each with a name of its own and one record."""
    stage.topic("job-results")
    with stage.recording():
        for number in range(40):
            with stage.producer(f"nightly-{number:02}-{uuid.UUID(int=number * 7919).hex[-5:]}") as writer:
                writer.produce("job-results", f"result {number}")
                writer.flush(PATIENCE)


def deployed(stage: Stage) -> None:
    """A deployment replaces the pods of a group one by one; their names end in a hash."""
    stage.topic("checkouts", partitions=3)
    names = ["7d9f8b6c5-x2k9p", "7d9f8b6c5-m4qzt", "5c6b7d8f9-tt8wn", "5c6b7d8f9-k2vhd"]
    with stage.recording(), stage.producer("checkout-web") as writer, ExitStack() as members:
        pods: list[tuple[ExitStack, Consumer]] = []
        for number, name in enumerate(names):
            pod = members.enter_context(ExitStack())
            options = SHORT | {"enable_auto_commit": True, "auto_commit_interval_ms": 500}
            reader = pod.enter_context(stage.consumer(f"checkout-{name}", "checkout", "checkouts", **options))
            pods.append((pod, reader))
            alive(writer, *(each for _, each in pods), topic="checkouts", seconds=2.5)
            if number >= 1:
                pods.pop(0)[0].close()
                alive(writer, *(each for _, each in pods), topic="checkouts", seconds=1.5)


def transformed(stage: Stage) -> None:
    """A program that consumes and produces in transactions, and aborts some of them."""
    stage.topic("raw")
    stage.topic("clean")
    stage.fill("raw", *(f"raw {number}" for number in range(40)))
    with (
        stage.recording(),
        stage.producer("cleaner", transactional_id="cleaner-1") as writer,
        stage.consumer("cleaner", "cleaners", "raw", **SHORT, isolation_level="read_committed") as reader,
        stage.consumer("clean-view", "clean-views", "clean", **SHORT, isolation_level="read_committed") as view,
    ):
        writer.init_transactions(PATIENCE)
        polled(view, seconds=1)
        for number in range(8):
            messages = [each for each in reader.consume(5, 1.0) if each.error() is None]
            if not messages:
                continue
            writer.begin_transaction()
            for message in messages:
                writer.produce("clean", message.value())
            where = reader.position(reader.assignment())
            writer.send_offsets_to_transaction(where, reader.consumer_group_metadata(), PATIENCE)
            if number == 3:
                writer.abort_transaction(PATIENCE)
            else:
                writer.commit_transaction(PATIENCE)
            polled(view, seconds=0.3)


def shared(stage: Stage) -> None:
    """Two members of a share group; what one of them takes it accepts."""
    stage.topic("errands")
    told = {"bootstrap.servers": ONE, "group.id": "couriers", "do.seconds": 8, "do.work": 20}
    with stage.recording(), stage.producer("errand-desk") as writer:
        first = java_client("share", "errands", told | {"client.id": "courier-1"})
        second = java_client("share", "errands", told | {"client.id": "courier-2"})
        time.sleep(5)
        for number in range(12):
            writer.produce("errands", f"errand {number}")
            writer.flush(PATIENCE)
            time.sleep(0.2)
        ended(first)
        ended(second)


def one_address_dead(stage: Stage) -> None:
    """A list of two bootstrap servers of which one is gone: clients take the other."""
    stage.topic("ferries")
    both = f"{CLOSED},{ONE}"
    with stage.recording():
        ended(java_client("produce", "ferries", {"bootstrap.servers": both, "client.id": "ferry-desk", "do.count": 4}))
        with stage.producer("ferry-app", bootstrap_servers=both) as writer:
            alive(writer, topic="ferries", seconds=2)
            writer.flush(PATIENCE)


def static_again(stage: Stage) -> None:
    """A static member of the new protocol is stopped and started again."""
    stage.topic("safes", partitions=2)
    options = {"group_protocol": "consumer", "fetch_wait_max_ms": 300}
    with (
        stage.recording(),
        stage.producer("safe-panel") as writer,
        stage.consumer("safe-a", "safe-rooms", "safes", group_instance_id="safe-1", **options) as stays,
    ):
        for _ in range(2):
            with stage.consumer("safe-b", "safe-rooms", "safes", group_instance_id="safe-2", **options) as other:
                alive(writer, stays, other, topic="safes", seconds=4)
        alive(writer, stays, topic="safes", seconds=1)


def run_tests(stage: Stage) -> None:
    """A suite of tests: each makes a topic with a name of its own, uses it, and deletes it."""
    admin = script("test-suite")
    with stage.recording():
        for number in range(3):
            topic = f"test-{uuid.UUID(int=number * 104_729).hex[-8:]}"
            tried(admin.create_topics([NewTopic(topic, 1, 1)]))
            time.sleep(0.3)
            with (
                stage.producer("test-writer") as writer,
                stage.consumer("test-reader", f"{topic}-group", topic, **SHORT) as reader,
            ):
                alive(writer, reader, topic=topic, seconds=1.5)
                writer.flush(PATIENCE)
                polled(reader, seconds=0.5)
            tried(admin.delete_topics([topic]))
            tried(admin.delete_consumer_groups([f"{topic}-group"]))


def console(stage: Stage) -> None:
    """Kafka's own tools, as somebody looks around with them."""
    stage.topic("looks")
    with stage.consumer("setup", "lookers") as reader:
        reader.commit(offsets=[TopicPartition("looks", 0, 0)], asynchronous=False)
    where = ("--bootstrap-server", ONE)
    with stage.recording():
        stage.broker.run("TopicCommand", *where, "--describe")
        stage.broker.run("ConsumerGroupCommand", *where, "--describe", "--all-groups")
        stage.broker.run("ConfigCommand", *where, "--entity-type", "topics", "--entity-name", "looks", "--describe")
        stage.broker.run("GetOffsetShell", *where, "--topic", "looks")


def everyday_aiokafka(stage: Stage) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    stage.topic("kites", partitions=2)

    async def fly() -> None:
        waits = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 500, "auto_offset_reset": "earliest"}
        async with (
            AIOKafkaProducer(bootstrap_servers=ONE, client_id="kite-in") as writer,
            AIOKafkaConsumer("kites", bootstrap_servers=ONE, client_id="kite-out", group_id="kites", **waits) as reader,
        ):
            for number in range(12):
                await writer.send_and_wait("kites", b"kite %d" % number)
                await reader.getmany(timeout_ms=300)

    with stage.recording():
        asyncio.run(fly())


def backpressure(stage: Stage) -> None:
    """A consumer that pauses while its queue is full, and resumes, again and again."""
    stage.topic("thumbs-in", partitions=2)
    options = SHORT | {"enable_auto_commit": True, "auto_commit_interval_ms": 500}
    with (
        stage.recording(),
        stage.producer("thumb-in") as writer,
        stage.consumer("thumb-maker", "thumb-makers", "thumbs-in", **options) as reader,
    ):
        alive(writer, reader, topic="thumbs-in", seconds=2)
        for _ in range(4):
            reader.pause(reader.assignment())
            alive(writer, reader, topic="thumbs-in", seconds=1)
            reader.resume(reader.assignment())
            alive(writer, reader, topic="thumbs-in", seconds=1)


def metrics(stage: Stage) -> None:
    """Metrics with acks=0, none of which is refused."""
    stage.topic("cpu-load")
    with stage.recording(), stage.producer("cpu-agent", acks="0", linger_ms=100) as writer:
        alive(writer, topic="cpu-load", seconds=5, pause=0.05)
        writer.flush(PATIENCE)


def replayed(stage: Stage) -> None:
    """A consumer that looks for the offset of a time and begins there."""
    stage.topic("trades-in")
    stage.fill("trades-in", *(f"trade {number}" for number in range(50)))
    with stage.recording(), stage.consumer("trade-replay", "trade-replays", **SHORT) as reader:
        past = TopicPartition("trades-in", 0, int((time.time() - 600) * 1000))
        reader.assign(reader.offsets_for_times([past], PATIENCE))
        polled(reader, seconds=2)
        with suppress(KafkaException):
            reader.commit(asynchronous=False)


def lag_measured(stage: Stage) -> None:
    """A monitor of lag that looks every second, beside a consumer at work."""
    stage.topic("feeds")
    admin = script("lag-exporter")
    options = SHORT | {"enable_auto_commit": True, "auto_commit_interval_ms": 500}
    with (
        stage.recording(),
        stage.producer("feed-in") as writer,
        stage.consumer("feed-out", "feed-outs", "feeds", **options) as reader,
    ):
        for _ in range(6):
            alive(writer, reader, topic="feeds", seconds=1)
            tried(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("feed-outs")]))
            tried(admin.list_offsets({TopicPartition("feeds", 0): OffsetSpec.latest()}))
            tried(admin.describe_consumer_groups(["feed-outs"]))


def not_needed(stage: Stage) -> None:
    """A job that elects preferred leaders every night; they lead already."""
    stage.topic("taxis", replicas=[[1, 2], [2, 3]])
    with stage.recording("tcp and not port 9990 and host 127.0.0.1"), handmade("leader-job", "127.0.0.21:9092") as job:
        job.ask("ApiVersions", 0)
        for _ in range(3):
            wanted = [{"topic": "taxis", "partitions": [0, 1]}]
            job.ask("ElectLeaders", 1, election_type=0, topic_partitions=wanted, timeout_ms=5000)
            time.sleep(0.5)


def moved(stage: Stage) -> None:
    """A partition moves to other brokers under its clients, and arrives."""
    stage.topic("buses", replicas=[[1, 2]])
    options = SHORT | {"fetch_wait_max_ms": 500, "session_timeout_ms": 6000}
    with (
        stage.recording("tcp and not port 9990 and host 127.0.0.1"),
        stage.producer("bus-stop", retry_backoff_ms=100) as writer,
        stage.consumer("bus-board", "bus-boards", "buses", **options) as reader,
    ):
        alive(writer, reader, topic="buses", seconds=3)
        move(stage, "buses", 3, 2)
        alive(writer, reader, topic="buses", seconds=4)
        writer.flush(PATIENCE)


INCIDENTS = (
    healthy("broker-restarted-franz-go-kafkajs", "three", restart, "a broker that dies",
            Shown("Produce", client_id="tram-stop", at_least=20), Shown("Produce", client_id="tram-app", at_least=15)),
    healthy("operations-script", "one", manage, "failing administration",
            Shown("CreateTopics", client_id="ops-script", at_least=2), Shown("DeleteTopics", at_least=2)),
    healthy("hourly-consumer", "one", hourly, "rebalance storm, connection churn",
            Shown("LeaveGroup", client_id="receipt-report", at_least=4)),
    healthy("bulk-load-without-keys", "one", load, "hot partition", Shown("Produce", client_id="archive-load")),
    healthy("long-polls-cut-short", "one", long_polls, "a slow broker, a client that gives up",
            Shown("Fetch", client_id="doorbell-chime", slower_than=2000, at_least=2)),
    healthy("forty-short-jobs", "one", short_lives, "connection churn", Packets("S", port=9092, at_least=80)),
    healthy("pods-replaced-one-by-one", "one", deployed, "rebalance storm, idle consumers",
            Shown("JoinGroup", at_least=6), Shown("LeaveGroup", at_least=3)),
    healthy("consume-and-produce-in-transactions", "one", transformed, "failing transactions, feedback loop",
            Shown("TxnOffsetCommit", at_least=5), Shown("EndTxn", at_least=5)),
    healthy("share-group-at-work", "one", shared, "poison record, idle consumers",
            Shown("ShareFetch", client_id="courier-1", at_least=3), Shown("ShareFetch", client_id="courier-2")),
    healthy("one-bootstrap-server-gone", "one", one_address_dead, "a refused bootstrap server",
            Packets("R", address="127.0.0.12"), Shown("Produce", client_id="ferry-desk", at_least=4)),
    healthy("static-member-restarted-new-protocol", "one", static_again, "a fenced static member",
            Shown("ConsumerGroupHeartbeat", client_id="safe-b", at_least=2)),
    healthy("topics-of-a-test-suite", "one", run_tests, "topics deleted in use, unknown topics",
            Shown("CreateTopics", at_least=3), Shown("DeleteTopics", at_least=3)),
    healthy("console-tools", "one", console, "connection churn", Shown("DescribeConfigs"), Shown("ListOffsets")),
    healthy("everyday-aiokafka", "one", everyday_aiokafka, "a group of one", Shown("Produce", at_least=10)),
    healthy("pauses-and-resumes", "one", backpressure, "a consumer that is paused",
            Shown("Fetch", client_id="thumb-maker", at_least=8)),
    healthy("metrics-with-acks-0", "one", metrics, "silent loss",
            Shown("Produce", client_id="cpu-agent", where="request.acks == 0", at_least=10)),
    healthy("replay-from-a-time", "one", replayed, "offset out of range",
            Shown("ListOffsets", client_id="trade-replay")),
    healthy("lag-measured-every-second", "one", lag_measured, "a storm of requests",
            Shown("OffsetFetch", client_id="lag-exporter", at_least=5)),
    healthy("preferred-leaders-lead-already", "three", not_needed, "failing elections",
            Shown("ElectLeaders", "ELECTION_NOT_NEEDED", at_least=3)),
    healthy("partition-moved-under-clients", "three", moved, "a stale leader",
            Shown("Produce", client_id="bus-stop", at_least=15)),
)  # fmt: skip
