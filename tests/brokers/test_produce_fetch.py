"""Records through real brokers: in every format and codec that a broker takes, from kdbg to kdbg, and between kdbg and
the clients that people use: librdkafka and Java's.

`TAKEN` says what each release takes; what it does not take is sent as well (`REFUSED`), and must be refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from kdbg.errors import Closed
from kdbg.live.client.cluster import Cluster
from kdbg.live.client.forms import CODECS, ZSTD_SINCE
from kdbg.live.client.forms import RECORD_FORMATS as CARRIED_BY
from kdbg.live.client.settings import Settings
from kdbg.protocol import grammars

from ..cases import by_day
from . import console, probe
from .broker import Broker
from .pool import Pool
from .recordsets import FORMATS, NO_TIMESTAMP, SAMPLE, START, Row, body_of, numbered, record_set, rows_of, survives
from .releases import RELEASES, Release

PRODUCE, FETCH = grammars.api("Produce"), grammars.api("Fetch")
OLD_CODECS = ("none", "gzip", "snappy", "lz4")
TAKEN: dict[str, dict[str, tuple[str, ...]]] = {
    "0.8.2.2": {"v0": OLD_CODECS},
    "0.10.1.1": {"v0": OLD_CODECS, "v1": OLD_CODECS},
    "2.8.2": {"v0": OLD_CODECS, "v1": OLD_CODECS, "v2": CODECS},
    "3.9.2": {"v0": OLD_CODECS, "v1": OLD_CODECS, "v2": CODECS},
    "4.4.0": {"v2": CODECS},
}
"""Release -> record format -> codecs. Kafka 4 knows no Produce before 3 (KIP-896): format v2 alone is left."""
UNCHECKED = ("0.8.2.2", "v1")
"""What is neither taken nor refused: Kafka 0.8 looks at no version."""
LIBRDKAFKA_SINCE = (0, 10)
"""The first broker that today's librdkafka speaks to."""
SERVED_BY_0_8_2 = (0, 0)
"""Of Produce and of Fetch: Kafka 0.8.2 cannot say it."""
MOST = 50 << 20
UNSUPPORTED_COMPRESSION_TYPE = 76
SOME = by_day(RELEASES, 2)


def taken() -> Iterator[object]:
    for kafka in SOME:
        for record_format, codecs in TAKEN[kafka.version].items():
            for codec in codecs:
                name = f"kafka-{kafka.version}-{record_format}-{codec}"
                yield pytest.param(kafka, record_format, codec, id=name)


def refused() -> Iterator[object]:
    for kafka in SOME:
        for record_format in FORMATS:
            if record_format not in TAKEN[kafka.version] and (kafka.version, record_format) != UNCHECKED:
                yield pytest.param(kafka, record_format, id=f"kafka-{kafka.version}-{record_format}")


def by_librdkafka() -> Iterator[object]:
    """It produces in the newest format that the broker has."""
    for kafka in SOME:
        record_format, codecs = list(TAKEN[kafka.version].items())[-1]
        for codec in codecs if kafka.number >= LIBRDKAFKA_SINCE else ():
            yield pytest.param(kafka, record_format, codec, id=f"kafka-{kafka.version}-{codec}")


WITH_ZSTD = [pytest.param(kafka, id=f"kafka-{kafka.version}") for kafka in SOME if kafka.number >= (2, 1)]


def topic_on(broker: Broker, name: str) -> str:
    """A topic of one partition, created by being asked for."""
    probe.metadata(broker.port, name)
    broker.wait_for_topic(name)
    return name


async def versions(cluster: Cluster, api: int) -> range:
    """Of Produce or Fetch, what the broker says it serves."""
    served = await cluster.versions(await cluster.any())
    lowest, highest = served.get(api, SERVED_BY_0_8_2)
    return range(lowest, highest + 1)


def produce_body(topic: str, records: list[dict[str, object]]) -> dict[str, object]:
    place = {"name": topic, "partition_data": [{"index": 0, "records": records}]}
    return {"acks": -1, "timeout_ms": 10_000, "topic_data": [place]}


