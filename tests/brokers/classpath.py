"""Artifacts -> the jars that Java needs for them: Maven fetches them once into a cache outside the repository."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
LEFT_OUT = (  # of kafka-tools: Connect's web server, half its size; of others: artifacts that are not there
    "org.apache.kafka:connect-runtime",
    "org.apache.kafka:connect-json",
)
ABSENT = {
    "org.apache.kafka:kafka_2.13:4.4.0": ("org.apache.kafka:kafka-tools-api",),
    "name.neykov:extract-tls-secrets:4.0.0": ("com.sun:tools",),
}
TIMEOUT = 900
ATTEMPTS = 2


class Unavailable(RuntimeError):
    """The brokers can't be had on this machine."""


def cache() -> Path:
    """Where the jars stay; nothing in it belongs to the repository."""
    return Path(os.environ.get("KDBG_BROKER_CACHE") or Path.home() / ".cache" / "kdbg" / "brokers").expanduser()


@functools.cache
def classpath(artifacts: tuple[str, ...]) -> str:
    """The value of java's -cp; fetched with all they depend on, unless the cache has them."""
    name = hashlib.sha256(_pom(artifacts).encode()).hexdigest()[:12]
    known = cache() / f"{artifacts[0].split(':', 1)[1].replace(':', '-')}-{name}.classpath"
    with _locked(cache()):
        if not _complete(known):
            _fetch(artifacts, known)
    return known.read_text()


def _complete(known: Path) -> bool:
    return known.is_file() and all(Path(jar).is_file() for jar in known.read_text().split(os.pathsep))


def _fetch(artifacts: tuple[str, ...], known: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable("Maven (mvn) is not installed, and the cache has no Kafka: see tests/brokers/__init__.py")
    pom = known.with_suffix(".pom")
    pom.write_text(_pom(artifacts))
    fresh = known.with_suffix(".new")
    options = [f"-Dmaven.repo.local={cache() / 'repository'}", f"-Dmdep.outputFile={fresh}", "-B", "-q", "-U"]
    for _ in range(ATTEMPTS):
        done = subprocess.run(
            [maven, *options, "-f", str(pom), PLUGIN], capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        if done.returncode == 0:
            fresh.replace(known)
            return
    raise Unavailable(f"Maven could not fetch {', '.join(artifacts)}:\n{done.stdout}{done.stderr}")


def _pom(artifacts: Sequence[str]) -> str:
    dependencies = "\n".join(_dependency(artifact) for artifact in artifacts)
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>kdbg</groupId><artifactId>brokers</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
{dependencies}
</dependencies>
</project>
"""


def _dependency(artifact: str) -> str:
    left_out = "".join(f"<exclusion>{_names(name)}</exclusion>" for name in (*LEFT_OUT, *ABSENT.get(artifact, ())))
    return f"<dependency>{_names(artifact)}<exclusions>{left_out}</exclusions></dependency>"


def _names(artifact: str) -> str:
    tags = ("groupId", "artifactId", "version")
    return "".join(f"<{tag}>{value}</{tag}>" for tag, value in zip(tags, artifact.split(":"), strict=False))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time fetches."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
