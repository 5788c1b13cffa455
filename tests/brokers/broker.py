"""One broker: started and stopped as often as wanted over the same data, asked whether it is there, and its tools."""

from __future__ import annotations

import subprocess
import time
import zipfile
from pathlib import Path

from . import probe
from .classpath import classpath
from .java import QUICK, JavaProcess, java
from .releases import Release
from .settings import HOST, PLAINTEXT, Plan, logging_options

HEAP = "-Xmx320m"
TOOL_HEAP = "-Xmx128m"
READY_TIMEOUT = 90.0
PAUSE = 0.05
TOOL_TIMEOUT = 90.0


class NotReady(RuntimeError):
    """A broker did not come up; the message ends with what it logged last."""


class Broker:
    """A node of a cluster, numbered from 1."""

    def __init__(self, plan: Plan, node: int) -> None:
        self.plan = plan
        self.node = node
        self.ports = plan.ports[node - 1]
        self._process: JavaProcess | None = None

    @property
    def release(self) -> Release:
        return self.plan.release

    @property
    def version(self) -> str:
        return self.release.version

    @property
    def port(self) -> int:
        return self.ports[PLAINTEXT]

    @property
    def bootstrap(self) -> str:
        return self.listener(PLAINTEXT)

    def listener(self, name: str) -> str:
        """The address of PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
        return f"{HOST}:{self.ports[name]}"

    @property
    def data(self) -> Path:
        """The folder with a folder for each partition, in which its segments lie."""
        return self.plan.data(self.node)

    @property
    def pid(self) -> int:
        if self._process is None:
            raise NotReady(f"broker {self.node} was never started")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

    def launch(self) -> None:
        """Start the process; `wait` says when it answers."""
        options = [HEAP, *self.release.java_options, *logging_options(self.plan.home, self.release, "INFO")]
        command = ["-cp", classpath(self.release.broker_artifacts), "kafka.Kafka", str(self.plan.config(self.node))]
        self._process = JavaProcess([*options, *command], folder=self.plan.home, log=self.plan.log(self.node))

    def wait(self, timeout: float = READY_TIMEOUT) -> None:
        """Until the broker answers, and knows itself."""
        deadline = time.monotonic() + timeout
        while not self.knows(self.node):
            if not self.running:
                raise NotReady(f"Kafka {self.version} ended while starting; its log:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise NotReady(f"Kafka {self.version} gave no answer in {timeout:g} s; its log:\n{self.log_tail()}")
            time.sleep(PAUSE)

    def knows(self, *nodes: int) -> bool:
        """Whether it answers, and with these nodes among the live ones."""
        try:
            if self.release.number >= (0, 10):
                probe.api_versions(self.port)
            return set(nodes) <= set(probe.metadata(self.port).nodes)
        except OSError:
            return False

    def start(self) -> None:
        """Again, over the data it has."""
        self.launch()
        self.wait()

    def stop(self) -> None:
        """SIGTERM, SIGKILL after a while; the data stays until the cluster is closed."""
        if self._process is not None:
            self._process.stop()

    def kill(self) -> None:
        """SIGKILL: clients and the other brokers are told nothing."""
        if self._process is not None:
            self._process.kill()

    def log_text(self) -> str:
        return self._process.log_text() if self._process else ""

    def log_tail(self) -> str:
        return self._process.log_tail() if self._process else ""

    def run(self, tool: str, *arguments: str, stdin: str = "", timeout: float = TOOL_TIMEOUT) -> str:
        """What a tool of Kafka prints: "TopicCommand", "DumpLogSegments", or the class in full."""
        return run_tool(self.release, self.plan.home, tool, *arguments, stdin=stdin, timeout=timeout)

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        """With as many replicas as there are brokers."""
        where = ["--bootstrap-server", self.bootstrap]
        if self.plan.zookeeper_port is not None and self.release.number < (2, 2):
            where = ["--zookeeper", f"{HOST}:{self.plan.zookeeper_port}"]
        size = ["--partitions", str(partitions), "--replication-factor", str(len(self.plan.ports))]
        self.run("TopicCommand", *where, "--create", "--topic", topic, *size)

    def topics(self) -> set[str]:
        return set(probe.metadata(self.port).leaders)


def run_tool(
    release: Release, home: Path, tool: str, *arguments: str, stdin: str = "", timeout: float = TOOL_TIMEOUT
) -> str:
    """Run a tool to its end; CalledProcessError, with what it said, when it fails."""
    jars = classpath(release.tool_artifacts)
    name = tool if "." in tool else _class_of(tool, jars)
    options = [*QUICK, TOOL_HEAP, *release.java_options, *logging_options(home, release, "WARN")]
    done = subprocess.run(
        [java(), *options, "-cp", jars, name, *arguments],
        input=stdin,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{name} {' '.join(arguments)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _class_of(tool: str, jars: str) -> str:
    """The tools move from kafka.tools and kafka.admin to org.apache.kafka.tools over the releases."""
    kafka = [jar for jar in jars.split(":") if Path(jar).name.startswith("kafka")]
    entries = [entry for jar in kafka for entry in zipfile.ZipFile(jar).namelist() if entry.endswith(f"/{tool}.class")]
    found = sorted(entries, key=lambda entry: not entry.startswith("org/"))
    if not found:
        raise LookupError(f"no tool {tool} in {', '.join(Path(jar).name for jar in kafka)}")
    return found[0].removesuffix(".class").replace("/", ".")