def fetch_body(topic: str, offset: int) -> dict[str, object]:
    place = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": MOST}
    topics = [{"topic": topic, "partitions": [place]}]
    return {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": MOST, "topics": topics}


async def produce(cluster: Cluster, topic: str, version: int, records: list[dict[str, object]]) -> tuple[int, int]:
    """(error code, offset of the first record)."""
    answer = body_of(await cluster.send(PRODUCE, produce_body(topic, records), version=version))
    (partition,) = answer["responses"][0]["partition_responses"]
    return partition["error_code"], partition["base_offset"]


async def fetch(cluster: Cluster, topic: str, version: int, count: int) -> list[Row]:
    """So many records from the first on, fetched like a consumer: from where the answer before ended."""
    rows: list[Row] = []
    while len(rows) < count:
        place = {"partition": 0, "fetch_offset": len(rows), "partition_max_bytes": MOST}
        body = {
            "max_wait_ms": 500,
            "min_bytes": 1,
            "max_bytes": MOST,
            "topics": [{"topic": topic, "partitions": [place]}],
        }
        answer = body_of(await cluster.send(FETCH, body, version=version))
        (partition,) = answer["responses"][0]["partitions"]
        assert partition["error_code"] == 0
        found = [row for row in rows_of(partition["records"]) if row.offset >= len(rows)]
        assert found, f"Fetch v{version} brings nothing after {len(rows)} of {count} records"
        rows += found
    return rows


def fetched_magic(version: int, kafka: Release) -> int:
    """The format in which a version of Fetch brings records: the broker converts them down where it must."""
    return min(0 if version < 2 else 1 if version < 4 else 2, 0 if kafka.number < (0, 10) else 2)


def short(rows: Sequence[Row]) -> list[Row]:
    """The rows with values that a failed test can show."""
    return [row._replace(value=row.value[:40] + b"+%d" % len(row.value)) if row.value else row for row in rows]


async def round_trip(broker: Broker, topic: str, record_format: str, codec: str) -> int:
    """Produce by every version that carries the format, fetch by every version; how many records there are now."""
    async with Cluster(broker.bootstrap, Settings()) as cluster:
        produced = 0
        for version in await versions(cluster, PRODUCE.key):
            if version not in CARRIED_BY[record_format] or (codec == "zstd" and version < ZSTD_SINCE):
                continue
            error, offset = await produce(cluster, topic, version, record_set(record_format, codec))
            assert (version, error, offset) == (version, 0, produced * len(SAMPLE))
            produced += 1
        rows = numbered(SAMPLE, produced)
        for version in await versions(cluster, FETCH.key):
            if codec != "zstd" or version >= 10:  # before, it is refused
                found = await fetch(cluster, topic, version, len(rows))
                magic = fetched_magic(version, broker.release)
                assert short(found) == short([survives(row, record_format, magic) for row in rows])
    return len(rows)


@pytest.mark.parametrize(("broker", "record_format", "codec"), list(taken()), indirect=["broker"])
def test_what_kdbg_produced_kdbg_and_librdkafka_read(broker: Broker, record_format: str, codec: str) -> None:
    topic = topic_on(broker, f"round-trip-{record_format}-{codec}")
    count = asyncio.run(round_trip(broker, topic, record_format, codec))
    assert count >= len(SAMPLE)
    if broker.release.number >= LIBRDKAFKA_SINCE:
        magic = fetched_magic(99, broker.release) if broker.release.number >= (0, 11) else 1
        expected = [survives(row, record_format, magic) for row in numbered(SAMPLE, count // len(SAMPLE))]
        assert short(consumed(broker, topic, count)) == short(expected)


@pytest.mark.parametrize(("broker", "record_format"), list(refused()), indirect=["broker"])
def test_a_format_that_the_broker_does_not_take_is_refused(broker: Broker, record_format: str) -> None:
    """By hanging up: the versions of Produce that carry it are none of its own."""
    topic = topic_on(broker, f"refused-{record_format}")

    async def attempt() -> None:
        async with Cluster(broker.bootstrap, Settings()) as cluster:
            version = CARRIED_BY[record_format][0]
            with pytest.raises(Closed, match="closed the connection"):
                await produce(cluster, topic, version, record_set(record_format, "none"))

    asyncio.run(attempt())


def test_kafka_0_8_stores_a_format_that_it_does_not_know(brokers: Pool) -> None:
    """It answers as in version 0, whatever the version is; kdbg says what is missing of the answer."""
    broker = brokers.cluster("0.8").brokers[0]
    topic = topic_on(broker, "unchecked")

    async def attempt() -> tuple[str, list[Row]]:
        async with Cluster(broker.bootstrap, Settings()) as cluster:
            body = produce_body(topic, record_set("v1", "none"))
            exchange = await cluster.send(PRODUCE, body, version=2)
            assert exchange.response is not None
            message = exchange.response.message()
            assert message is not None
            return message.findings[0].text, await fetch(cluster, topic, 0, len(SAMPLE))

    finding, rows = asyncio.run(attempt())
    assert "log_append_time_ms: INT64 needs 8 bytes, only 0 left" in finding
    assert short(rows) == short([survives(row, "v1", 1) for row in SAMPLE])


@pytest.mark.parametrize("broker", WITH_ZSTD, indirect=True)
def test_zstd_before_its_time_is_refused(broker: Broker) -> None:
    topic = topic_on(broker, "early-zstd")

    async def attempt() -> tuple[int, int]:
        async with Cluster(broker.bootstrap, Settings()) as cluster:
            return await produce(cluster, topic, ZSTD_SINCE - 1, record_set("v2", "zstd"))

    assert asyncio.run(attempt()) == (UNSUPPORTED_COMPRESSION_TYPE, -1)


def test_codecs_and_formats_may_lie_in_one_partition(broker: Broker) -> None:
    """As kdbg leaves it, Java's own consumer reads it."""
    topic = topic_on(broker, "all-together")
    taken = [(record_format, codec) for record_format, codecs in TAKEN[broker.version].items() for codec in codecs]

    async def fill() -> None:
        async with Cluster(broker.bootstrap, Settings()) as cluster:
            served = await versions(cluster, PRODUCE.key)
            for record_format, codec in taken:
                version = max(version for version in served if version in CARRIED_BY[record_format])
                row = Row(0, b"key", f"{record_format} {codec}".encode(), START)
                assert (await produce(cluster, topic, version, record_set(record_format, codec, [row])))[0] == 0

    asyncio.run(fill())
    assert console.consume(broker, topic, len(taken)) == [" ".join(pair) for pair in taken]


@pytest.mark.parametrize(("broker", "record_format", "codec"), list(by_librdkafka()), indirect=["broker"])
def test_kdbg_fetches_what_librdkafka_produced(broker: Broker, record_format: str, codec: str) -> None:
    topic = topic_on(broker, f"librdkafka-{codec}")
    produced_by_librdkafka(broker, topic, codec)
    expected = [survives(row, record_format, FORMATS.index(record_format)) for row in SAMPLE]
    assert short(asyncio.run(all_fetched(broker, topic, len(SAMPLE)))) == short(expected)


JAVA: dict[str, Sequence[str]] = {
    "0.8.2.2": by_day(OLD_CODECS[1:], 2),
    "0.10.1.1": ("snappy", "lz4"),
    "2.8.2": by_day(("snappy", "lz4"), 2),
    "3.9.2": ("zstd",),
    "4.4.0": by_day(("zstd", "snappy", "lz4"), 3),
}
"""The codecs that Java's producer is tried with; its start takes seconds each time. By day each codec once."""


def test_kdbg_fetches_what_java_produced(broker: Broker) -> None:
    topic = topic_on(broker, "java")
    lines = [f"key-{i}:{'value ' * i}" for i in range(200)]
    for codec in JAVA[broker.version]:
        options = ("--property", "parse.key=true", "--property", "key.separator=:", "--compression-codec", codec)
        console.produce(broker, topic, *lines, options=options)
    rows = asyncio.run(all_fetched(broker, topic, len(lines) * len(JAVA[broker.version])))
    assert [row.offset for row in rows] == list(range(len(rows)))
    assert [b"%s:%s" % (row.key, row.value) for row in rows] == [line.encode() for line in lines] * len(
        JAVA[broker.version]
    )


async def all_fetched(broker: Broker, topic: str, count: int) -> list[Row]:
    """Fetched by the highest version that both sides know."""
    async with Cluster(broker.bootstrap, Settings()) as cluster:
        return await fetch(cluster, topic, max(await versions(cluster, FETCH.key)), count)


def consumed(broker: Broker, topic: str, count: int) -> list[Row]:
    """What librdkafka reads."""
    config = {"bootstrap.servers": broker.bootstrap, "group.id": "reads", "enable.auto.commit": False}
    consumer = Consumer(config | {"check.crcs": True})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [row_of(message) for message in consumer.consume(count, timeout=30)]
    finally:
        consumer.close()


def row_of(message: Message) -> Row:
    assert message.error() is None
    offset, (kind, time) = message.offset(), message.timestamp()
    assert offset is not None
    headers: tuple[Any, ...] = tuple(message.headers() or ())
    return Row(offset, message.key(), message.value(), time if kind else NO_TIMESTAMP, headers)


def produced_by_librdkafka(broker: Broker, topic: str, codec: str) -> None:
    """The sample, in one batch."""
    config = {"bootstrap.servers": broker.bootstrap, "compression.codec": codec, "linger.ms": 50}
    producer = Producer(config)
    for row in SAMPLE:
        producer.produce(topic, row.value, row.key, 0, timestamp=row.timestamp, headers=list(row.headers))
    assert producer.flush(30) == 0
