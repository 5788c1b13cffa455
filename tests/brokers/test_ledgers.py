"""What the ledgers make of packets beside what the broker says: groups, offsets, producers and transactions."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kdbg.analysis.ledgers import Ledgers, standing
from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine

from ..incidents.foreign import CLIENTS
from ..recording.tcpdump import recording
from .bookkeeping import PARTITIONS, TOPICS
from .broker import Broker
from .classpath import classpath
from .java import QUICK, java
from .sending import send
from .settings import logging_options
from .waiting import until

Json = dict[str, Any]
MINUTE = 60
KIP_848 = (4, 0)
JAVA: dict[str, tuple[str, str, dict[str, str]]] = {
    "bean-committed": ("transact", "returns", {"transactional.id": "bean-committed", "do.count": "3"}),
    "bean-aborted": ("transact", "returns", {"transactional.id": "bean-aborted", "do.count": "2", "do.abort": "1"}),
    "bean-open": ("transact", "returns", {
        "transactional.id": "bean-open", "do.count": "1", "do.hold": "300000", "transaction.timeout.ms": "600000",
    }),
    "bean-classic": ("consume", "stock", {
        "group.id": "beans-classic", "do.seconds": "300", "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": "300",
    }),
    "bean-newer": ("consume", "stock", {
        "group.id": "beans-newer", "group.protocol": "consumer", "do.seconds": "300", "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": "300",
    }),
}  # fmt: skip
"""Clients of Java's: what they do, with which topic, and settings."""
UNKNOWABLE = {"eel-sums"}
"""Groups of which nobody says that they are empty: offsets are committed in transactions by no member, at version 0."""


class Seen(NamedTuple):
    """A capture of all that was done, and what the broker said afterwards."""

    capture: Path
    said: Json
    names: dict[str, str]
    """Topic ids and names."""


@contextmanager
def beans(broker: Broker, folder: Path) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Have clients of Java's at work, of the broker's own release; yield them by client id."""
    jars = classpath(broker.release.broker_artifacts)
    options = [*QUICK, "-Xmx96m", *logging_options(folder, broker.release, "ERROR"), "-cp", jars]
    running: dict[str, subprocess.Popen[bytes]] = {}
    with ExitStack() as stack:
        for name, (verb, topic, told) in JAVA.items():
            if "group.protocol" in told and broker.release.number < KIP_848:
                continue
            settings = {"bootstrap.servers": broker.bootstrap, "client.id": name, **told}
            words = [f"{key}={value}" for key, value in settings.items()]
            process = stack.enter_context(
                subprocess.Popen(
                    [java(), *options, str(CLIENTS / "Client.java"), verb, topic, *words], stdout=subprocess.DEVNULL
                )
            )
            stack.callback(process.kill)
            running[name] = process
        yield running


@pytest.fixture(scope="module", params=["4", "3.9"])
def seen(request: pytest.FixtureRequest, brokers: Any, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Record clients at work, then ask the broker while they do nothing more than stay."""
    if shutil.which("tcpdump") is None:
        pytest.skip("tcpdump is not installed")
    for module in ("confluent_kafka", "kafka", "aiokafka"):
        pytest.importorskip(module)
    folder = tmp_path_factory.mktemp(f"ledgers-{request.param}")
    broker: Broker = brokers.cluster(request.param).brokers[0]
    older = [] if broker.release.number >= KIP_848 else ["older"]
    command = [sys.executable, "-m", "tests.brokers.bookkeeping", broker.bootstrap, *older]
    before = names_on(broker)
    with ExitStack() as stack:
        with recording(folder / "all.pcap", [broker.port], nanoseconds=True):
            clients = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(clients.kill)
            assert clients.stdout is not None
            while (line := clients.stdout.readline()) and "TOPICS" not in line:
                pass
            java_clients = stack.enter_context(beans(broker, folder))
            assert "READY" in clients.stdout.readline()
            for name in ("bean-committed", "bean-aborted"):
                assert java_clients[name].wait(MINUTE) == 0
            until(lambda: settled(broker, java_clients), lambda: "Java's clients are not where they are to be")
        said = asked(broker, before)
    names = {topic["topic_id"]: topic["name"] for topic in said["topics"]}
    return Seen(folder / "all.pcap", said, names)


def settled(broker: Broker, clients: dict[str, subprocess.Popen[bytes]]) -> bool:
    """Return whether those clients of Java's that stay have members in their groups, and a transaction open."""
    body = json.dumps({"transactional_ids": ["bean-open"]})
    (open_one,) = send(broker, "DescribeTransactions", "--body", body, "-f", "json").body["transaction_states"]
    (group,) = send(broker, "DescribeGroups", "--body", json.dumps({"groups": ["beans-classic"]}), "-f", "json").body[
        "groups"
    ]
    joined = group["group_state"] == "Stable"
    if "bean-newer" in clients:
        body = json.dumps({"group_ids": ["beans-newer"]})
        (newer,) = send(broker, "ConsumerGroupDescribe", "--body", body, "-f", "json").body["groups"]
        joined = joined and newer["group_state"] == "Stable"
    return joined and open_one["transaction_state"] == "Ongoing"


