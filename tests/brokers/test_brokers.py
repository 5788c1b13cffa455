"""The brokers themselves: each starts, answers, keeps its topics over a stop, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import cluster as clusters
from . import probe
from .broker import Broker
from .cluster import Cluster, start
from .console import consume, produce
from .pool import Pool, needed
from .releases import RELEASES, Release
from .settings import free_ports
from .waiting import until

pytestmark = pytest.mark.nightly  # of kdbg it tests nothing, and by day all tests of this folder use its brokers
ALL = pytest.mark.parametrize("kafka", RELEASES, ids=lambda kafka: f"kafka-{kafka.version}")


def processes(home: Path) -> list[int]:
    """The pids of what was started over this folder: brokers and ZooKeeper."""
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if str(home).encode() in _command(entry)]


def _command(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""  # it ended just now


def leaders(broker: Broker, topic: str) -> set[int]:
    return set(probe.metadata(broker.port).leaders[topic].values())


@ALL
def test_a_closed_cluster_leaves_no_process_and_no_file(kafka: Release) -> None:
    with needed(), start(kafka.version) as cluster:
        assert cluster.brokers[0].pid in processes(cluster.home)
        assert len(processes(cluster.home)) == 1 + kafka.zookeeper
    assert processes(cluster.home) == []
    assert not cluster.home.exists()


def test_a_broker_answers_and_has_the_topic_that_was_created(broker: Broker) -> None:
    broker.create_topic("created", partitions=2)
    seen = probe.metadata(broker.port)
    assert seen.nodes == {1: broker.port}
    assert seen.leaders["created"] == {0: 1, 1: 1}
    assert {"created-0", "created-1"} <= {folder.name for folder in broker.data.iterdir()}


def test_a_topic_that_is_asked_for_is_created(broker: Broker) -> None:
    probe.metadata(broker.port, "asked-for")
    broker.wait_for_topic("asked-for")
    assert "asked-for" in broker.topics()


def test_java_reads_what_java_wrote_and_the_segment_holds_it(broker: Broker) -> None:
    broker.create_topic("greetings")
    produce(broker, "greetings", "hello", "world")
    assert consume(broker, "greetings", 2) == ["hello", "world"]
    segment = broker.data / "greetings-0" / f"{0:020}.log"
    assert "payload: world" in broker.run("DumpLogSegments", "--files", str(segment), "--print-data-log")


def test_a_broker_that_was_stopped_comes_back_with_its_topics(broker: Broker) -> None:
    probe.metadata(broker.port, "kept")
    broker.wait_for_topic("kept")
    before = broker.pid
    broker.stop()
    assert not broker.running
    with pytest.raises(OSError, match=r"refused"):
        probe.metadata(broker.port)
    broker.start()
    assert broker.pid != before
    assert "kept" in broker.topics()


@pytest.mark.parametrize("name", ["0.10", "4"])
def test_a_broker_that_was_killed_comes_back_when_it_has_been_missed(brokers: Pool, name: str) -> None:
    broker = brokers.cluster(name).brokers[0]
    probe.metadata(broker.port, "outlived")
    broker.wait_for_topic("outlived")
    broker.kill()
    assert not broker.running
    broker.start()
    assert "outlived" in broker.topics()


def test_a_test_finds_running_what_another_one_stopped(brokers: Pool, broker_3_9: Broker) -> None:
    broker_3_9.stop()
    assert brokers.cluster("3.9").brokers[0] is broker_3_9
    assert broker_3_9.ready(1)


def test_the_unstable_broker_has_more_versions_than_the_stable_one(broker_4: Broker, unstable_broker: Broker) -> None:
    stable, unstable = probe.api_versions(broker_4.port), probe.api_versions(unstable_broker.port)
    assert {key for key in unstable if unstable[key] != stable.get(key)} == {22}  # InitProducerId v6: KIP-939


def test_the_controller_of_a_broker_has_a_port_of_its_own(broker_4: Broker) -> None:
    port = int(broker_4.listener("CONTROLLER").partition(":")[2])
    vote, metadata = 52, 3
    assert vote in probe.api_versions(port)
    assert metadata not in probe.api_versions(port)


def test_when_a_leader_stops_another_broker_leads_until_it_is_back(cluster: Cluster) -> None:
    cluster.create_topic("routes", partitions=6)
    first, _, third = cluster.brokers
    assert leaders(first, "routes") == {1, 2, 3}
    third.stop()
    until(lambda: leaders(first, "routes") <= {1, 2}, lambda: "broker 3 still leads")
    assert set(probe.metadata(first.port).nodes) == {1, 2}
    cluster.heal()
    assert all(broker.ready(1, 2, 3) for broker in cluster.brokers)


def test_a_port_that_was_taken_meanwhile_is_exchanged(monkeypatch: pytest.MonkeyPatch, broker_4: Broker) -> None:
    first = [broker_4.port, *free_ports(1)]
    answers = iter([first, free_ports(2)])
    monkeypatch.setattr(clusters, "free_ports", lambda count: next(answers))
    with start("0.8") as cluster:
        assert cluster.brokers[0].port not in first
    assert broker_4.ready(1)
