"""The proxy before a real cluster of three brokers: real clients stay inside, and get what the brokers say.

What passes over the loopback interface on both sides of the proxy is recorded by tcpdump, and compared byte by byte.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.message import header_grammar
from kdbg.protocol.wire.readings.endpoints import endpoints_reader, with_endpoints

from .classpath import classpath
from .cluster import Cluster
from .java import QUICK
from .java import java as jvm
from .pool import Pool
from .security import PASSWORD, USER
from .settings import logging_options

pytestmark = pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not installed")
CLIENTS = Path(__file__).parent.parent / "recording" / "clients"
HOME = Path(tempfile.gettempdir()) / "kdbg-recording-clients"
"""Where the recorder builds clients that are no Python."""
PATIENCE = 60
TOPICS = {"rides": 2, "letters": 2, "orders": 1, "transfers": 1}
ADDRESSES = 8
"""Ports that the proxy may take one after the other: more than there are brokers."""


@pytest.fixture(scope="module")
def cluster(brokers: Pool) -> Cluster:
    return brokers.cluster("4", nodes=3)


@contextmanager
def recording(path: Path, ports: Sequence[int]) -> Iterator[None]:
    """Record the TCP traffic of these ports on the loopback interface."""
    wanted = " or ".join(f"tcp port {port}" for port in ports)
    command = ["tcpdump", "-i", "lo", "-n", "-s", "262144", "-B", "65536", "-Z", "root", "-U", "-w", str(path), wanted]
    dump = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert dump.stderr is not None
    for line in dump.stderr:
        if "listening on" in line:
            break
    else:
        pytest.skip("tcpdump may not capture here")
    try:
        yield
        time.sleep(2)  # the kernel hands packets over up to a second late
    finally:
        dump.send_signal(signal.SIGINT)
        _, said = dump.communicate(timeout=30)
    assert re.search(r"\b0 packets dropped by kernel", said), said


def ports_in_a_row() -> int:
    """Return the first of some free ports, which no other process of this run looks for."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    for first in range(21092 + 20 * worker, 32000, 500):
        with suppress(OSError):
            for port in range(first, first + ADDRESSES):
                socket.create_server(("127.0.0.1", port)).close()
            return first
    raise AssertionError("no free ports")


def librdkafka(cluster: Cluster, address: str) -> None:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient

    where: dict[str, Any] = {"bootstrap.servers": address}
    producer = Producer(where)
    for number in range(20):
        producer.produce("rides", f"to station {number}")
    assert producer.flush(PATIENCE) == 0
    for protocol in ("classic", "consumer"):
        consumer = Consumer(where | {"group.id": protocol, "group.protocol": protocol, "auto.offset.reset": "earliest"})
        consumer.subscribe(["rides"])
        left = 20
        while left:
            found = consumer.consume(left, PATIENCE)
            assert found
            left -= sum(message.error() is None for message in found)
        consumer.commit(asynchronous=False)
        consumer.close()
    ledger = Producer(where | {"transactional.id": "ledger-8"})
    ledger.init_transactions(PATIENCE)
    ledger.begin_transaction()
    ledger.produce("transfers", "debit")
    ledger.commit_transaction(PATIENCE)
    assert len(AdminClient(where).describe_cluster().result(PATIENCE).nodes) == 3


def java(cluster: Cluster, address: str) -> None:
    options = [*QUICK, "-Xmx128m", *logging_options(cluster.home, cluster.release, "ERROR")]
    jars = classpath(cluster.release.broker_artifacts)
    subprocess.run([jvm(), *options, "-cp", jars, str(CLIENTS / "Transactions.java"), address], check=True, timeout=120)


def java_new_group(cluster: Cluster, address: str) -> None:
    """The new group protocol of the Java client."""
    options = [*QUICK, "-Xmx128m", *logging_options(cluster.home, cluster.release, "ERROR")]
    jars = classpath(cluster.release.broker_artifacts)
    program = str(CLIENTS / "NewGroupMember.java")
    subprocess.run([jvm(), *options, "-cp", jars, program, address], check=True, timeout=120)


def kafka_python(cluster: Cluster, address: str) -> None:
    kafka = pytest.importorskip("kafka")
    sender = kafka.KafkaProducer(bootstrap_servers=address, client_id="python")
    for number in range(20):
        sender.send("letters", b"letter %d" % number).get(30)
    sender.close()
    reader = kafka.KafkaConsumer("letters", bootstrap_servers=address, group_id="python", auto_offset_reset="earliest")
    seen = 0
    while seen < 20:
        seen += sum(map(len, reader.poll(1000).values()))
    reader.commit()
    reader.close()
    admin = kafka.KafkaAdminClient(bootstrap_servers=address)
    assert "letters" in admin.list_topics()
    admin.close()


def franz_go(cluster: Cluster, address: str) -> None:
    program = HOME / "go" / "letters"
    if not program.exists():
        build_in_go(program)
    subprocess.run([str(program), address], check=True, timeout=120)


