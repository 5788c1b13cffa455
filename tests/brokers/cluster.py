"""A cluster of one broker or more, with its ZooKeeper where it needs one: the owner of their folder and processes."""

from __future__ import annotations

import base64
import shutil
import socket
import tempfile
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from .broker import HEAP, PAUSE, READY_TIMEOUT, Broker, NotReady, run_tool
from .classpath import classpath
from .java import JavaProcess
from .releases import Release, release
from .settings import CONTROLLER, HOST, PLAINTEXT, UNSTABLE, Plan, free_ports, logging_options, server_properties, write

PORT_TAKEN = "Address already in use"
ATTEMPTS = 3


def start(name: str, *, nodes: int = 1, unstable: bool = False) -> Cluster:
    """A running cluster of the release of this name; whoever asks for it closes it (`with start("4") as cluster`)."""
    for attempt in range(ATTEMPTS):
        cluster = Cluster(release(name), nodes=nodes, unstable=unstable)
        try:
            cluster.start()
        except BaseException as problem:
            cluster.close()
            if PORT_TAKEN not in str(problem) or attempt == ATTEMPTS - 1:
                raise
        else:
            return cluster
    raise AssertionError("the last attempt returns or raises")


class Cluster:
    """Brokers of one release that know one another, numbered from 1."""

    def __init__(self, kafka: Release, *, nodes: int = 1, unstable: bool = False) -> None:
        self.release = kafka
        self.home = Path(tempfile.mkdtemp(prefix=f"kdbg-kafka-{kafka.version}-"))
        self._zookeeper: JavaProcess | None = None
        names = [PLAINTEXT] if kafka.zookeeper else [PLAINTEXT, CONTROLLER]
        ports = iter(free_ports(nodes * len(names) + 1))
        self.plan = Plan(
            kafka,
            self.home,
            tuple({name: next(ports) for name in names} for _ in range(nodes)),
            zookeeper_port=next(ports) if kafka.zookeeper else None,
            extra=UNSTABLE if unstable else {},
        )
        self.brokers = [Broker(self.plan, node) for node in range(1, nodes + 1)]

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers)

    def start(self) -> None:
        for broker in self.brokers:
            write(self.plan.config(broker.node), server_properties(self.plan, broker.node))
        if self.plan.zookeeper_port is None:
            self._format()
        else:
            self._start_zookeeper(self.plan.zookeeper_port)
        self.heal()

    def heal(self) -> None:
        """Start what isn't running, and wait until every broker knows all."""
        for broker in self.brokers:
            if not broker.running:
                broker.launch()
        for broker in self.brokers:
            broker.wait()
        everybody = [broker.node for broker in self.brokers]
        deadline = time.monotonic() + READY_TIMEOUT
        while not all(broker.knows(*everybody) for broker in self.brokers):
            if time.monotonic() > deadline:
                raise NotReady(f"the brokers of Kafka {self.release.version} did not find one another")
            time.sleep(PAUSE)

    def close(self) -> None:
        """Stop all and remove their data."""
        with ThreadPoolExecutor() as threads:
            list(threads.map(Broker.stop, self.brokers))
        if self._zookeeper is not None:
            self._zookeeper.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _format(self) -> None:
        """KRaft: every node's data folder gets the cluster's id before the first start."""
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")

        def one(broker: Broker) -> None:
            config = str(self.plan.config(broker.node))
            run_tool(self.release, self.home, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", config)

        with ThreadPoolExecutor() as threads:
            list(threads.map(one, self.brokers))

    def _start_zookeeper(self, port: int) -> None:
        config, log = self.home / "zookeeper.properties", self.home / "zookeeper.log"
        write(
            config,
            {
                "dataDir": str(self.home / "zookeeper"),
                "clientPort": str(port),
                "clientPortAddress": HOST,
                "admin.enableServer": "false",
                "maxClientCnxns": "0",
            },
        )
        options = ["-Xmx96m", *logging_options(self.home, self.release, "INFO")]
        main = ["org.apache.zookeeper.server.ZooKeeperServerMain", str(config)]
        jars = classpath(self.release.broker_artifacts)
        self._zookeeper = JavaProcess([*options, "-cp", jars, *main], folder=self.home, log=log)
        deadline = time.monotonic() + READY_TIMEOUT
        while not _accepts(port):
            if not self._zookeeper.running or time.monotonic() > deadline:
                raise NotReady(f"ZooKeeper did not come up; its log:\n{self._zookeeper.log_tail()}")
            time.sleep(PAUSE)


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), 1):
            return True
    except OSError:
        return False
