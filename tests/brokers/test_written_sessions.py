"""What `--write` saved of a session with a real broker: kdbg and tshark read the same exchanges in it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ..cases import by_day
from .broker import Broker
from .pool import Pool
from .releases import release
from .security import PASSWORD, USER, Security
from .sending import Outcome, kdbg, send

WHOLE = ("metadata", "list-offsets")
"""What tshark 4.0 takes apart to the last byte, if the broker is old: timestamps of messages (v1) it misreads, and of
today's versions it knows the headers alone."""
FIELDS = ("kafka.api_key", "kafka.api_version", "kafka.correlation_id", "kafka.len", "kafka.request_frame")
tshark = shutil.which("tshark")


def said(outcome: Outcome) -> list[tuple[Any, ...]]:
    """What was said in each exchange, and by whom: all but the times, which a capture takes elsewhere."""
    found = []
    for line in outcome.lines:
        halves = [(half or {}).get("body") for half in (line["request"], line["response"])]
        sizes = [(half or {}).get("size") for half in (line["request"], line["response"])]
        ends = line["connection"]["client"], line["correlation_id"], line["connection"]["broker"]
        found.append((*ends, line["api"], line["api_version"], line["client_id"], sizes, halves))
    return sorted(found, key=lambda one: one[:2])  # one that stays without an answer is shown last by decode


def written(broker: Broker | str, path: Path, *arguments: object, **environment: str) -> Outcome:
    """A session that was shown whole and saved."""
    outcome = send(broker, *arguments, "--write", path, "--show-exchanges", "-f", "json", **environment)
    assert outcome.status == 0, outcome.err
    return outcome


def fill(broker: Broker, topic: str) -> None:
    outcome = send(broker, "produce", "--topic", topic, "--key", "k", "--value", "v", "--compression", "lz4")
    assert outcome.status == 0, outcome.err


REQUESTS: dict[str, tuple[object, ...]] = {
    "metadata": (),
    "produce": ("--key", "k", "--value", "v", "--value", "w"),
    "fetch": ("--offset", "earliest"),
    "list-offsets": ("--time", "latest"),
}


@pytest.mark.parametrize("api", REQUESTS)
def test_decode_reads_the_same_exchanges(broker: Broker, tmp_path: Path, api: str) -> None:
    fill(broker, "written")
    path = tmp_path / "session.pcap"
    shown = written(broker, path, api, "--topic", "written", *REQUESTS[api])
    decoded = kdbg("decode", path, "-f", "json")
    assert said(decoded) == said(shown)
    assert decoded.status == 0


def test_many_requests_in_flight_are_saved_too(broker_4: Broker, tmp_path: Path) -> None:
    path = tmp_path / "session.pcap"
    options = ("--topic", "written", "--repeat", 50, "--in-flight", 10, "--write", path)
    assert send(broker_4, "metadata", *options).status == 0
    decoded = kdbg("decode", path, "-f", "json", "--api", "metadata")
    assert [line["response"] is not None for line in decoded.lines] == [True] * 50
    assert " 0 missing responses" in decoded.closing


def test_a_session_inside_tls_is_saved_in_the_clear(brokers: Pool, tmp_path: Path) -> None:
    cluster = brokers.cluster("3.9", secure=True)
    security = cluster.security
    assert isinstance(security, Security)
    path = tmp_path / "session.pcap"
    options = ("--ca", security.authority, "--sasl-mechanism", "SCRAM-SHA-256", "--sasl-username", USER)
    where = cluster.brokers[0].listener("SASL_SSL")
    shown = written(where, path, "metadata", "--topic", "written", *options, KDBG_SASL_PASSWORD=PASSWORD)
    decoded = kdbg("decode", path, "-f", "json")
    assert said(decoded) == said(shown)
    apis = [line["api"] for line in decoded.lines]
    assert apis == ["ApiVersions", "SaslHandshake", "SaslAuthenticate", "SaslAuthenticate", "Metadata"]


@pytest.mark.skipif(tshark is None, reason="tshark is not installed")
@pytest.mark.parametrize(
    "broker", by_day([release("4"), release("0.10")], 2), indirect=True, ids=lambda kafka: f"kafka-{kafka.version}"
)
@pytest.mark.parametrize("api", REQUESTS)
def test_tshark_reads_the_same_exchanges(broker: Broker, tmp_path: Path, api: str) -> None:
    fill(broker, "written")
    path = tmp_path / "session.pcap"
    shown = written(broker, path, api, "--topic", "written", *REQUESTS[api])
    requests, answers = dissected(path, broker.port)
    assert [row[:4] for row in requests] == [
        (line["api_key"], line["api_version"], line["correlation_id"], line["request"]["size"] - 4)
        for line in shown.lines
    ]
    assert [row[2:4] for row in answers] == [
        (line["correlation_id"], line["response"]["size"] - 4) for line in shown.lines
    ]
    if broker.release.number < (1,) and api in WHOLE:
        assert [row[4] for row in answers] == [row[5] for row in requests]
        refusal = answers[0][5]  # of ApiVersions v3, in version 0 (KIP-511), which tshark does not know
        assert run_tshark(path, broker.port, "-Y", f"_ws.malformed && frame.number != {refusal}") == []


Row = tuple[int, ...]


def dissected(path: Path, port: int) -> tuple[list[Row], list[Row]]:
    """tshark's requests and answers: API, version, correlation id, length, the request's frame, the frame's own."""
    fields = [word for field in (*FIELDS, "frame.number") for word in ("-e", field)]
    lines = run_tshark(path, port, "-Y", "kafka", "-T", "fields", *fields, "-e", "tcp.dstport")
    rows = [tuple(int(cell or -1) for cell in line.split("\t")) for line in lines]
    return [row[:-1] for row in rows if row[-1] == port], [row[:-1] for row in rows if row[-1] != port]


def run_tshark(path: Path, port: int, *options: str) -> list[str]:
    assert tshark is not None
    command = [tshark, "-r", str(path), "-d", f"tcp.port=={port},kafka", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
