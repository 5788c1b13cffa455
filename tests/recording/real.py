"""Real brokers for the recorder, those of tests/brokers, and the clients that are no Python: Java, JavaScript, Go.

The brokers have the ports one expects, 9092 and up: nobody else is in the recorder's network. A client is a file of
clients/. What it needs is put under /tmp by install(), before the network is left.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copy
from unittest.mock import patch

from brokers.classpath import classpath
from brokers.cluster import Cluster, start
from brokers.java import QUICK, java
from brokers.releases import release
from brokers.settings import Plan, logging_options, server_properties

from recording.network import FIRST_BROKER_PORT

CLIENTS = Path(__file__).parent / "clients"
HOME = Path(tempfile.gettempdir()) / "kdbg-recording-clients"
GO_CLIENT = HOME / "go" / "letters"
TLS_AGENT = ("name.neykov:extract-tls-secrets:4.0.0",)
KAFKAJS, FRANZ_GO = "kafkajs@2.2.4", "github.com/twmb/franz-go@v1.22.2"
TIMEOUT = 120


@contextmanager
def kafka(version: str, *, nodes: int = 1, secure: bool = False) -> Iterator[Cluster]:
    """Running brokers of this release, their listeners at 9092 and up; node by node, a controller's after the rest."""
    with patch("brokers.cluster.free_ports", lambda count: [FIRST_BROKER_PORT + number for number in range(count)]):
        cluster = start(version, nodes=nodes, secure=secure)
    with cluster:
        yield cluster


@contextmanager
def plugin(version: str, name: str) -> Iterator[None]:
    """Brokers of this release that start meanwhile report their metrics to the class of clients/NAME.java."""
    jars = classpath(release(version).broker_artifacts)
    HOME.mkdir(exist_ok=True)
    compiler = ["javac", "-Xlint:-removal", "-cp", jars, "-d", str(HOME)]
    subprocess.run([*compiler, str(CLIENTS / f"{name}.java")], check=True)

    def properties(plan: Plan, node: int) -> dict[str, str]:
        return {**server_properties(plan, node), "metric.reporters": name}

    with (
        patch("brokers.broker.classpath", lambda artifacts: f"{classpath(artifacts)}{os.pathsep}{HOME}"),
        patch("brokers.cluster.server_properties", properties),
    ):
        yield


def ports(cluster: Cluster) -> list[int]:
    """Those that clients talk to."""
    return [broker.port for broker in cluster.brokers]


def start_java(cluster: Cluster, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Run clients/NAME.java with the broker's own release of Java's client; it is told the broker first."""
    options = [*QUICK, "-Xmx128m", *logging_options(cluster.home, cluster.release, "ERROR")]
    program = ["-cp", classpath(cluster.release.broker_artifacts), str(CLIENTS / f"{name}.java")]
    guard = ["setpriv", "--pdeathsig", "KILL"]  # so that none outlives a scenario that failed
    return subprocess.Popen([*guard, java(), *options, *program, cluster.bootstrap, *arguments])


def run_java(cluster: Cluster, name: str, *arguments: str) -> None:
    process = start_java(cluster, name, *arguments)
    if process.wait(TIMEOUT):
        raise RuntimeError(f"{name}.java ended with status {process.returncode}")


def run_javascript(cluster: Cluster, name: str) -> None:
    environment = os.environ | {"NODE_PATH": str(HOME / "node_modules")}
    command = ["node", str(CLIENTS / f"{name}.js"), cluster.bootstrap]
    subprocess.run(command, env=environment, check=True, timeout=TIMEOUT)


def run_go(cluster: Cluster) -> None:
    subprocess.run([str(GO_CLIENT), cluster.bootstrap], check=True, timeout=TIMEOUT)


def install_kafka(version: str) -> None:
    """Fetch the jars of a release's brokers and tools."""
    for artifacts in (release(version).broker_artifacts, release(version).tool_artifacts):
        classpath(artifacts)


def install_javascript() -> None:
    if not (HOME / "node_modules" / "kafkajs").is_dir():
        HOME.mkdir(exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", str(HOME), KAFKAJS], check=True)


def install_tls() -> None:
    """Fetch the agent that logs the broker's keys, and build the client in Go."""
    classpath(TLS_AGENT)
    install_go()


def install_go() -> None:
    """Build clients/letters.go."""
    source = CLIENTS / "letters.go"
    if not GO_CLIENT.exists() or GO_CLIENT.stat().st_mtime < source.stat().st_mtime:
        GO_CLIENT.parent.mkdir(parents=True, exist_ok=True)
        copy(source, GO_CLIENT.with_suffix(".go"))
        for command in (
            ["mod", "init", "letters"],
            ["get", FRANZ_GO],
            ["mod", "tidy"],
            ["build", "-o", str(GO_CLIENT), "."],
        ):
            subprocess.run(["go", *command], cwd=GO_CLIENT.parent, check=True)
