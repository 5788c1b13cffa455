"""Where the time of exchanges went, by a capture, and by the request log of the broker that spent it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..cases import fewer_by_day
from ..cli.calls import spawn
from ..recording.tcpdump import recording
from .broker import Broker
from .loggers import request_log

MOST_SECONDS = 420
NEAR_MS, NEAR = 1.0, 0.1
"""What two durations may differ by: a millisecond, or a tenth of the whole exchange."""
LEAST = 2000
MOST_DIFFERENT = 0.4
FEW = 20
RECORDINGS = 3
CLIENTS = """if True:
    import sys, threading, time
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
    where = {"bootstrap.servers": sys.argv[1]}
    topics = ["%s-%d" % (sys.argv[3], number) for number in range(3)]
    admin = AdminClient(where | {"client.id": "admin"})
    for done in admin.create_topics([NewTopic(one, 2, 1) for one in topics]).values():
        done.result(60)
    over = threading.Event()

    def produce(topic, pause):
        producer = Producer(where | {"client.id": "shop-" + topic, "acks": "all", "linger.ms": 0})
        for number in range(int(sys.argv[2])):
            producer.produce(topic, b"%d" % number * 20)
            producer.flush(30)
            time.sleep(pause)

    def read(topic, group, wait):
        consumer = Consumer(where | {"client.id": "till-" + group, "group.id": group, "auto.offset.reset": "earliest",
                                     "fetch.wait.max.ms": wait, "auto.commit.interval.ms": 200,
                                     "heartbeat.interval.ms": 500})
        consumer.subscribe([topic])
        while not over.is_set():
            consumer.poll(0.2)
        consumer.close()

    def ask():
        while not over.is_set():
            admin.list_topics(timeout=30)
            for done in admin.describe_configs([ConfigResource("topic", topics[0])]).values():
                done.result(30)
            admin.list_consumer_groups().result(30)
            time.sleep(0.05)

    producers = [threading.Thread(target=produce, args=one) for one in zip(topics, (0.005, 0.02, 0.04))]
    others = [threading.Thread(target=read, args=(topics[n % 3], "%s-%d" % (sys.argv[3], n // 2),
                                                 (100, 300, 500)[n % 3]))
              for n in range(6)] + [threading.Thread(target=ask)]
    for one in producers + others:
        one.start()
    for one in producers:
        one.join()
    time.sleep(3)
    over.set()
    for one in others:
        one.join()
"""
Exchange = dict[str, Any]


@pytest.fixture(scope="module")
def recordings(brokers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Exchange, Exchange]]]:
    """Exchanges of real clients, each as the capture has it and as the broker's log does: a new recording each time."""
    if shutil.which("tcpdump") is None:
        pytest.skip("tcpdump is not installed")
    pytest.importorskip("confluent_kafka")
    broker: Broker = brokers.cluster("4").brokers[0]
    warm(broker)
    return (recorded(broker, f"measured-{number}", tmp_path_factory.mktemp("latency")) for number in range(RECORDINGS))


def recorded(broker: Broker, name: str, folder: Path) -> list[tuple[Exchange, Exchange]]:
    with recording(folder / "clients.pcap", [broker.port], nanoseconds=True):
        before = len(broker.log_text())
        with request_log(broker):
            run_clients(broker, fewer_by_day(700, 2), name)
        log = broker.log_text()[before:]
    (folder / "broker.log").write_text(log)
    captured = spawn("decode", folder / "clients.pcap", "-f", "json", "--latency").lines
    return pairs(captured, log.splitlines())


def warm(broker: Broker) -> None:
    """Have the broker do all that once: what a JVM does first takes long before its log's clock starts."""
    run_clients(broker, 200, "warm")


def run_clients(broker: Broker, records: int, name: str) -> None:
    command = [sys.executable, "-c", CLIENTS, broker.bootstrap, str(records), name]
    subprocess.run(command, check=True, timeout=MOST_SECONDS)


def pairs(captured: list[Exchange], log: list[str]) -> list[tuple[Exchange, Exchange]]:
    """Return the exchanges that stand in both, by connection, API and correlation id."""
    told: dict[tuple[str, str, int], deque[Exchange]] = defaultdict(deque)
    for line in log:
        if "Completed request:{" in line:
            one, _ = json.JSONDecoder().raw_decode(line, line.index("{"))
            client = one["connection"].split("-")[1]
            told[client, one["requestHeader"]["requestApiKey"], one["requestHeader"]["correlationId"]].append(one)
    found = []
    for one in captured:
        logged = told[one["connection"]["client"], one["api_key"], one["correlation_id"]]
        if logged and one["split"] is not None:
            found.append((one, logged.popleft()))
    return found


def unread(one: Exchange, log: Exchange) -> float:
    """Return how long a request lay in the broker's socket: the clock of its log starts when it is read.

    Of one that waited behind another nobody knows; there it is 0.
    """
    answered = log["totalTimeMs"] - log["sendTimeMs"]
    return max(0.0, one["latency_ms"] - one["split"]["network_ms"] - answered) if not one["split"]["waiting_ms"] else 0


def parts(one: Exchange, log: Exchange) -> list[tuple[str, float, float]]:
    """Return what both say: the broker's own time and what it held; together, where the capture cannot tell."""
    split = one["split"]
    own = log["requestQueueTimeMs"] + log["localTimeMs"] + log["responseQueueTimeMs"] + unread(one, log)
    remote = log["remoteTimeMs"]
    if split["held_ms"] is None or log["requestHeader"]["requestApiKey"] not in (1, 11, 14):
        return [("broker", split["broker_ms"] + (split["held_ms"] or 0), own + remote)]
    return [("broker", split["broker_ms"], own), ("held", split["held_ms"], remote)]


@pytest.mark.nightly
def test_the_split_is_what_the_broker_measured(recordings: Iterator[list[tuple[Exchange, Exchange]]]) -> None:
    """On a busy machine, the broker's threads wait for a processor after the packet was captured: a quarter of a
    recording differs by that beside the other rooms of tests. A split that is wrong differs for all of an API: no API
    may have more than half of its exchanges differ, and one recording of several must do.
    """
    found = []
    for both in recordings:
        assert len(both) >= LEAST
        different = Counter(
            one["api"] for one, log in both if any(differ(one, log, *part[1:]) for part in parts(one, log))
        )
        of = Counter(one["api"] for one, _ in both)
        apis = {api: (different[api], of[api]) for api in of if of[api] >= FEW and different[api] > of[api] / 2}
        if different.total() <= MOST_DIFFERENT * len(both) and not apis:
            return
        found.append((different.total() / len(both), apis))
    raise AssertionError(found)


def differ(one: Exchange, log: Exchange, mine: float, its: float) -> bool:
    whole = max(one["latency_ms"], log["totalTimeMs"])
    return abs(mine - its) > max(NEAR_MS, NEAR * whole)