def ask(broker: Broker, api: str, **body: Any) -> Json:
    found: Json = send(broker, api, "--direct", "--body", json.dumps(body), "-f", "json").body
    return found


def names_on(broker: Broker) -> tuple[list[str], list[str]]:
    """Return the groups and the transactional ids that a broker knows; other tests leave some behind."""
    groups = [one["group_id"] for one in ask(broker, "ListGroups")["groups"]]
    return groups, [one["transactional_id"] for one in ask(broker, "ListTransactions")["transaction_states"]]


def asked(broker: Broker, before: tuple[list[str], list[str]]) -> Json:
    """Return what the broker says of groups, offsets, producers and transactions that it did not know before."""
    groups, ids = (
        [name for name in now if name not in known] for now, known in zip(names_on(broker), before, strict=True)
    )
    newer = broker.release.number >= KIP_848
    return {
        "topics": ask(broker, "Metadata", topics=None)["topics"],
        "classic": {one["group_id"]: one for one in ask(broker, "DescribeGroups", groups=groups)["groups"]
                    if not one["error_code"]},
        "newer": {one["group_id"]: one for one in ask(broker, "ConsumerGroupDescribe", group_ids=groups)["groups"]
                  if not one["error_code"]} if newer else {},
        "offsets": {one["group_id"]: one for one in ask(
            broker, "OffsetFetch", groups=[{"group_id": group, "topics": None} for group in groups])["groups"]},
        "transactions": {one["transactional_id"]: one for one in ask(
            broker, "DescribeTransactions", transactional_ids=ids)["transaction_states"]},
        "producers": ask(broker, "DescribeProducers", topics=[
            {"name": topic, "partition_indexes": [*range(PARTITIONS)]} for topic in TOPICS]),
        "generations": generations(broker),
    }  # fmt: skip


def generations(broker: Broker) -> dict[str, int]:
    """Return the generation of each classic group, which no API tells, out of the broker's own log."""
    files = [str(path) for path in sorted(broker.data.glob("__consumer_offsets-*/*.log")) if path.stat().st_size]
    text = broker.run("DumpLogSegments", "--offsets-decoder", "--files", ",".join(files))
    found = dict[str, int]()
    for line in text.splitlines():
        group = re.search(r'key: \{"type":"2","data":\{"group":"([^"]*)"', line)
        number = re.search(r'"generation":(-?\d+)', line)
        if group and number:
            found[group[1]] = int(number[1])
    return found


def ledgers(capture: Path, *, since: float = 0.0) -> Ledgers:
    """Return the ledgers of a capture without its first packets, a part of it."""
    engine = Engine()
    book = Ledgers(engine.names_then)
    with open_capture(capture) as opened:
        packets = [packet for block in opened.blocks() for packet in block]
    left = packets[int(len(packets) * since) :]
    book.packets(left)
    book.take(engine.receive_all(left))
    book.take(engine.close())
    return book


def members(seen: Seen, group: str) -> dict[str, standing.MemberNow]:
    """Return the members of a group as the broker describes them."""
    found = {}
    for one in seen.said["classic"].get(group, {}).get("members", ()):
        value = one["member_assignment"]["value"]
        assigned = {each["topic"]: tuple(sorted(each["partitions"])) for each in value["assigned_partitions"]}
        found[one["member_id"]] = standing.MemberNow(
            one["member_id"], one["group_instance_id"], one["client_id"], one["client_host"].removeprefix("/"),
            seen.said["generations"][group], assigned,
        )  # fmt: skip
    for one in seen.said["newer"].get(group, {}).get("members", ()):
        given = one["assignment"]["topic_partitions"]
        assigned = {each["topic_name"]: tuple(sorted(each["partitions"])) for each in given}
        found[one["member_id"]] = standing.MemberNow(
            one["member_id"], one["instance_id"], one["client_id"], one["client_host"].removeprefix("/"),
            one["member_epoch"], assigned,
        )  # fmt: skip
    return found


def epoch(seen: Seen, group: str) -> int:
    """Return a group's generation, or epoch, as the broker has it."""
    newer = seen.said["newer"].get(group)
    return int(newer["group_epoch"] if newer else seen.said["generations"].get(group, -1))


def state(seen: Seen, group: str) -> str:
    """Return a group's state as the broker names it."""
    return str((seen.said["newer"].get(group) or seen.said["classic"][group])["group_state"])


def offsets(seen: Seen, group: str) -> dict[tuple[str, int], int]:
    """Return the offsets that the broker has."""
    return {
        (topic.get("name") or seen.names[topic["topic_id"]], one["partition_index"]): one["committed_offset"]
        for topic in seen.said["offsets"][group]["topics"]
        for one in topic["partitions"]
    }


def producers(seen: Seen) -> dict[tuple[str, int, int], tuple[int, int, int]]:
    """Return epoch, last sequence and start of the open transaction by topic, partition and producer id."""
    return {
        (topic["name"], partition["partition_index"], one["producer_id"]):
            (one["producer_epoch"], one["last_sequence"], one["current_txn_start_offset"])
        for topic in seen.said["producers"]["topics"]
        for partition in topic["partitions"]
        for one in partition["active_producers"]
    }  # fmt: skip


