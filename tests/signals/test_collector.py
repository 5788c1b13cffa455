"""Spans sent over HTTP: a receiver of OTLP's protobuf, and OpenTelemetry's own collector, get what files hold."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.errors import CannotConnect, InputError, WrongAnswer
from kdbg.scale.signals import sinks
from kdbg.scale.signals.attributes import Event, Link, Span, SpanSide
from kdbg.scale.signals.collector import Collector, address
from kdbg.scale.signals.sinks import Behind

from ..cases import by_day, for_each
from ..cli.calls import CAPTURES, SHIPPED, Outcome, call, spawn
from .received import Receiver, collecting, request_of
from .test_spans import CONTEXT, TRACE, carrying, produced

Cli = Callable[..., Outcome]
ERRORS, FIRST = CAPTURES / "errors.pcap", CAPTURES / "first-contact.pcap"
LINK = Link(b"l" * 16, b"k" * 8)
SPAN = Span(b"t" * 16, b"s" * 8, b"", "one", SpanSide.CLIENT, 1, 2, {"a": "b"}, (Event("e", 1),), (LINK,))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


@pytest.mark.parametrize("path", by_day(SHIPPED, 4), ids=lambda path: path.name)
def test_a_receiver_gets_what_a_file_holds(cli: Cli, receiver: Receiver, path: Path, tmp_path: Path) -> None:
    """Once made by the SDK, once as lines of JSON: the same, byte for byte."""
    sent = cli("export", path, "--otlp", receiver.url)
    written = cli("export", path, "--otlp", tmp_path / "spans.jsonl")
    assert sent.status == written.status in (0, 1)
    lines = [json.loads(line) for line in (tmp_path / "spans.jsonl").read_text().splitlines()]
    assert receiver.requests == [request_of(line) for line in lines]
    count = sum(len(line["resourceSpans"][0]["scopeSpans"][0]["spans"]) for line in lines)
    assert f"kdbg: {count:,} span" in sent.err
    assert set(receiver.paths) == {"/v1/traces"}


@pytest.mark.nightly  # builds the collector; by day the receiver above reads the same bytes
def test_the_collector_gets_and_reads_what_a_file_holds(
    collector: Path, write: Callable[..., Path], tmp_path: Path
) -> None:
    linked = write(produced([carrying(CONTEXT)]))
    files = ERRORS, CAPTURES / "transactions.pcap", linked
    written, received = tmp_path / "spans.jsonl", tmp_path / "received.jsonl"
    with collecting(collector, free_port(), received) as url:
        sent = call("export", *files, "--otlp", url)
        assert sent.status in (0, 1), sent.err
    assert call("export", *files, "--otlp", written).status == sent.status
    read = subprocess.run([collector, "read", written], capture_output=True, check=True)
    assert read.stdout.count(b"\n") == len(files)
    assert TRACE.encode() in read.stdout
    assert received.read_bytes() == read.stdout


def test_what_the_sdk_is_told_by_variables_is_heard(receiver: Receiver) -> None:
    told = {"OTEL_SERVICE_NAME": "night shift", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=abc"}
    assert spawn("export", ERRORS, "--otlp", f"{receiver.url}/elsewhere", **told).status == 1
    (resource,) = {one.resource_spans[0].resource.SerializeToString() for one in receiver.requests}
    assert b"night shift" in resource
    assert {one["x-key"] for one in receiver.headers} == {"abc"}
    assert set(receiver.paths) == {"/elsewhere"}


def test_a_dead_collector_is_one_line(cli: Cli) -> None:
    outcome = cli("export", FIRST, "--otlp", f"http://127.0.0.1:{free_port()}")
    assert outcome.status == 2
    (line,) = outcome.err.splitlines()
    assert "cannot be reached (Connection refused); check that a collector listens there" in line


@pytest.mark.parametrize("status", [400, 404])
def test_a_refusal_is_one_line(cli: Cli, receiver: Receiver, status: int) -> None:
    receiver.answers = [status]
    outcome = cli("export", FIRST, "--otlp", receiver.url)
    assert (outcome.status, len(outcome.err.splitlines())) == (2, 1)
    assert f"/v1/traces: responded with {status} " in outcome.err


def test_who_is_busy_is_asked_again(receiver: Receiver) -> None:
    receiver.answers = [503]
    sender = Collector(receiver.url, {"service.name": "kdbg"})
    sender.take([SPAN])
    sender.close()
    assert [len(one.resource_spans) for one in receiver.requests] == [1]


def test_what_went_wrong_is_an_error_of_kdbgs(receiver: Receiver) -> None:
    receiver.answers = [400]
    sender = Collector(receiver.url, {})
    with pytest.raises(WrongAnswer, match="responded with 400 Bad Request"):
        sender.take([SPAN])
    sender.close()
    nobody = Collector(f"http://127.0.0.1:{free_port()}", {})
    with pytest.raises(CannotConnect, match="refused"):
        nobody.take([SPAN])
    nobody.close()


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
        ("https://otel.example/api/otlp", "https://otel.example/api/otlp"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
    ],
)
def test_addresses(url: str, wanted: str) -> None:
    assert address(url) == wanted


@for_each("url", ["ftp://x", "http://", "http://x:port", "http://x:99999", "grpc://x:4317", "http://[::", "http://x:0"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(InputError, match="not the address of a collector"):
        address(url)


class TestBehind:
    """What live commands send through: whoever gives it spans never waits."""

    def test_all_that_came_is_sent_in_the_end(self, receiver: Receiver) -> None:
        said: list[str] = []
        behind = Behind(Collector(receiver.url, {}), said.append)
        for _ in range(10):
            behind.take([SPAN, SPAN])
        behind.close()
        assert (behind.sent, behind.lost, said) == (20, 0, [])
        assert len(receiver.requests) == 10

    def test_what_a_collector_does_not_take_is_lost_and_counted(
        self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It hangs: as much waits as may, and no more."""
        monkeypatch.setattr(sinks, "PATIENCE", 0.1)
        receiver.silent.clear()
        behind = Behind(Collector(receiver.url, {}), lambda text: None)
        for _ in range(sinks.WAITING + 20):
            behind.take([SPAN])
        assert behind.lost >= 19, "one may be on its way"
        behind.close()
        assert behind.lost >= sinks.WAITING + 19
        assert behind.sent == 0

    def test_that_spans_are_lost_is_said_once_and_that_they_are_taken_again(self, receiver: Receiver) -> None:
        said: list[str] = []
        heard = threading.Event()

        def hear(text: str) -> None:
            said.append(text)
            heard.set()

        receiver.answers = [400, 400]
        behind = Behind(Collector(receiver.url, {}), hear)
        for _ in range(5):
            behind.take([SPAN])
        behind.close()
        assert heard.is_set()
        assert (behind.sent, behind.lost) == (3, 2)
        assert [line.split(":")[0] for line in said] == ["spans are dropped", "http"]
        assert said[1].endswith("accepts spans again")


def test_without_the_sdk_a_line_says_what_to_install() -> None:
    program = """if True:
        import sys
        sys.modules["opentelemetry"] = None
        from kdbg.ui.cli import run
        sys.exit(run(sys.argv[1:]))
    """
    command = [sys.executable, "-c", program, "export", str(ERRORS), "--otlp"]
    done = subprocess.run([*command, "http://127.0.0.1:1"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "kdbg: --otlp: sending spans needs OpenTelemetry's SDK; pip install 'kdbg-kafka[otlp]' (in a checkout: "
        "pip install '.[otlp]')\n"
    )
    assert subprocess.run([*command, "-"], capture_output=True, check=False).returncode == 1, "files need none"
