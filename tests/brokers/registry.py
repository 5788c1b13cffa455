"""A real Schema Registry: Apicurio's, fetched from Maven Central once, started on loopback, stopped by pid.

It speaks the interface of Confluent's registry, and keeps its schemas in memory.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from .classpath import TIMEOUT, Unavailable, cache
from .java import JavaProcess
from .settings import HOST
from .waiting import until

VERSION = "3.0.9"
"""The last release for Java 17."""
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:2.8:get"
"""Its newer releases ask for the parent of the artifact, which is not there."""
RUNNER = f"apicurio-registry-app-{VERSION}-runner.jar"
PATH = "/apis/ccompat/v7"


def unpacked() -> Path:
    """The folder of the registry; fetched and unpacked unless the cache has it."""
    folder = cache() / f"apicurio-registry-{VERSION}"
    if (folder / RUNNER).is_file():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable("Maven (mvn) is not installed, and the cache has no schema registry")
    cache().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cache()) as fresh:
        options = [f"-Dartifact={ARTIFACT}", "-Dtransitive=false", f"-Dmaven.repo.local={fresh}/repository", "-B", "-q"]
        done = subprocess.run([maven, PLUGIN, *options], capture_output=True, text=True, timeout=TIMEOUT, check=False)
        archives = list(Path(fresh).rglob(f"apicurio-registry-app-{VERSION}-all.tar.gz"))
        if done.returncode or not archives:
            raise Unavailable(f"Maven could not fetch {ARTIFACT}:\n{done.stdout}{done.stderr}")
        with tarfile.open(archives[0]) as archive:
            archive.extractall(Path(fresh) / "app", filter="data")
        (Path(fresh) / "app").rename(folder)
    return folder


@contextmanager
def registry() -> Iterator[str]:
    """Run a registry while the context lasts and yield its URL."""
    folder = unpacked()
    with socket.socket() as free, TemporaryDirectory() as home:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
        free.close()
        options = [f"-Dquarkus.http.port={port}", f"-Dquarkus.http.host={HOST}", "-Xmx320m", "-jar"]
        process = JavaProcess([*options, str(folder / RUNNER)], folder=Path(home), log=Path(home) / "log")
        url = f"http://{HOST}:{port}{PATH}"
        try:
            until(lambda: answers(url), process.log_tail, 240)
            yield url
        finally:
            process.stop()


def answers(url: str) -> bool:
    """Whether the registry answers."""
    try:
        with urllib.request.urlopen(f"{url}/subjects", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
