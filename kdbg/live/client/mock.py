"""An in-process broker for when there is none at hand: librdkafka's mock cluster, inside the confluent-kafka wheel.

It speaks the protocol over real sockets on loopback, creates topics as they are named, and knows some twenty APIs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import InputError
from ...extras import install

PREFIX = "mock:"
MOST = 100
STARTED = 10.0
"""Seconds that it may take to start: it takes milliseconds."""


@contextmanager
def mock_cluster(broker: str) -> Iterator[str]:
    """Run a mock cluster of `mock:`, or `mock:3`, while the context lasts and yield its addresses, with commas between.

    Other addresses are yielded as they are. `InputError` for a wrong number of brokers, without confluent-kafka, or
    where the cluster does not start.
    """
    if not broker.startswith(PREFIX):
        yield broker
        return
    number = broker.removeprefix(PREFIX) or "1"
    if not number.isdecimal() or not 0 < int(number) <= MOST:
        raise InputError(f"invalid broker {broker!r}; use mock: or, for several brokers, mock:3 (at most {MOST})")
    try:
        from confluent_kafka import KafkaException, Producer
    except ImportError:
        raise InputError(f"mock: needs librdkafka's mock cluster; {install('mock')}") from None
    silent = logging.getLogger("kdbg.mock")
    silent.setLevel(logging.CRITICAL)
    config = {"bootstrap.servers": "localhost", "test.mock.num.brokers": int(number), "logger": silent}
    try:
        producer = Producer(config)
        found = producer.list_topics(timeout=STARTED).brokers.values()
    except KafkaException as error:
        raise InputError(f"{broker}: the mock cluster failed to start: {error}") from None
    yield ",".join(f"{one.host}:{one.port}" for one in sorted(found, key=lambda one: int(one.id)))
    del producer  # it, and the cluster with it, has lived until here
