"""The mock beside real brokers: what they do with requests that have a mistake, and clients that are served by it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kdbg

from ..cases import by_day
from ..live.malformed import FIND, MISTAKES, OLDER, SILENT, TOPIC, Mistake, end_of, framed, header, sent, text
from .broker import Broker
from .others import ALL, session
from .pool import Pool

PATIENCE = 30
SENT = 3
"""Records that each client of clients/everything produces."""
SILENCE, SHORT = 1.5, 0.05
"""Seconds after which a broker, and a mock, that sent nothing sends nothing."""
NOT_YET = {14, 15, 16}
"""Error codes of a coordinator that is not there yet."""
LIMITS = {"produce-v2", "produce-v2-batch", "gzip-length-not-zigzag"}
"""Requests that Kafka 3.9 takes; a mock cannot answer the first two, and is as strict as Kafka 4 about the last."""


def ended(address: tuple[str, int], one: Mistake, silence: float) -> int | str:
    """What became of a request, once coordinators are there; it is silent after so many seconds."""
    end = time.monotonic() + PATIENCE
    while True:
        found = end_of(one.data, sent(address, one.data, silence if one.end == SILENT else PATIENCE))
        if found not in NOT_YET or time.monotonic() > end:
            return found
        time.sleep(0.2)


def ends(address: tuple[str, int], mistakes: Sequence[Mistake], silence: float) -> dict[str, int | str]:
    """What became of requests, by name, one after the other; of those that nothing is sent to at the same time."""
    with ThreadPoolExecutor() as threads:
        silent = {one.name: threads.submit(ended, address, one, silence) for one in mistakes if one.end == SILENT}
        found = {name: waiting.result() for name, waiting in silent.items()}
    return found | {one.name: ended(address, one, silence) for one in mistakes if one.name not in found}


def begin(broker: Broker) -> None:
    """A topic, and a coordinator."""
    if TOPIC not in broker.topics():
        broker.create_topic(TOPIC, 2)
    sent((broker.host, broker.port), framed(header(FIND, 2, flexible=False) + text(b"mistaken") + b"\0"), PATIENCE)


@pytest.mark.parametrize("name", by_day(["4", "3.9"], 2))
def test_the_mock_does_with_mistakes_what_the_broker_does(brokers: Pool, name: str, tmp_path: Path) -> None:
    broker = brokers.cluster(name).brokers[0]
    begin(broker)
    truth = {one.name: one.end for one in MISTAKES} | (OLDER if name == "3.9" else {})
    with kdbg.proxy(broker.bootstrap) as proxy:
        host, port = proxy.address.rsplit(":", 1)
        for one in MISTAKES:
            if one.name.startswith(("sound", "versions", "metadata")):
                sent((host, int(port)), one.data, PATIENCE)
        (path := tmp_path / "recorded.pcap").write_bytes(proxy.capture)
    real = ends((broker.host, broker.port), MISTAKES, SILENCE)
    assert real == truth
    with kdbg.mock(path) as mock:
        host, port = mock.address.rsplit(":", 1)
        found = ends((host, int(port)), [one for one in MISTAKES if one.name not in LIMITS], SHORT)
    assert found == {name: end for name, end in real.items() if name not in LIMITS}


RECORDED = ("confluent-kafka", "kafkajs", "franz-go")
"""Clients whose sessions are served: librdkafka's, one of old versions, one of the newest, which name topics by id."""


@pytest.fixture(scope="module")
def sessions(brokers: Pool, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A capture of each of these clients with Kafka 4: admin, produce, consume in a group, commit, admin."""
    broker, found = brokers.cluster("4").brokers[0], {}
    for name in RECORDED:
        broker.create_topic(topic := f"{name}-{os.getpid()}")
        with kdbg.proxy(broker.bootstrap) as proxy:
            session(name, proxy.address, topic, f"{topic}-group", SENT)
            found[topic] = tmp_path_factory.mktemp("sessions") / f"{name}.pcap"
            found[topic].write_bytes(proxy.capture)
    return found


@pytest.mark.parametrize("name", ALL)
def test_another_client_is_served(sessions: dict[str, Path], name: str) -> None:
    for topic, path in sessions.items():
        with kdbg.mock(path) as mock:
            found = session(name, mock.address, topic, f"{name}-own", SENT)
            assert (mock.problems, mock.not_recorded) == ([], [])
            asked = {exchange.api.name for exchange in mock.exchanges() if exchange.api is not None}
        author = topic.rpartition("-")[0].removesuffix("-kafka")
        assert [value.rpartition(" ")[0] for value in found["consumed"]] == [author] * SENT
        assert topic in found["topics"]
        assert f"{topic}-group" in found["groups"]
        assert found["latest"] == SENT
        assert asked >= {"Produce", "Fetch", "JoinGroup", "SyncGroup", "OffsetCommit", "OffsetFetch", "DescribeGroups"}
