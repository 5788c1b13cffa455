"""The ZooKeeper that the older releases keep their cluster in: the one on their own classpath, alone, on loopback."""

from __future__ import annotations

import socket
from pathlib import Path

from .classpath import classpath
from .java import JavaProcess
from .releases import Release
from .settings import HOST, logging_options, write
from .waiting import NotReady, until

HEAP = "-Xmx96m"
MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"


def start_zookeeper(release: Release, home: Path, port: int) -> JavaProcess:
    """A ZooKeeper that answers; its data and its log are in the cluster's folder."""
    config = home / "zookeeper.properties"
    settings = {"dataDir": str(home / "zookeeper"), "clientPort": str(port), "clientPortAddress": HOST}
    newer = {"admin.enableServer": "false", "4lw.commands.whitelist": "dump"}
    write(config, settings | {"maxClientCnxns": "0", "tickTime": "500"} | newer)
    jars = classpath(release.broker_artifacts)
    options = [HEAP, *logging_options(home, release, "INFO"), "-cp", jars, MAIN, str(config)]
    process = JavaProcess(options, folder=home, log=home / "zookeeper.log")

    def answers() -> bool:
        if not process.running:
            raise NotReady(f"ZooKeeper ended while starting; its log:\n{process.log_tail()}")
        return "dump" in _ephemerals(port)

    try:
        until(answers, lambda: f"ZooKeeper gives no answer; its log:\n{process.log_tail()}")
    except BaseException:
        process.kill()
        raise
    return process


def forgets(port: int, node: int) -> None:
    """Wait until ZooKeeper has given up a broker that was killed: until then nobody may come back by its number."""
    path = f"\t/brokers/ids/{node}\n"
    until(lambda: path not in _ephemerals(port), lambda: f"ZooKeeper still holds the session of broker {node}")


def _ephemerals(port: int) -> str:
    """ZooKeeper's answer to the four-letter word "dump": the nodes that end with somebody's session."""
    try:
        with socket.create_connection((HOST, port), 2) as connection:
            connection.sendall(b"dump")
            return b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    except OSError:
        return ""
