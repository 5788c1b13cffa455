"""A cluster of one broker or more, with its ZooKeeper where it needs one: the owner of their folder and processes."""

from __future__ import annotations

import base64
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from .broker import Broker
from .java import JavaProcess
from .releases import Release, release
from .security import LISTENERS, Security
from .settings import CONTROLLER, PLAINTEXT, UNSTABLE, Plan, free_ports, server_properties, write
from .tools import FORMAT, run_tool
from .zookeeper import start_zookeeper

PORT_TAKEN = "Address already in use"
ATTEMPTS = 3
CLOSE_TIMEOUT = 3.0  # the last of a KRaft quorum finds nobody to hand over to, and would try for longer


def start(name: str, *, nodes: int = 1, secure: bool = False, unstable: bool = False) -> Cluster:
    """A running cluster of the release of this name; who asks for it closes it: `with start("4") as cluster:`."""
    for attempt in range(1, ATTEMPTS + 1):
        cluster = Cluster(release(name), nodes=nodes, secure=secure, unstable=unstable)
        try:
            cluster.start()
        except BaseException:
            taken = PORT_TAKEN in cluster.log_text()  # somebody had it between our look and the broker's start
            cluster.close()
            if not taken or attempt == ATTEMPTS:
                raise
        else:
            return cluster
    raise AssertionError("the last attempt returns or raises")


class Cluster:
    """Brokers of one release that know one another, numbered from 1."""

    def __init__(
        self, kafka: Release, *, nodes: int = 1, secure: bool = False, unstable: bool = False,
        hosts: tuple[str, ...] = (), ports: tuple[Mapping[str, int], ...] = (), extra: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Plan it: without hosts and ports all nodes are at 127.0.0.1, at ports that are free; extra is for all."""
        self.release = kafka
        self.home = Path(tempfile.mkdtemp(prefix=f"kdbg-kafka-{kafka.version}-"))
        self.security = Security(self.home / "security", *hosts[:1]) if secure else None
        self._zookeeper: JavaProcess | None = None
        names = [PLAINTEXT, *(LISTENERS if secure else ()), *(() if kafka.zookeeper else (CONTROLLER,))]
        free = iter(free_ports(nodes * len(names) + 1))
        secured = self.security.broker_properties() if self.security else {}
        self.plan = Plan(
            kafka,
            self.home,
            ports or tuple({name: next(free) for name in names} for _ in range(nodes)),
            zookeeper_port=next(free) if kafka.zookeeper else None,
            extra=(UNSTABLE if unstable else {}) | secured | dict(extra or {}),
            hosts=hosts,
        )
        self.brokers = [Broker(self.plan, node) for node in range(1, nodes + 1)]

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers)

    def start(self) -> None:
        """Write, format and start everything; back when every broker knows all."""
        for broker in self.brokers:
            broker.data.mkdir()
            write(self.plan.config(broker.node), server_properties(self.plan, broker.node))
        if self.security is not None:
            self.security.create()
        if self.plan.zookeeper_port is None:
            self._format()
        else:
            self._zookeeper = start_zookeeper(self.release, self.home, self.plan.zookeeper_port)
        self.heal()

    def heal(self) -> None:
        """Start what isn't running, and wait until every broker knows all."""
        for broker in self.brokers:
            if not broker.running:
                broker.launch()
        for broker in self.brokers:
            broker.wait(*(other.node for other in self.brokers))

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        """With a replica on every broker; back when all know it."""
        self.brokers[0].create_topic(topic, partitions)
        for broker in self.brokers[1:]:
            broker.wait_for_topic(topic)

    def logs(self) -> list[Path]:
        return sorted(self.home.glob("*.log"))

    def log_text(self) -> str:
        return "".join(log.read_text(errors="replace") for log in self.logs())

    def close(self) -> None:
        """Stop all and remove their data."""
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda broker: broker.stop(CLOSE_TIMEOUT), self.brokers))
        if self._zookeeper is not None:
            self._zookeeper.stop(CLOSE_TIMEOUT)
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _format(self) -> None:
        """KRaft: before its first start, every node's data folder is given the cluster's id and its users."""
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        users = self.security.format_options() if self.security else []

        def one(broker: Broker) -> None:
            where = [
                f"--cluster-id={cluster_id}",
                "--config",
                str(self.plan.config(broker.node)),
            ]  # an id may begin "-"
            run_tool(self.release, self.home, FORMAT, "format", *where, *users)

        with ThreadPoolExecutor() as threads:
            list(threads.map(one, self.brokers))
