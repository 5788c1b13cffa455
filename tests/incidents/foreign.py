"""Clients that are no Python, as processes: Java's, KafkaJS, franz-go, Kafka's own tools of this and older releases."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import copy
from typing import Any

from ..brokers.classpath import classpath
from ..brokers.java import QUICK, java
from ..brokers.releases import release
from ..brokers.settings import logging_options
from ..brokers.tools import in_full

CLIENTS = Path(__file__).parent / "clients"
HOME = Path(tempfile.gettempdir()) / "kdbg-incident-clients"
GO_CLIENT = HOME / "go" / "client"
KAFKAJS, FRANZ_GO = "kafkajs@2.2.4", "github.com/twmb/franz-go@v1.22.2"
GUARD = ("setpriv", "--pdeathsig", "KILL")  # so that none outlives an incident that failed
NEWEST = "4.4"
PATIENT = {"request.timeout.ms": 3000, "delivery.timeout.ms": 4000, "max.block.ms": 4000, "linger.ms": 0}
"""How long a producer of Java's tries, unless it is told otherwise."""
RELEASES = ("4.4", "2.8", "0.10")
"""Those whose brokers, tools or clients an incident wants."""


def install() -> None:
    """Fetch and build what the clients need, unless it is there: before the machine's network is left."""
    for name in RELEASES:
        for artifacts in (release(name).broker_artifacts, release(name).tool_artifacts):
            classpath(artifacts)
    HOME.mkdir(exist_ok=True)
    if _older(HOME / "Client.class", CLIENTS / "Client.java"):
        jars = classpath(release(NEWEST).broker_artifacts)
        _run(HOME, "javac", "-cp", jars, "-d", str(HOME), str(CLIENTS / "Client.java"))
    if not (HOME / "node_modules" / "kafkajs").is_dir():
        _run(HOME, "npm", "install", "--silent", "--prefix", str(HOME), KAFKAJS)
    go_program(CLIENTS / "client.go", GO_CLIENT, FRANZ_GO)


def go_program(source: Path, program: Path, *modules: str) -> None:
    """Build a program of one file in a folder of its own, unless it is there."""
    if not _older(program, source):
        return
    folder = program.parent
    folder.mkdir(exist_ok=True)
    copy(source, folder)
    if not (folder / "go.mod").exists():
        _run(folder, "go", "mod", "init", "client")
    _run(folder, "go", "get", *modules)
    _run(folder, "go", "mod", "tidy")
    _run(folder, "go", "build", "-o", str(program), ".")


def _older(made: Path, source: Path) -> bool:
    return not made.exists() or made.stat().st_mtime < source.stat().st_mtime


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True)


def java_client(
    verb: str, topic: str, settings: Mapping[str, object], *, kafka: str = NEWEST, enter: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """Start clients/Client.java with these settings of Kafka's and its own, with the client library of a release."""
    jars = os.pathsep.join((classpath(release(kafka).broker_artifacts), str(HOME)))
    told = (PATIENT if verb == "produce" else {}) | dict(settings)
    words = [f"{name}={value}" for name, value in told.items()]
    options = [*QUICK, "-Xmx96m", *logging_options(HOME, release(kafka), "ERROR"), "-cp", jars]
    return subprocess.Popen(
        [*GUARD, *enter, java(), *options, "Client", verb, topic, *words], stdout=subprocess.DEVNULL
    )  # fmt: skip


def old_tool(name: str, tool: str, *arguments: str, stdin: str = "", seconds: float = 15) -> None:
    """Run a tool of an older release for at most so long; whatever comes of it."""
    kafka = release(name)
    jars = classpath(kafka.tool_artifacts)
    options = [*QUICK, "-Xmx96m", *logging_options(HOME, kafka, "ERROR"), "-cp", jars, in_full(tool, jars)]
    process = subprocess.Popen(
        [*GUARD, java(), *options, *arguments], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )  # fmt: skip
    try:
        process.communicate(stdin.encode(), timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def kafkajs(verb: str, topic: str, *, enter: Sequence[str] = (), **told: Any) -> subprocess.Popen[bytes]:
    """Start clients/client.js; what it may be told stands there."""
    environment = os.environ | {"NODE_PATH": str(HOME / "node_modules")}
    command = ["node", str(CLIENTS / "client.js"), verb, topic, json.dumps(told)]
    return subprocess.Popen([*GUARD, *enter, *command], env=environment, stdout=subprocess.DEVNULL)


def franz_go(verb: str, topic: str, *, enter: Sequence[str] = (), **told: object) -> subprocess.Popen[bytes]:
    """Start clients/client.go; what it may be told stands there."""
    words = [f"{name}={value}" for name, value in told.items()]
    return subprocess.Popen([*GUARD, *enter, str(GO_CLIENT), verb, topic, *words], stdout=subprocess.DEVNULL)
