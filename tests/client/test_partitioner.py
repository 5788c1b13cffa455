"""Partitioners: the partition that the user's own client would choose."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from confluent_kafka import Message, Producer
from hypothesis import given
from hypothesis import strategies as st

from kdbg.live.client.forms import murmur2, partitioner
from kdbg.live.client.mock import mock_cluster

from ..cases import for_each

PUBLISHED = {
    b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829, b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}  # fmt: skip
"""Kafka's own: UtilsTest.testMurmur2."""
KEYS = [b"", b"k", b"orders", b"abcd", b"\xff\x00\x80", "größe".encode(), b"x" * 1000, *(b"%d" % i for i in range(40))]


@for_each(("key", "hashed"), PUBLISHED.items())
def test_murmur2_as_java_computes_it(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF


@given(st.binary(max_size=64), st.integers(1, 200))
def test_murmur2_as_kafka_python_computes_it(key: bytes, count: int) -> None:
    hashed = pytest.importorskip("kafka.partitioner.default").murmur2(key)
    assert murmur2(key) == hashed & 0xFFFFFFFF
    assert partitioner("murmur2")(key, range(count)) == (hashed & 0x7FFFFFFF) % count


@pytest.mark.parametrize(("ours", "theirs"), [("murmur2", "murmur2_random"), ("crc32", "consistent_random")])
def test_keys_land_where_librdkafka_puts_them(ours: str, theirs: str) -> None:
    landed: dict[bytes, int] = {}

    def delivered(error: object, message: Message) -> None:
        assert error is None
        landed[message.key() or b""] = message.partition()

    with mock_cluster("mock:") as bootstrap:
        producer = Producer({"bootstrap.servers": bootstrap, "partitioner": theirs, "log_level": 0})
        partitions = sorted(producer.list_topics("orders", timeout=10).topics["orders"].partitions)
        for key in filter(None, KEYS):
            producer.produce("orders", key=key, value=b"v", on_delivery=delivered)
        assert producer.flush(20) == 0
    choose = partitioner(ours)
    assert landed == {key: choose(key, partitions) for key in filter(None, KEYS)}
    assert len(set(landed.values())) == len(partitions) > 1


@pytest.mark.parametrize("name", ["murmur2", "crc32", "random"])
def test_without_a_key_any_will_do(name: str) -> None:
    random.seed(5)
    counted = Counter(partitioner(name)(None, [3, 5, 8]) for _ in range(300))
    assert set(counted) == {3, 5, 8}
    assert min(counted.values()) > 60


def test_an_empty_key_is_a_key_for_java_and_none_for_librdkafka() -> None:
    assert len({partitioner("murmur2")(b"", range(9)) for _ in range(50)}) == 1
    assert len({partitioner("crc32")(b"", range(9)) for _ in range(50)}) > 1


def test_round_robin_takes_turns_whatever_the_key() -> None:
    choose = partitioner("round-robin")
    assert [choose(b"k", [0, 1, 2]) for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]
