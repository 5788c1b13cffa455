"""A plan of a cluster -> the server.properties of each of its brokers, and how their JVMs log."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from .releases import Release

HOST = "127.0.0.1"
CONTROLLER = "CONTROLLER"
PLAINTEXT = "PLAINTEXT"

SMALL = {  # one topic for offsets, one for transactions, of few partitions; no waiting for members of a group
    "num.network.threads": "2",
    "num.io.threads": "4",
    "auto.create.topics.enable": "true",
    "delete.topic.enable": "true",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": "4194304",
}
REPLICATED = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.replication.factor",
    "default.replication.factor",
)
ONE_IN_SYNC = ("transaction.state.log.min.isr", "share.coordinator.state.topic.min.isr")
UNSTABLE = {"unstable.api.versions.enable": "true", "unstable.feature.versions.enable": "true"}

LOG4J = """\
log4j.rootLogger=${kdbg.level}, out
log4j.logger.kafka.server.KafkaConfig=WARN
log4j.logger.org.apache.kafka.common.config=WARN
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target=System.err
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %m (%c)%n
"""
LOG4J2 = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.target = SYSTEM_ERR
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %m (%c)%n
logger.config.name = org.apache.kafka.common.config
logger.config.level = warn
rootLogger.level = ${sys:kdbg.level}
rootLogger.appenderRef.out.ref = out
"""


@dataclass(frozen=True)
class Plan:
    """What a cluster is to be: its release, its folder, and for each node which listener has which port."""

    release: Release
    home: Path
    ports: tuple[Mapping[str, int], ...]
    zookeeper_port: int | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()  # an address of loopback for each node; none: all have the same

    def host(self, node: int) -> str:
        return self.hosts[node - 1] if self.hosts else HOST

    def data(self, node: int) -> Path:
        return self.home / f"data-{node}"

    def config(self, node: int) -> Path:
        return self.home / f"server-{node}.properties"

    def log(self, node: int) -> Path:
        return self.home / f"broker-{node}.log"


def free_ports(count: int) -> list[int]:
    """Ports that nobody has just now; all different."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]


def write(path: Path, properties: Mapping[str, str]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))


def server_properties(plan: Plan, node: int) -> dict[str, str]:
    """All that the broker with this number (from 1) is told."""
    nodes = len(plan.ports)
    listeners = _kraft(plan, node) if plan.zookeeper_port is None else _zookeeper(plan, node)
    replicas = dict.fromkeys(REPLICATED, str(nodes)) | dict.fromkeys(ONE_IN_SYNC, "1")
    return {"log.dirs": str(plan.data(node)), **listeners, **SMALL, **replicas, **plan.extra}


def _zookeeper(plan: Plan, node: int) -> dict[str, str]:
    host, port = plan.host(node), plan.ports[node - 1][PLAINTEXT]
    where = (
        {"host.name": host, "port": str(port)}
        if plan.release.number < (0, 9)
        else {"listeners": f"{PLAINTEXT}://{host}:{port}"}
    )
    return {
        "broker.id": str(node),
        **where,
        "zookeeper.connect": f"{HOST}:{plan.zookeeper_port}",
        "zookeeper.connection.timeout.ms": "30000",
        "zookeeper.session.timeout.ms": "4000",  # as below
        "controlled.shutdown.enable": "false",  # nobody is there to take over: it would only be tried again and again
    }


def _kraft(plan: Plan, node: int) -> dict[str, str]:
    host, ports = plan.host(node), plan.ports[node - 1]
    voters = (f"{number}@{plan.host(number)}:{each[CONTROLLER]}" for number, each in enumerate(plan.ports, 1))
    protocols = {name: PLAINTEXT if name == CONTROLLER else name for name in ports}
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": CONTROLLER,
        "listeners": ",".join(f"{name}://{host}:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(f"{name}://{host}:{ports[name]}" for name in ports if name != CONTROLLER),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "inter.broker.listener.name": PLAINTEXT,
        "broker.heartbeat.interval.ms": "1000",
        "broker.session.timeout.ms": "4000",  # a killed broker is missed, and may come back, after this long
    }


def logging_options(home: Path, release: Release, level: str) -> list[str]:
    """What tells a JVM to log from this level on to its stderr."""
    if release.number < (4,):
        path, text, key = home / "log4j.properties", LOG4J, "log4j.configuration"
    else:
        path, text, key = home / "log4j2.properties", LOG4J2, "log4j2.configurationFile"
    path.write_text(text)
    return [f"-Dkdbg.level={level}", f"-D{key}={path.as_uri()}"]
