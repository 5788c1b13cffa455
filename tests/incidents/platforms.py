"""What is built on Kafka's clients, as processes: a Kafka Streams application, Kafka Connect, MirrorMaker."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..brokers.classpath import classpath
from ..brokers.java import QUICK, java
from ..brokers.releases import LOG4J2, release
from ..brokers.settings import logging_options, write
from .foreign import CLIENTS, GUARD, HOME, NEWEST

STREAMS = (f"org.apache.kafka:kafka-streams:{release(NEWEST).version}", *LOG4J2)
PARTS = ("runtime", "json", "file", "mirror")
CONNECT = (*(f"org.apache.kafka:connect-{part}:{release(NEWEST).tools}" for part in PARTS), *LOG4J2)
STRINGS = "org.apache.kafka.common.serialization.Serdes$StringSerde"
TEXT = "org.apache.kafka.connect.storage.StringConverter"
HOMES = HOME / "platforms"
"""State stores, offsets and the files that Connect reads and writes."""


def install() -> None:
    """Fetch and build what these need, unless it is there."""
    classpath(CONNECT)
    source, made = CLIENTS / "WordCount.java", HOME / "WordCount.class"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["javac", "-cp", classpath(STREAMS), "-d", str(HOME), str(source)], check=True)


def fresh(name: str) -> Path:
    """An empty folder."""
    folder = HOMES / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def word_count(
    source: str, target: str, seconds: int, state: Path, settings: Mapping[str, object]
) -> subprocess.Popen[bytes]:  # fmt: skip
    """Start clients/WordCount.java for so long, its state store in this folder."""
    told = {"default.key.serde": STRINGS, "default.value.serde": STRINGS, "state.dir": state} | dict(settings)
    words = [f"{name}={value}" for name, value in told.items()]
    jars = os.pathsep.join((classpath(STREAMS), str(HOME)))
    return _started(jars, "WordCount", source, target, str(seconds), *words)


def connect(main: str, folder: Path, *files: Mapping[str, object]) -> subprocess.Popen[bytes]:
    """Start a main class of Connect's or MirrorMaker's with these files of settings: the worker's, the connectors'."""
    paths = [folder / f"{number}.properties" for number in range(len(files))]
    for path, settings in zip(paths, files, strict=True):
        write(path, {name: str(value) for name, value in settings.items()})
    return _started(classpath(CONNECT), f"org.apache.kafka.connect.{main}", *map(str, paths))


def _started(jars: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
    options: Sequence[str] = [*QUICK, "-Xmx256m", *logging_options(HOME, release(NEWEST), "ERROR"), "-cp", jars]
    return subprocess.Popen([*GUARD, java(), *options, main, *arguments], stdout=subprocess.DEVNULL)
