"""Bootstrap servers that cannot serve: closed ports, silent ports, other services, proxies without a broker."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ...brokers.releases import release
from ...brokers.zookeeper import start_zookeeper
from ..clusters import ADVERTISED, BLACK_HOLE, CONTROLLER_PORT, MIDDLE
from ..foreign import GUARD, franz_go, java_client, kafkajs
from ..incident import Bytes, Incident, Packets
from ..proxies import Proxy
from ..stage import TRAFFIC, Stage, ended, until
from .addresses import black_hole

ONE, CLOSED, SILENT, OTHER = "127.0.0.11:9092", "127.0.0.12:9092", "127.0.0.13:9092", "127.0.0.14:9092"
DARK, BOX = f"{BLACK_HOLE[0]}:{BLACK_HOLE[1]}", f"{MIDDLE[0]}:{MIDDLE[1]}"
ZOOKEEPER, CONTROLLER = "127.0.0.1:2181", f"127.0.0.11:{CONTROLLER_PORT}"
SECONDS = 5.0
POSTGRES = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")


def produce(stage: Stage, address: str, client: str, traffic: str = TRAFFIC) -> None:
    """A producer of librdkafka's, that gives up after some seconds."""
    stage.topic("labels")
    with stage.recording(traffic), stage.producer(client, bootstrap_servers=address) as writer:
        writer.produce("labels", "label 1")
        writer.flush(SECONDS)


def produce_in_java(stage: Stage, address: str, client: str, traffic: str = TRAFFIC) -> None:
    stage.topic("bills")
    settings = {"bootstrap.servers": address, "client.id": client, "do.count": 1, "do.pause": 0}
    with stage.recording(traffic):
        ended(java_client("produce", "bills", settings))


def produce_in_go(stage: Stage, address: str, client: str) -> None:
    stage.topic("fares")
    with stage.recording():
        ended(franz_go("produce", "fares", brokers=address, id=client, count=1))


def produce_in_javascript(stage: Stage, address: str, client: str) -> None:
    stage.topic("carts")
    kafka = {"brokers": [address], "clientId": client, "requestTimeout": 2000}
    with stage.recording():
        ended(kafkajs("produce", "carts", kafka=kafka, count=1))


def dark(stage: Stage, address: str, client: str, run: Callable[..., None] = produce) -> None:
    """An address that answers no SYN, as with a firewall that drops packets."""
    with black_hole():
        run(stage, address, client)


def silent(stage: Stage, address: str, client: str, run: Callable[..., None] = produce) -> None:
    """A port that accepts connections; the process behind it reads nothing."""
    with socket.create_server(("127.0.0.13", 9092), backlog=64):
        run(stage, address, client)


