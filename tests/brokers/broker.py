"""One broker: started and stopped as often as wanted over the same data, asked whether it is there, and its tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from . import probe
from .classpath import classpath
from .java import STOP_TIMEOUT, JavaProcess
from .releases import Release
from .settings import HOST, PLAINTEXT, Plan, logging_options
from .tools import TIMEOUT, run_tool
from .waiting import NotReady, until
from .zookeeper import forgets

HEAP = "-Xmx320m"
STARTED = " started (kafka.server.Kafka"  # is in the log of every release, of KafkaServer or KafkaRaftServer
METADATA_LOG = "__cluster_metadata"
CREATES_TOPICS = (0, 10, 1)
"""The first release that clients can ask to create a topic."""


class Broker:
    """A node of a cluster, numbered from 1."""

    def __init__(self, plan: Plan, node: int) -> None:
        self.plan = plan
        self.node = node
        self._process: JavaProcess | None = None

    @property
    def release(self) -> Release:
        return self.plan.release

    @property
    def version(self) -> str:
        return self.release.version

    @property
    def host(self) -> str:
        return self.plan.host(self.node)

    @property
    def port(self) -> int:
        """That of the PLAINTEXT listener, which every broker has."""
        return self.plan.ports[self.node - 1][PLAINTEXT]

    @property
    def bootstrap(self) -> str:
        return self.listener(PLAINTEXT)

    def listener(self, name: str) -> str:
        """The address of a listener: PLAINTEXT; of a secure broker also SSL, SASL_PLAINTEXT, SASL_SSL."""
        return f"{self.host}:{self.plan.ports[self.node - 1][name]}"

    @property
    def data(self) -> Path:
        """The folder with a folder for each partition, in which its segments lie."""
        return self.plan.data(self.node)

    @property
    def process(self) -> JavaProcess:
        if self._process is None:
            raise NotReady(f"broker {self.node} was never started")
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

    def start(self) -> None:
        """From its stop on, over the data it has; back when it answers."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start the process, and don't wait for the broker."""
        if self.plan.zookeeper_port is not None:
            forgets(self.plan.zookeeper_port, self.node)
        options = [HEAP, *logging_options(self.plan.home, self.release, "INFO")]
        main = ["-cp", classpath(self.release.broker_artifacts), "kafka.Kafka", str(self.plan.config(self.node))]
        self._process = JavaProcess([*options, *main], folder=self.plan.home, log=self.plan.log(self.node))

    def wait(self, *others: int) -> None:
        """Until the broker answers, and knows itself, these others and the topics it holds."""

        def ready() -> bool:
            if not self.running:
                raise NotReady(f"Kafka {self.version} ended while starting; its log:\n{self.process.log_tail()}")
            return self.ready(self.node, *others) and STARTED in self.log_text()  # it, and nobody else on its port

        until(ready, lambda: f"Kafka {self.version} isn't ready; its log:\n{self.process.log_tail()}")

    def ready(self, *nodes: int) -> bool:
        """Whether it answers, with these nodes among the living and a leader for every topic on its disk."""
        try:
            if self.release.number >= (0, 10):
                probe.api_versions(self.port, host=self.host)
            seen = probe.metadata(self.port, host=self.host)
        except OSError:
            return False
        held = self._topics_held()
        if self.release.number < (0, 9) and not held:
            return True  # a broker of 0.8 names no broker, not even itself, before the first topic is there
        return set(nodes) <= set(seen.nodes) and held <= seen.led()

    def stop(self, timeout: float = STOP_TIMEOUT) -> None:
        """SIGTERM, and SIGKILL if that is not enough; the data stays until the cluster is closed."""
        if self._process is not None:
            self._process.stop(timeout)

    def kill(self) -> None:
        """SIGKILL: clients and the other brokers are told nothing."""
        self.process.kill()

    def log_text(self) -> str:
        return self.process.log_text()

    def run(self, tool: str, *arguments: str, stdin: str = "", timeout: float = TIMEOUT) -> str:
        """What a tool of Kafka prints: "TopicCommand", "DumpLogSegments", "org.apache.kafka.tools.TopicCommand"."""
        return run_tool(self.release, self.plan.home, tool, *arguments, stdin=stdin, timeout=timeout)

    def create_topic(self, topic: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """With a replica on every broker; back when this one knows it."""
        replicas = len(self.plan.ports)
        if self.release.number >= CREATES_TOPICS:  # the tool would start a JVM for it
            from confluent_kafka.admin import AdminClient, NewTopic

            admin = AdminClient({"bootstrap.servers": self.bootstrap})  # no longer used, it would give up
            new = NewTopic(topic, partitions, replicas, config=dict(config or {}))
            admin.create_topics([new])[topic].result(TIMEOUT)
        else:
            where = ["--zookeeper", f"{HOST}:{self.plan.zookeeper_port}"]
            size = ["--partitions", str(partitions), "--replication-factor", str(replicas)]
            options = [word for name, value in (config or {}).items() for word in ("--config", f"{name}={value}")]
            self.run("TopicCommand", *where, "--create", "--topic", topic, *size, *options)
        self.wait_for_topic(topic)

    def wait_for_topic(self, topic: str) -> None:
        """Until each of its partitions has a leader, and those that this broker leads are there to be written to."""
        until(lambda: self._serves(topic), lambda: f"broker {self.node} has no topic {topic}")

    def topics(self) -> set[str]:
        return set(probe.metadata(self.port, host=self.host).leaders)

    def _serves(self, topic: str) -> bool:
        seen = probe.metadata(self.port, host=self.host)
        own = (partition for partition, leader in seen.leaders.get(topic, {}).items() if leader == self.node)
        return topic in seen.led() and all((self.data / f"{topic}-{partition}").is_dir() for partition in own)

    def _topics_held(self) -> set[str]:
        folders = [folder.name.rpartition("-") for folder in self.data.iterdir() if folder.is_dir()]
        return {topic for topic, _, partition in folders if partition.isdigit()} - {METADATA_LOG}
