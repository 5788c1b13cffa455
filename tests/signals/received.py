"""Receivers of OTLP over HTTP: one made of its protobuf classes, and OpenTelemetry's own collector."""

from __future__ import annotations

import base64
import fcntl
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PROGRAM = Path(__file__).parent / "collector" / "main.go"
HOME = Path(tempfile.gettempdir()) / "kdbg-recording-clients" / "go" / "collector"
VERSION = "v0.150.0"
IDS = ("traceId", "spanId", "parentSpanId")
"""OTLP's JSON has these in hexadecimal, protobuf's in base64."""


class Received(NamedTuple):
    """A span, and who made it."""

    resource: dict[str, Any]
    span: dict[str, Any]
    attributes: dict[str, Any]


class Receiver:
    """A receiver at `url`: what came, and what it answers, a status each, then 200."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self.answers: list[int] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.silent = threading.Event()
        """Cleared, nobody answers."""
        self.silent.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.silent.wait(60)
                status = receiver.answers.pop(0) if receiver.answers else 200
                if status == 200:
                    receiver.requests.append(ExportTraceServiceRequest.FromString(data))
                    receiver.headers.append(dict(self.headers.items()))
                    receiver.paths.append(self.path)
                self.send_response(status)
                self.end_headers()

            def log_message(self, format: str, *given: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.silent.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


@pytest.fixture(scope="session")
def collector() -> Path:
    """The collector's receiver and reader, built by Go; skip where that cannot be."""
    if shutil.which("go") is None:
        pytest.skip("Go is not installed: the collector is built by it")
    HOME.mkdir(parents=True, exist_ok=True)
    program = HOME / f"collector-{VERSION}"
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            shutil.copy(PROGRAM, HOME / "main.go")
            (HOME / "go.mod").unlink(missing_ok=True)
            (HOME / "go.sum").unlink(missing_ok=True)
            parts = [f"go.opentelemetry.io/collector/{part}@{VERSION}"
                     for part in ("receiver/otlpreceiver", "component/componenttest")]  # fmt: skip
            for words in (["mod", "init", "collector"], ["get", *parts], ["build", "-o", str(program), "."]):
                done = subprocess.run(["go", *words], cwd=HOME, capture_output=True, check=False)
                if done.returncode:
                    pytest.skip(f"the collector cannot be had: {done.stderr.decode()[-200:]}")
    return program


@contextmanager
def collecting(program: Path, port: int, out: Path) -> Iterator[str]:
    """Run the collector's receiver; yield its URL. What it takes it writes as lines."""
    with out.open("wb") as file:
        running = subprocess.Popen(
            [program, "receive", f"127.0.0.1:{port}"], stdin=subprocess.PIPE, stdout=file, stderr=subprocess.PIPE
        )
        assert running.stderr is not None
        try:
            assert running.stderr.readline() == b"listening\n"
            yield f"http://127.0.0.1:{port}"
        finally:
            running.communicate(b"\n", timeout=60)


def request_of(line: dict[str, Any]) -> ExportTraceServiceRequest:
    """A line of OTLP's JSON as protobuf; a field that there is not raises."""
    return ParseDict(in_base64(line), ExportTraceServiceRequest())


def in_base64(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: base64.b64encode(bytes.fromhex(item)).decode() if key in IDS else in_base64(item)
            for key, item in value.items()
        }
    return [in_base64(item) for item in value] if isinstance(value, list) else value


def spans_in(text: str) -> list[Received]:
    """The spans in lines of OTLP's JSON."""
    return [
        Received(plain(resource["resource"]["attributes"]), span, plain(span.get("attributes", [])))
        for line in text.splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def plain(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    return {each["key"]: value_of(each["value"]) for each in attributes}


def value_of(value: dict[str, Any]) -> Any:
    ((kind, said),) = value.items()
    if kind == "arrayValue":
        return [value_of(each) for each in said["values"]]
    return int(said) if kind == "intValue" else said