@contextmanager
def web_server() -> Iterator[None]:
    """A web server of Node's at the port that should be a broker's."""
    script = "require('http').createServer((_, done) => done.end('up')).listen(9092, '127.0.0.14')"
    process = subprocess.Popen([*GUARD, "node", "-e", script])
    try:
        until(lambda: _listens("127.0.0.14", 9092))
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def database() -> Iterator[None]:
    """A PostgreSQL server at that port."""
    folder = Path(tempfile.mkdtemp(prefix="kdbg-incident-database-"))
    shutil.chown(folder, "postgres")
    subprocess.run([*POSTGRES, "initdb", "-D", folder / "data", "-A", "trust"], check=True, capture_output=True)
    options = ["-h", "127.0.0.14", "-p", "9092", "-k", ""]
    command = [*POSTGRES, "--pdeathsig", "KILL", "postgres", "-D", folder / "data", *options]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        until(lambda: _listens("127.0.0.14", 9092))
        yield
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _listens(host: str, port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((host, port)) == 0


def at_web_server(stage: Stage, address: str = OTHER) -> None:
    with web_server():
        produce(stage, address, "invoice-out")


def at_database(stage: Stage, address: str = OTHER) -> None:
    with database():
        produce_in_java(stage, address, "ledger-export")


def at_zookeeper(stage: Stage, address: str = ZOOKEEPER, run: Callable[..., None] = produce) -> None:
    """Settings of before 0.9, when clients wanted ZooKeeper's address."""
    home = Path(tempfile.mkdtemp(prefix="kdbg-incident-zookeeper-"))
    server = start_zookeeper(release("2.8"), home, 2181)
    stage.finally_do(lambda: shutil.rmtree(home, ignore_errors=True))
    stage.finally_do(lambda: server.stop(3))
    run(stage, address, "audit-trail")


def behind_proxy(
    stage: Stage, client: str, run: Callable[..., None] = produce, *, broker: bool = True, preface: bytes = b""
) -> None:
    """A load balancer without a broker that is up, or one that tells the broker of the client's address."""
    port = ADVERTISED["TOLD_MIDDLEBOX"][0]
    box = Proxy(MIDDLE, ("127.0.0.11", port) if broker else None, preface=preface)
    stage.finally_do(box.close)
    run(stage, BOX, client)


def reset_when_idle(stage: Stage, idle: float | None = 1.5) -> None:
    """A proxy that resets connections on which nothing comes for a while, and a producer with pauses."""
    stage.topic("orders")
    box = Proxy(MIDDLE, ("127.0.0.11", ADVERTISED["TOLD_MIDDLEBOX"][0]), idle=idle)
    stage.finally_do(box.close)
    options = {"bootstrap_servers": BOX, "linger_ms": 0}
    with stage.recording(f"tcp and host {MIDDLE[0]}"), stage.producer("order-form", **options) as writer:
        for number in range(5):
            writer.produce("orders", f"order {number}")
            writer.flush(SECONDS)
            time.sleep(2.5)


def reset_when_idle_in_java(stage: Stage, idle: float | None = 1.5) -> None:
    stage.topic("orders")
    box = Proxy(MIDDLE, ("127.0.0.11", ADVERTISED["TOLD_MIDDLEBOX"][0]), idle=idle)
    stage.finally_do(box.close)
    settings = {"bootstrap.servers": BOX, "client.id": "order-desk", "do.count": 5, "do.pause": 2500}
    with stage.recording(f"tcp and host {MIDDLE[0]}"):
        ended(java_client("produce", "orders", settings))


AT = "127.0.0.1"
HEADER = b"PROXY TCP4 127.0.0.1 127.0.0.50 50123 9092\r\n"
REACHABLE = "bootstrap.servers: the address and port of a broker"
INCIDENTS = (
    Incident(
        "bootstrap-refused-librdkafka", "connection-failing", "one",
        partial(produce, address=CLOSED, client="label-printer"), {"broker": CLOSED, "host": AT},
        (Packets("R", address="127.0.0.12", at_least=2),), REACHABLE,
        partial(produce, address=ONE, client="label-printer"),
    ),
    Incident(
        "bootstrap-refused-java", "connection-failing", "one",
        partial(produce_in_java, address=CLOSED, client="bill-run"), {"broker": CLOSED, "host": AT},
        (Packets("R", address="127.0.0.12", at_least=2),), REACHABLE,
        partial(produce_in_java, address=ONE, client="bill-run"),
    ),
    Incident(
        "bootstrap-dropped-librdkafka", "connection-failing", "one",
        partial(dark, address=DARK, client="label-printer"), {"broker": DARK, "host": AT},
        (Packets("S", address=BLACK_HOLE[0], at_least=2),), "let the firewall pass the brokers' port",
        partial(dark, address=ONE, client="label-printer"),
    ),
    Incident(
        "bootstrap-dropped-franz-go", "connection-failing", "one",
        partial(dark, address=DARK, client="fare-meter", run=produce_in_go), {"broker": DARK, "host": AT},
        (Packets("S", address=BLACK_HOLE[0], at_least=2),), "let the firewall pass the brokers' port",
        partial(dark, address=ONE, client="fare-meter", run=produce_in_go),
    ),
    Incident(
        "silent-listener-librdkafka", "no-response", "one",
        partial(silent, address=SILENT, client="label-printer"), {"broker": SILENT, "client_id": "label-printer"},
        (Packets("P", address="127.0.0.13"),), "restart the process that holds the port",
        partial(silent, address=ONE, client="label-printer"),
    ),
    Incident(
        "silent-listener-kafkajs", "no-response", "one",
        partial(silent, address=SILENT, client="web-shop", run=produce_in_javascript),
        {"broker": SILENT, "client_id": "web-shop"}, (Packets("P", address="127.0.0.13"),),
        "restart the process that holds the port",
        partial(silent, address=ONE, client="web-shop", run=produce_in_javascript),
    ),
    Incident(
        "web-server-as-bootstrap", "kafka-client-to-http-server", "one", at_web_server,
        {"broker": OTHER, "client_id": "invoice-out"}, (Bytes(b"HTTP/1.1 400"),), REACHABLE,
        partial(at_web_server, address=ONE),
    ),
    Incident(
        "database-as-bootstrap", "foreign-service", "one", at_database,
        {"broker": OTHER, "client_id": "ledger-export"}, (Bytes(b"unsupported frontend protocol"),), REACHABLE,
        partial(at_database, address=ONE),
    ),
    Incident(
        "zookeeper-as-bootstrap-librdkafka", "zookeeper-as-bootstrap", "one", at_zookeeper,
        {"broker": ZOOKEEPER, "client_id": "audit-trail"}, (Packets("P", port=2181), Packets("F", port=2181)),
        REACHABLE, partial(at_zookeeper, address=ONE),
    ),
    Incident(
        "zookeeper-as-bootstrap-java", "zookeeper-as-bootstrap", "one", partial(at_zookeeper, run=produce_in_java),
        {"broker": ZOOKEEPER, "client_id": "audit-trail"}, (Packets("P", port=2181), Packets("F", port=2181)),
        REACHABLE, partial(at_zookeeper, address=ONE, run=produce_in_java),
    ),
    Incident(
        "controller-as-bootstrap-librdkafka", "controller-as-bootstrap", "one",
        partial(produce, address=CONTROLLER, client="tag-writer", traffic=f"tcp port {CONTROLLER_PORT}"),
        {"broker": CONTROLLER, "client_id": "tag-writer"}, (Packets("P", port=CONTROLLER_PORT, at_least=2),), REACHABLE,
        partial(produce, address=ONE, client="tag-writer"),
    ),
    Incident(
        "controller-as-bootstrap-java", "controller-as-bootstrap", "one",
        partial(produce_in_java, address=CONTROLLER, client="tag-mover", traffic=f"tcp port {CONTROLLER_PORT}"),
        {"broker": CONTROLLER, "client_id": "tag-mover"}, (Packets("P", port=CONTROLLER_PORT, at_least=2),), REACHABLE,
        partial(produce_in_java, address=ONE, client="tag-mover"),
    ),
    Incident(
        "proxy-without-broker-librdkafka", "proxy-without-backend", "one",
        partial(behind_proxy, client="label-printer", broker=False), {"broker": BOX},
        (Packets("R", address=MIDDLE[0]),), "bring a broker of the load balancer up",
        partial(behind_proxy, client="label-printer"),
    ),
    Incident(
        "proxy-without-broker-franz-go", "proxy-without-backend", "one",
        partial(behind_proxy, client="fare-meter", run=produce_in_go, broker=False), {"broker": BOX},
        (Packets("R", address=MIDDLE[0]),), "bring a broker of the load balancer up",
        partial(behind_proxy, client="fare-meter", run=produce_in_go),
    ),
    Incident(
        "proxy-header-to-broker", "proxy-protocol-header", "one",
        partial(behind_proxy, client="label-printer", preface=HEADER), {"broker": "127.0.0.11:9197"},
        (Bytes(b"PROXY TCP4"),), "let the load balancer send no PROXY header",
        partial(behind_proxy, client="label-printer"),
    ),
    Incident(
        "idle-connections-reset-librdkafka", "idle-connection-reset", "one", reset_when_idle,
        {"broker": BOX, "client_id": "order-form"}, (Packets("R", address=MIDDLE[0], at_least=3),),
        "connections.max.idle.ms below the proxy's idle timeout", partial(reset_when_idle, idle=None),
    ),
    Incident(
        "idle-connections-reset-java", "idle-connection-reset", "one", reset_when_idle_in_java,
        {"broker": BOX, "client_id": "order-desk"}, (Packets("R", address=MIDDLE[0], at_least=3),),
        "connections.max.idle.ms below the proxy's idle timeout", partial(reset_when_idle_in_java, idle=None),
    ),
)  # fmt: skip
