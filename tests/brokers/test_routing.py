"""Three real brokers: each request finds the one it belongs to, and finds it again when that has changed.

Who leads what is asked of the brokers by `probe`, where nothing of kdbg is used.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from kdbg.errors import CannotConnect
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.live.client.cluster import Cluster as Client
from kdbg.live.client.forms import create_topics, fetch, heartbeat, offset_commit, offset_fetch, produce
from kdbg.live.client.settings import Settings

from . import probe
from .broker import Broker
from .cluster import Cluster
from .recordsets import body_of, rows_of
from .sending import send
from .settings import free_ports
from .waiting import until

PARTITIONS = 6
OFFSETS, OFFSETS_PARTITIONS = "__consumer_offsets", 4
NOT_LEADER, UNKNOWN_MEMBER, ELECTION_NOT_NEEDED = 6, 25, 84
GROUPS = [f"group-{number}" for number in range(8)]


class Session:
    """A client whose every step is kept."""

    def __init__(self, bootstrap: str, direct: bool = False) -> None:
        self.steps: list[str] = []
        self.client = Client(bootstrap, Settings(), direct=direct, trace=self.steps.append)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.__aexit__()

    async def send(self, api: str, form: Callable[..., Mapping[str, Any]], **options: Any) -> Exchange:
        return await self.client.send(api, lambda version: form(version, **options))

    async def produce(self, topic: str, partition: int, value: bytes = b"v") -> Exchange:
        return await self.send("Produce", produce, topic=topic, partition=partition, value=(value,))

    async def fetch(self, topic: str, partition: int) -> Exchange:
        return await self.send("Fetch", fetch, topic=topic, partition=partition, offset=0)


def run(bootstrap: str, script: Callable[[Session], Awaitable[None]], *, direct: bool = False) -> list[str]:
    """What the client told while a session followed the script."""

    async def session() -> list[str]:
        async with Session(bootstrap, direct) as opened:
            await script(opened)
        return opened.steps

    return asyncio.run(session())


def port(exchange: Exchange) -> int:
    """That of the broker which answered."""
    return exchange.peers.broker[1]


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """A new topic of six partitions, each on all brokers, two led by each."""
    return created(cluster, PARTITIONS)


def created(cluster: Cluster, partitions: int) -> str:
    """A new topic that all brokers know."""
    name = f"routed-{uuid.uuid4().hex[:8]}"

    async def script(session: Session) -> None:
        size = {"partitions": partitions, "replication_factor": len(cluster.brokers)}
        made = await session.send("CreateTopics", create_topics, topic=(name,), **size)
        assert body_of(made)["topics"][0]["error_code"] == 0

    run(cluster.bootstrap, script)
    for broker in cluster.brokers:
        broker.wait_for_topic(name)
    return name


def ports(cluster: Cluster, topic: str, asked: Broker | None = None) -> dict[int, int]:
    """Partition -> the port of its leader, as a broker sees it."""
    leaders = probe.metadata((asked or cluster.brokers[0]).port).leaders[topic]
    return {partition: cluster.brokers[leader - 1].port for partition, leader in leaders.items() if leader > 0}


def error(exchange: Exchange) -> int:
    """The error code of the one partition that was produced to."""
    return int(body_of(exchange)["responses"][0]["partition_responses"][0]["error_code"])


def offsets_partition(group: str) -> int:
    """Where a group's offsets are kept: Java's String.hashCode, without its sign, modulo the partitions."""
    code = 0
    for letter in group:
        code = (31 * code + ord(letter)) & 0xFFFFFFFF
    return (code & 0x7FFFFFFF) % OFFSETS_PARTITIONS


def test_metadata_names_every_broker_and_every_leader(cluster: Cluster, topic: str) -> None:
    async def script(session: Session) -> None:
        body = body_of(await session.client.send("Metadata", {"topics": [{"name": topic}]}))
        assert {broker["node_id"]: broker["port"] for broker in body["brokers"]} == {
            broker.node: broker.port for broker in cluster.brokers
        }
        (found,) = body["topics"]
        leaders = {one["partition_index"]: one["leader_id"] for one in found["partitions"]}
        assert leaders == probe.metadata(cluster.brokers[0].port).leaders[topic]
        assert set(leaders.values()) == {1, 2, 3}

    run(cluster.bootstrap, script)


def test_every_partition_is_written_and_read_at_its_leader(cluster: Cluster, topic: str) -> None:
    leaders = ports(cluster, topic)

    async def script(session: Session) -> None:
        for partition in range(PARTITIONS):
            written, read = await session.produce(topic, partition), await session.fetch(topic, partition)
            assert (port(written), error(written), port(read)) == (leaders[partition], 0, leaders[partition])
            (found,) = body_of(read)["responses"][0]["partitions"]
            assert b"v" in [row.value for row in rows_of(found["records"])]

    steps = run(cluster.brokers[0].bootstrap, script)
    for partition, leader in leaders.items():
        about = [step for step in steps if step.endswith(f"to 127.0.0.1:{leader}")]
        assert {step.split()[0] for step in about if "connecting" not in step} >= {"Produce", "Fetch"}, partition
    assert not [step for step in steps if "again" in step]


def test_the_command_line_tells_the_way_to_the_leader(cluster: Cluster, topic: str) -> None:
    leaders = ports(cluster, topic)
    away = next(partition for partition, leader in leaders.items() if leader != cluster.brokers[0].port)
    outcome = send(
        cluster.brokers[0], "produce", "--topic", topic, "--partition", away, "--value", "x", "--trace", "-f", "summary"
    )
    assert outcome.status == 0, outcome.err
    told = [line.split(" ms  ")[-1] for line in outcome.err.splitlines() if line.startswith("kdbg: ")]
    first, leader = cluster.brokers[0].bootstrap, f"127.0.0.1:{leaders[away]}"
    steps = [f"connecting to {first}", f"requesting metadata from broker {first}", f"connecting to {leader}"]
    assert [step for step in told if step in steps] == steps
    assert any(step.startswith("Produce v") and step.endswith(f" to {leader}") for step in told)
    assert outcome.closing.startswith(f"broker {leader} responded in ")


def test_a_groups_requests_go_to_its_coordinator(cluster: Cluster, topic: str) -> None:
    async def script(session: Session) -> None:
        for group in GROUPS:
            place = {"group": group, "topic": topic, "offset": 3, "partition": 1}
            committed = await session.send("OffsetCommit", offset_commit, **place)
            assert body_of(committed)["topics"][0]["partitions"][0]["error_code"] == 0
            found = await session.send("OffsetFetch", offset_fetch, group=group, topic=(topic,), partition=(1,))
            (answer,) = body_of(found)["groups"]
            assert answer["topics"][0]["partitions"][0]["committed_offset"] == 3
            beat = await session.send("Heartbeat", heartbeat, group=group, generation=1, member_id="nobody")
            assert body_of(beat)["error_code"] == UNKNOWN_MEMBER
            coordinator = ports(cluster, OFFSETS)[offsets_partition(group)]
            assert {port(committed), port(found), port(beat)} == {coordinator}

    steps = run(cluster.bootstrap, script)
    asked = [step for step in steps if "requesting the coordinator of group" in step]
    assert len(asked) >= len(GROUPS)  # once for each, and again while the topic of offsets is being made
    assert {step.split("'")[1] for step in asked} == set(GROUPS)


def test_a_transaction_goes_to_its_coordinator(cluster: Cluster, topic: str) -> None:
    async def script(session: Session) -> None:
        for number in range(4):
            body = {"transactional_id": f"payments-{number}", "transaction_timeout_ms": 10_000}
            answer = body_of(await session.client.send("InitProducerId", body))
            assert answer["error_code"] == 0
            assert answer["producer_id"] >= 0

    assert any("the coordinator of transaction 'payments-3'" in step for step in run(cluster.bootstrap, script))


def test_when_a_broker_stops_its_partitions_and_groups_are_found_elsewhere(cluster: Cluster, topic: str) -> None:
    gone, group = coordinator(cluster)
    stays = next(broker for broker in cluster.brokers if broker is not gone)
    mine = next(partition for partition, leader in ports(cluster, topic).items() if leader == gone.port)
    commit = {"group": group, "topic": topic, "offset": 5}

    async def script(session: Session) -> None:
        assert port(await session.produce(topic, mine, b"before")) == gone.port
        assert port(await session.send("OffsetCommit", offset_commit, **commit)) == gone.port
        session.steps.clear()
        await asyncio.to_thread(gone.stop)
        written = await session.produce(topic, mine, b"after")
        assert error(written) == 0
        assert port(written) == ports(cluster, topic, stays)[mine] != gone.port
        committed = await session.send("OffsetCommit", offset_commit, **commit)
        assert body_of(committed)["topics"][0]["partitions"][0]["error_code"] == 0
        assert port(committed) != gone.port
        (found,) = body_of(await session.fetch(topic, mine))["responses"][0]["partitions"]
        assert [row.value for row in rows_of(found["records"])] == [b"before", b"after"]

    try:
        steps = run(cluster.bootstrap, script)
    finally:
        cluster.heal()
    again = next(i for i, step in enumerate(steps) if step.endswith("requesting metadata again"))
    assert gone.bootstrap in steps[again] or "NOT_LEADER" in steps[again]
    assert any(step.startswith("requesting metadata from broker ") for step in steps[again:])
    assert any(f"the coordinator of group {group!r}" in step for step in steps[again:])


def coordinator(cluster: Cluster) -> tuple[Broker, str]:
    """A broker that coordinates groups, and one of them."""
    probe.metadata(cluster.brokers[0].port, OFFSETS)
    cluster.brokers[0].wait_for_topic(OFFSETS)
    name = GROUPS[0]
    return at(cluster, ports(cluster, OFFSETS)[offsets_partition(name)]), name


def at(cluster: Cluster, port: int) -> Broker:
    return next(broker for broker in cluster.brokers if broker.port == port)


def test_a_leader_that_has_moved_is_found_by_its_refusal(cluster: Cluster, topic: str) -> None:
    """No broker fails: the old leader answers, that it is none any more."""

    async def script(session: Session) -> None:
        old = port(await session.produce(topic, 0, b"before"))
        await move(cluster, topic, old)
        session.steps.clear()
        written = await session.produce(topic, 0, b"after")
        assert error(written) == 0
        assert port(written) == ports(cluster, topic)[0] != old

    steps = run(cluster.bootstrap, script)
    assert any(step.startswith("Produce: NOT_LEADER_OR_FOLLOWER") for step in steps)
    assert any(step.startswith("requesting metadata from broker ") for step in steps)


async def move(cluster: Cluster, topic: str, old: int) -> None:
    """Make another broker the leader of a topic's partition, by requests of kdbg's own."""
    last = at(cluster, old).node
    nodes = sorted((broker.node for broker in cluster.brokers), key=lambda node: node == last)
    async with Session(cluster.bootstrap) as admin:
        partition = {"partition_index": 0, "replicas": nodes}
        body = {"timeout_ms": 10_000, "topics": [{"name": topic, "partitions": [partition]}]}
        assert body_of(await admin.client.send("AlterPartitionReassignments", body))["error_code"] == 0
        elect = {"election_type": 0, "topic_partitions": [{"topic": topic, "partitions": [0]}], "timeout_ms": 10_000}
        (result,) = body_of(await admin.client.send("ElectLeaders", elect))["replica_election_results"]
        assert result["partition_result"][0]["error_code"] in (0, ELECTION_NOT_NEEDED)
    asked = at(cluster, old)
    until(lambda: ports(cluster, topic, asked)[0] != old, lambda: "the old leader does not know of the new one")


def test_a_dead_broker_at_the_head_of_the_list_is_passed_over(cluster: Cluster, topic: str) -> None:
    (dead,) = free_ports(1)

    async def script(session: Session) -> None:
        assert error(await session.produce(topic, 0)) == 0

    steps = run(f"127.0.0.1:{dead},{cluster.bootstrap}", script)
    assert steps[0] == f"connecting to 127.0.0.1:{dead}"
    assert steps[1].startswith(f"127.0.0.1:{dead}: connection refused")
    assert steps[1].endswith("; trying the next broker")
    assert steps[2] == f"connecting to {cluster.brokers[0].bootstrap}"


def test_where_all_are_dead_one_line_says_so() -> None:
    dead = ", ".join(f"127.0.0.1:{number}" for number in free_ports(2))

    async def script(session: Session) -> None:
        with pytest.raises(CannotConnect, match=rf"^{dead}: no broker is reachable \(last error: .*refused\)"):
            await session.produce("orders", 0)

    run(dead, script)


def test_direct_stays_where_it_is_told_to(cluster: Cluster, topic: str) -> None:
    leader = ports(cluster, topic)[0]
    for broker in cluster.brokers:

        async def script(session: Session, broker: Broker = broker) -> None:
            written = await session.produce(topic, 0)
            assert port(written) == broker.port
            assert error(written) == (0 if broker.port == leader else NOT_LEADER)

        steps = run(broker.bootstrap, script, direct=True)
        assert not [step for step in steps if "again" in step]
        assert {step.rpartition(":")[2] for step in steps if " to " in step} == {str(broker.port)}


def test_direct_shows_the_refusal(cluster: Cluster, topic: str) -> None:
    other = next(broker for broker in cluster.brokers if broker.port != ports(cluster, topic)[0])
    outcome = send(other, "produce", "--topic", topic, "--partition", 0, "--value", "x", "--direct")
    assert outcome.status == 0  # an error code is an answer
    assert "NOT_LEADER_OR_FOLLOWER" in outcome.out
    assert "NOT_LEADER_OR_FOLLOWER" in outcome.closing
