"""Client libraries of other languages and authors, each running the same session: clients/everything.{py,js,go}."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from .classpath import cache

CLIENTS = Path(__file__).parent / "clients"
PYTHON: Final = {"confluent-kafka": "confluent_kafka", "kafka-python": "kafka", "aiokafka": "aiokafka"}
GO: Final = ("franz-go", "sarama")
KAFKAJS = "kafkajs@2.2.4"
MODULES: Final = (
    "github.com/twmb/franz-go@v1.22.2", "github.com/twmb/franz-go/pkg/kadm@v1.19.0", "github.com/IBM/sarama@v1.61.1",
)  # fmt: skip
ALL: Final = (*PYTHON, "kafkajs", *GO)
TIMEOUT, INSTALLING = 90, 600


def session(name: str, address: str, topic: str, group: str, wanted: int) -> dict[str, Any]:
    """What a client got in a session: the values that it consumed, the topics and groups it was told, its commits."""
    command = [*_command(name), address, topic, group, str(wanted)]
    environment = os.environ | {"NODE_PATH": str(_home() / "node_modules"), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False, env=environment)
    assert done.returncode == 0, f"{name}: {done.stderr[-2000:]}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _command(name: str) -> list[str]:
    """What runs a client; the test is skipped where it cannot be had."""
    if name in PYTHON:
        if importlib.util.find_spec(PYTHON[name]) is None:
            pytest.skip(f"{name} is not installed")
        return [sys.executable, "-W", "ignore", str(CLIENTS / "everything.py"), name]
    tools = ("node", "npm") if name == "kafkajs" else ("go",)
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        pytest.skip(f"{name} needs {' and '.join(missing)}")
    _home().mkdir(parents=True, exist_ok=True)
    with (_home() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return _kafkajs() if name == "kafkajs" else [str(_go()), name]
        except subprocess.SubprocessError as error:
            pytest.skip(f"{name} cannot be installed: {error}")


def _home() -> Path:
    return cache().parent / "clients"


def _kafkajs() -> list[str]:
    if not (_home() / "node_modules" / "kafkajs").is_dir():
        _run("npm", "install", "--silent", "--prefix", str(_home()), KAFKAJS)
    return ["node", str(CLIENTS / "everything.js")]


def _go() -> Path:
    source = (CLIENTS / "everything.go").read_bytes()
    built = _home() / f"everything-{hashlib.sha256(source + ' '.join(MODULES).encode()).hexdigest()[:12]}"
    if not built.exists():
        folder = _home() / "go"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copy(CLIENTS / "everything.go", folder)
        _run("go", "mod", "init", "everything", folder=folder)
        _run("go", "get", *MODULES, folder=folder)
        _run("go", "mod", "tidy", folder=folder)
        _run("go", "build", "-o", str(built), ".", folder=folder)
    return built


def _run(*command: str, folder: Path | None = None) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=INSTALLING)
