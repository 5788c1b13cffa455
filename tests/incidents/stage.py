"""Where an incident is staged: a running cluster, clients of all kinds, and a recorder for what they say."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ..brokers.broker import Broker
from ..brokers.cluster import Cluster
from ..recording.tcpdump import recording_all
from .clusters import CLUSTERS, CONTROLLER_PORT
from .line import Line

PATIENCE = 20.0
QUIET: dict[str, Any] = {"log_level": 0, "enable.metrics.push": False}
SETUP = "setup"
"""The client id of what prepares an incident."""
TRAFFIC = f"tcp and not port {CONTROLLER_PORT}"


class Stage:
    """What a staging may use. `out` becomes the capture; `since` is when it begins to fail, in seconds since 1970."""

    def __init__(self, cluster: Cluster, out: Path) -> None:
        self.cluster = cluster
        self.out = out
        self.since = 0.0
        self.who: dict[str, object] = {}
        self._undone = ExitStack()

    @property
    def broker(self) -> Broker:
        return self.cluster.brokers[0]

    @property
    def bootstrap(self) -> str:
        return self.cluster.bootstrap

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "client.id": SETUP, **QUIET})

    @contextmanager
    def recording(self, traffic: str = TRAFFIC, interface: str = "lo") -> Iterator[None]:
        """All TCP of the clusters' network while the block lasts, the controllers' own left out."""
        with recording_all(self.out, traffic, interface=interface):
            self.since = time.time()
            yield

    def fails_now(self) -> None:
        """Note that what went well until now begins to fail; without it, all fails from the first packet on."""
        self.since = time.time()

    def concerns(self, **who: object) -> None:
        """Note who is concerned where only the run itself can tell; it is told beside what the entry names."""
        self.who |= who

    def finally_do(self, undo: Callable[[], object]) -> None:
        """Have this done when the incident is over, however it ends."""
        self._undone.callback(undo)

    def close(self) -> None:
        self._undone.close()

    # clients of librdkafka

    @contextmanager
    def producer(self, client_id: str, **options: Any) -> Iterator[Producer]:
        """Options are librdkafka's, with underscores for dots. What it has not sent on leaving the block is lost."""
        made = Producer(self._options(client_id, options))
        try:
            yield made
        finally:
            made.purge()
            made.close()

    @contextmanager
    def consumer(self, client_id: str, group: str, *topics: str, **options: Any) -> Iterator[Consumer]:
        """A consumer that reads from the start, subscribed to these topics, closed on leaving the block."""
        habits = {"group_id": group, "auto_offset_reset": "earliest", "enable_auto_commit": False}
        made = Consumer(self._options(client_id, habits | options))
        if topics:
            made.subscribe(list(topics))
        try:
            yield made
        finally:
            made.close()

    def _options(self, client_id: str, options: dict[str, Any]) -> dict[str, Any]:
        named = {"bootstrap.servers": self.bootstrap, "client.id": client_id, **QUIET}
        return named | {name if callable(value) else name.replace("_", "."): value for name, value in options.items()}

    # the cluster

    def topic(
        self, name: str, partitions: int = 1, replicas: Sequence[Sequence[int]] | None = None, **config: str
    ) -> None:
        """A topic with nothing in it; replicas: for each partition its brokers, the leader first."""
        self.no_topic(name)
        placed: dict[str, Any] = {"num_partitions": partitions, "replication_factor": len(self.cluster.brokers)}
        if replicas is not None:
            placed = {"num_partitions": len(replicas), "replica_assignment": [list(each) for each in replicas]}
        settings = {key.replace("_", "."): value for key, value in config.items()}
        for end in time.monotonic() + PATIENCE, 0.0:
            try:
                self.admin.create_topics([NewTopic(name, **placed, config=settings)])[name].result(PATIENCE)
                break
            except KafkaException:  # the one that was there is not yet gone
                if time.monotonic() > end:
                    raise
                time.sleep(1)
        for broker in self.cluster.brokers:
            broker.wait_for_topic(name)

    def no_topic(self, name: str) -> None:
        """See to it that there is no topic of this name."""
        if name in self.broker.topics():
            self.admin.delete_topics([name])[name].result(PATIENCE)
            until(lambda: name not in self.broker.topics())
            time.sleep(0.5)

    def fill(self, topic: str, *values: str | bytes, **options: Any) -> None:
        """Write these values before the recording begins."""
        with self.producer(SETUP, **options) as writer:
            for value in values:
                writer.produce(topic, value)
            writer.flush(PATIENCE)

    def configure(self, *what: str, add: str) -> None:
        """Alter a setting of brokers, topics, users or clients for this incident: `--entity-type`, …; then undo it."""
        where = ("--bootstrap-server", self.bootstrap, "--alter", *what)
        keys = ",".join(part.partition("=")[0] for part in add.split(","))
        self.broker.run("ConfigCommand", *where, "--add-config", add)
        self.finally_do(lambda: self.broker.run("ConfigCommand", *where, "--delete-config", keys))

    def frozen(self, broker: Broker, seconds: float) -> None:
        """Let a broker's process not run for so long."""
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(broker.pid, signal.SIGCONT)

    def beside(self, name: str) -> Cluster:
        """Another cluster, running until the incident is over."""
        made = self._undone.enter_context(CLUSTERS[name].made())
        made.start()
        return made

    # other clients

    def line(self) -> Line:
        """A line between the broker's end and a client's, that can be slow, lossy or cut; gone with the incident."""
        made = Line()
        self.finally_do(made.close)
        return made


def apart(work: Callable[[], object], timeout: float = PATIENCE) -> None:
    """Do this in a process of its own, and end that then: some clients go on in threads that nobody can stop."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(timeout)
    process.kill()
    process.join()


def until(happened: Callable[[], bool], timeout: float = PATIENCE) -> None:
    """Wait until it happened; TimeoutError if it doesn't."""
    end = time.monotonic() + timeout
    while not happened():
        if time.monotonic() > end:
            raise TimeoutError("an incident waits for something that doesn't happen")
        time.sleep(0.05)


def ended(process: subprocess.Popen[bytes], timeout: float = 90.0) -> None:
    """Wait for a client to end by itself; one that does not is killed."""
    try:
        process.wait(timeout)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
