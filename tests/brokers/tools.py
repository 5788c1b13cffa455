"""Kafka's own command-line tools, those of the broker's release: TopicCommand, DumpLogSegments, ConsoleConsumer..."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

from .classpath import classpath
from .java import QUICK, java
from .releases import Release
from .settings import logging_options

HEAP = "-Xmx128m"
TIMEOUT = 90.0
FORMAT = "kafka.tools.StorageTool"  # the data's format must be the broker's own; it comes in the broker's jar


class ToolFailed(RuntimeError):
    """A tool ended with another exit status than 0; the message holds all that it said."""


def run_tool(
    release: Release, folder: Path, tool: str, *arguments: str, stdin: str = "", timeout: float = TIMEOUT
) -> str:
    """What a tool prints; it is named by its class, in full or without the package."""
    jars = classpath(release.broker_artifacts if tool == FORMAT else release.tool_artifacts)
    name = tool if "." in tool else in_full(tool, jars)
    options = [*QUICK, HEAP, *logging_options(folder, release, "WARN")]
    done = subprocess.run(
        [java(), *options, "-cp", jars, name, *arguments],
        input=stdin,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        raise ToolFailed(f"{name} {' '.join(arguments)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def in_full(tool: str, jars: str) -> str:
    """From release to release more of them move from kafka.tools and kafka.admin to org.apache.kafka.tools."""
    kafka = [Path(jar) for jar in jars.split(os.pathsep) if Path(jar).name.startswith("kafka")]
    classes = [entry for jar in kafka for entry in _entries(jar) if entry.endswith(f"/{tool}.class")]
    if not classes:
        raise LookupError(f"no tool {tool} in {', '.join(jar.name for jar in kafka)}")
    newest = min(classes, key=lambda entry: not entry.startswith("org/"))
    return newest.removesuffix(".class").replace("/", ".")


def _entries(jar: Path) -> list[str]:
    with zipfile.ZipFile(jar) as archive:
        return archive.namelist()