def build_in_go(program: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    program.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(CLIENTS / "letters.go", program.with_suffix(".go"))
    words = ["mod init letters", "get github.com/twmb/franz-go@v1.22.2", "mod tidy", f"build -o {program} ."]
    for each in words:
        done = subprocess.run(["go", *each.split()], cwd=program.parent, capture_output=True, check=False)
        if done.returncode and not each.startswith("mod init"):
            pytest.skip(f"franz-go cannot be had: {done.stderr.decode()[-200:]}")


def kafkajs(cluster: Cluster, address: str) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    if not (HOME / "node_modules" / "kafkajs").is_dir():
        HOME.mkdir(exist_ok=True)
        command = ["npm", "install", "--silent", "--prefix", str(HOME), "kafkajs@2.2.4"]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("KafkaJS cannot be had")
    environment = os.environ | {"NODE_PATH": str(HOME / "node_modules")}
    subprocess.run(["node", str(CLIENTS / "letters.js"), address], env=environment, check=True, timeout=120)


PEOPLE: list[Callable[[Cluster, str], None]] = [librdkafka, java, java_new_group, kafka_python, franz_go, kafkajs]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a dependency of kafka-python
@pytest.mark.parametrize("client", PEOPLE, ids=lambda client: client.__name__)
def test_clients_stay_inside_and_notice_nothing(
    cluster: Cluster, client: Callable[[Cluster, str], None], tmp_path: Path
) -> None:
    for topic, partitions in TOPICS.items():
        topic_again(cluster, topic, partitions)
    ports = {int(address.rpartition(":")[2]) for address in cluster.bootstrap.split(",")}
    first, path = ports_in_a_row(), tmp_path / "both.pcap"
    with kdbg.proxy(cluster.brokers[0].bootstrap, listen=("127.0.0.1", first)) as proxy:
        inside = range(first, first + ADDRESSES)
        with recording(path, sorted({*inside, *ports})):
            client(cluster, proxy.address)
        told = {told: broker for broker, told in proxy.addresses.items()}
        assert proxy.said
    assert {port for _, port in told} <= set(inside)
    assert {port for _, port in told.values()} <= ports
    compare(path, told, ports)


def topic_again(cluster: Cluster, topic: str, partitions: int) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    with suppress(KafkaException):
        admin.delete_topics([topic], operation_timeout=30)[topic].result(PATIENCE)
    for attempt in range(20):
        try:
            admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(PATIENCE)
        except KafkaException:  # it is still being deleted
            assert attempt < 19
            time.sleep(0.5)
        else:
            return


def compare(path: Path, told: dict[tuple[str, int], tuple[str, int]], ports: set[int]) -> None:
    """Compare what clients and brokers said on both sides of the proxy."""
    exchanges = list(kdbg.read_capture(path))
    clients = {one.client_id for one in exchanges if one.peers.broker[1] not in ports}  # brokers speak as well
    sides: dict[bool, Counter[Any]] = {True: Counter(), False: Counter()}
    for exchange in exchanges:
        outside = exchange.peers.broker[1] in ports
        if exchange.client_id in clients and exchange.request is not None:
            sides[outside][said(exchange, told if not outside else {})] += 1
    assert sum(sides[False].values()) > 10
    got, told_by_brokers = sides[False] - sides[True], sides[True] - sides[False]
    unanswered = {one[:2] for one in got + told_by_brokers if one[2] is None}  # at the end a client may not wait
    assert not [one for one in got if one[:2] not in unanswered], "clients got what no broker said"
    assert not [one for one in told_by_brokers if one[:2] not in unanswered], "brokers said what no client got"
    assert len(unanswered) < 8


def said(exchange: Exchange, told: dict[tuple[str, int], tuple[str, int]]) -> tuple[Any, ...]:
    """Return what was said in an exchange, its bytes, with the brokers' own addresses."""
    request, response = exchange.request, exchange.response
    answer = response.data if response is not None else None
    api, version = exchange.api, exchange.version
    if answer is not None and api is not None and told:
        header, body = header_grammar(api, version, "response"), api.at("response", version)
        if endpoints_reader(header, body) is not None:
            answer = with_endpoints(header, body, answer, lambda host, port: told.get((host, port), (host, port)))
    return (api.name if api else "", request.data if request is not None else None, answer)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_the_proxy_authenticates_for_clients_that_speak_in_the_clear(
    brokers: Pool, listener: str, mechanism: str, tmp_path: Path
) -> None:
    secured = brokers.cluster("4", secure=True)
    assert secured.security is not None
    first = ports_in_a_row()
    options = ["-b", secured.brokers[0].listener(listener), "-l", f"127.0.0.1:{first}", "-f", "json",
               "--sasl-mechanism", mechanism, "--sasl-username", USER]  # fmt: skip
    if listener == "SASL_SSL":
        options += ["--ca", str(secured.security.folder / "authority.pem")]
    with subprocess.Popen(
        [sys.executable, "-m", "kdbg", "proxy", *options], env=os.environ | {"KDBG_SASL_PASSWORD": PASSWORD},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as proxy:  # fmt: skip
        assert proxy.stderr is not None
        assert " for broker 127.0.0.1:" in proxy.stderr.readline()
        sent = [sys.executable, "-m", "kdbg", "send", "metadata", "-b", f"127.0.0.1:{first}", "-f", "json"]
        answer = subprocess.run(sent, capture_output=True, text=True, timeout=PATIENCE, check=False)
        proxy.send_signal(signal.SIGINT)
        out, err = proxy.communicate(timeout=PATIENCE)
    assert answer.returncode == 0, answer.stderr + err
    (told,) = json.loads(answer.stdout.splitlines()[-1])["response"]["body"]["brokers"]
    assert told["port"] == first
    assert {json.loads(line)["api"] for line in out.splitlines()} == {"ApiVersions", "Metadata"}
    assert PASSWORD not in out + err