def in_order(seen: Seen, member: standing.MemberNow) -> standing.MemberNow:
    """Return a member with its partitions sorted, and without topics that it has no partitions of."""
    given = member.assigned
    return member if given is None else member._replace(
        assigned={named(seen, topic): tuple(sorted(some)) for topic, some in given.items() if some}
    )  # fmt: skip


def named(seen: Seen, topic: str) -> str:
    """Return the name of a topic that may be told by its id alone."""
    return seen.names.get(topic, topic)


def agrees(mine: Any, its: Any) -> bool:
    """Return whether what is known is right; None is not known."""
    return mine is None or mine == its


def test_groups_are_as_the_broker_describes_them(seen: Seen) -> None:
    found = {one.group: one for one in standing.groups(ledgers(seen.capture))}
    said = {*seen.said["classic"], *seen.said["newer"]}
    assert {"classic", "cooperative", "snakes", "eels", "beans-classic", "classic-left", "nobody"} <= said
    for group in said - UNKNOWABLE:
        one = found[group]
        assert not one.unknown, one
        assert one.state == state(seen, group), one
        assert one.newer == (group in seen.said["newer"])
        assert {member.member_id: in_order(seen, member) for member in one.members} == members(seen, group)
        if group != "nobody":
            assert one.epoch == epoch(seen, group), one
        if one.state == "Stable" and not one.newer:
            assert one.protocol == seen.said["classic"][group]["protocol_data"]
    for group in UNKNOWABLE:
        assert found[group].state is None
        assert "beginning" in found[group].unknown


def test_committed_offsets_are_those_of_the_broker(seen: Seen) -> None:
    found = {one.group: one for one in standing.groups(ledgers(seen.capture))}
    for group in {*seen.said["classic"], *seen.said["newer"]}:
        mine = {key: offset.offset for key, offset in found[group].offsets.items()}
        assert mine == offsets(seen, group), group


def test_partitions_remember_producers_as_the_broker_says(seen: Seen) -> None:
    found = {
        (one.topic, one.partition, one.producer_id): (one.epoch, one.sequence, one.start)
        for one in standing.producers(ledgers(seen.capture))
        if one.topic in TOPICS
    }
    assert found == producers(seen)


def test_transactions_are_as_the_coordinator_says(seen: Seen) -> None:
    found = {one.transactional_id: one for one in standing.transactions(ledgers(seen.capture))}
    said = seen.said["transactions"]
    assert {"committed", "aborted", "open", "idle", "eel-transactions", "bean-open", "bean-committed"} <= said.keys()
    for name, its in said.items():
        mine = found[name]
        assert not mine.unknown, mine
        assert (mine.state, mine.producer_id, mine.epoch, mine.timeout_ms) == (
            its["transaction_state"], its["producer_id"], its["producer_epoch"], its["transaction_timeout_ms"],
        )  # fmt: skip
        assert mine.partitions == {(topic["topic"], one) for topic in its["topics"] for one in topic["partitions"]}


@pytest.mark.parametrize("since", [number / 40 for number in range(1, 40)])
def test_a_capture_that_began_late_knows_less_and_nothing_wrong(seen: Seen, since: float) -> None:
    book = ledgers(seen.capture, since=since)
    unknown = 0
    for one in standing.groups(book):
        if one.group not in seen.said["offsets"]:
            continue
        assert agrees(one.state, state(seen, one.group)), one
        assert agrees(one.epoch, epoch(seen, one.group)), one
        its = members(seen, one.group)
        for member in (in_order(seen, member) for member in one.members):
            assert member.member_id in its, one
            assert all(map(agrees, member, its[member.member_id])), one
        if "beginning" not in one.unknown:
            assert {member.member_id for member in one.members} == its.keys(), one
        else:
            assert one.state is None or one.newer or one.state == "Stable", one
        known = offsets(seen, one.group)
        for (topic, partition), offset in one.offsets.items():
            assert known[named(seen, topic), partition] == offset.offset, one
        unknown += bool(one.unknown)
    kept = producers(seen)
    for each in standing.producers(book):
        if (topic := named(seen, each.topic)) in TOPICS:
            its_own = kept[topic, each.partition, each.producer_id]
            assert all(map(agrees, (each.epoch, each.sequence, each.start), its_own)), each
            unknown += bool(each.unknown)
    for txn in standing.transactions(book):
        said = seen.said["transactions"][txn.transactional_id]
        assert agrees(txn.state, said["transaction_state"]), txn
        assert agrees(txn.producer_id, said["producer_id"]), txn
        assert agrees(txn.epoch, said["producer_epoch"]), txn
        assert agrees(txn.timeout_ms, said["transaction_timeout_ms"]), txn
        its_partitions = {(topic["topic"], one) for topic in said["topics"] for one in topic["partitions"]}
        partitions = {(named(seen, topic), one) for topic, one in txn.partitions}
        assert partitions <= its_partitions, txn
        assert txn.unknown or partitions == its_partitions, txn
        unknown += bool(txn.unknown)
    assert unknown or since < 0.2
