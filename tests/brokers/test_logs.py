"""Logs of real clients and of a real broker, and the capture that is taken at the same time."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kdbg
from kdbg.analysis.logs.lines import DIALECTS

from ..cli.calls import spawn
from ..recording.tcpdump import recording
from .broker import Broker
from .loggers import CLIENTS, request_log

SPEAKING = {  # what each line on a message has, however it is read here
    "librdkafka": r": (?:Sent|Received) \w+ \(v\d+, \d+ bytes",
    "kafka-python": r"<KafkaConnection [^>]*<[^>]*>:? (?:Request|Response) \d+",
    "kafkajs": r'"message":"\[Connection\] (?:Request|Response) ',
    "java": r"(?:Sending|Received) [A-Z_]+ (?:request|response) .*header RequestHeader\(",
}


@pytest.fixture(scope="module")
def logged(brokers: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `clients.pcap`, and for each dialect with `NAME.log`."""
    if shutil.which("tcpdump") is None:
        pytest.skip("tcpdump is not installed")
    folder = tmp_path_factory.mktemp("logs")
    broker: Broker = brokers.cluster("4").brokers[0]
    if "orders" not in broker.topics():
        broker.create_topic("orders", 2)
    with recording(folder / "clients.pcap", [broker.port]):
        before = len(broker.log_text())
        with request_log(broker):
            for name, run in CLIENTS.items():
                home = folder / name
                home.mkdir()
                (folder / f"{name}.log").write_text(run(broker, home))
        lines = broker.log_text()[before:].splitlines()
    own = [line for line in lines if "Completed request:" not in line or f":{broker.port}-" in line]
    (folder / "broker.log").write_text("\n".join(own))
    return folder


@pytest.mark.parametrize("dialect", CLIENTS)
def test_every_line_of_a_client_is_read(logged: Path, dialect: str) -> None:
    text = (logged / f"{dialect}.log").read_text()
    speaking = len(re.findall(SPEAKING[dialect], text))
    exchanges = list(kdbg.read(io.BytesIO(text.encode())))
    assert speaking > 25
    assert sum(len(one.lines) for one in exchanges) == speaking
    assert {line.dialect for one in exchanges for line in one.lines} == {dialect}
    assert {"Produce", "Fetch", "JoinGroup", "Metadata"} <= {one.api.name for one in exchanges if one.api is not None}


def test_every_line_of_a_broker_is_an_exchange(logged: Path) -> None:
    text = (logged / "broker.log").read_text()
    assert len(list(kdbg.read(io.BytesIO(text.encode())))) == text.count("Completed request:{") > 100


@pytest.mark.parametrize("dialect", DIALECTS)
def test_lines_find_their_exchanges_in_the_capture(logged: Path, dialect: str) -> None:
    if not (logged / f"{dialect}.log").exists():
        pytest.skip(f"nothing here writes the log of {dialect}")
    done = spawn("decode", logged / "clients.pcap", "--log", logged / f"{dialect}.log", "-f", "json")
    counted = re.search(r"([\d,]+) of ([\d,]+) log lines matched", done.closing)
    assert counted is not None, done.err
    joined, lines = (int(number.replace(",", "")) for number in counted.groups())
    assert lines > 25
    assert joined >= 0.99 * lines
    shown = [one for one in done.lines if "log" in one]
    assert sum(len(one["log"]) for one in shown) == joined


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_log_tells_is_what_the_capture_has(logged: Path, dialect: str) -> None:
    """Line by line: the exchange that a line was joined to says the same as the one that is read from the log alone."""
    if not (logged / f"{dialect}.log").exists():
        pytest.skip(f"nothing here writes the log of {dialect}")
    log = logged / f"{dialect}.log"
    both = spawn("decode", logged / "clients.pcap", "--log", log, "-f", "json").lines
    captured = {line["line"]: one for one in both for line in one.get("log", ())}
    compared = 0
    for told in spawn("decode", log, "-f", "json").lines:
        real = captured.get(told["log"][0]["line"])
        if real is None:
            continue
        cut = {one["side"] for one in real["findings"] if one["kind"] == "truncated"}  # a client that left half way
        for half in {"request", "response"} - cut:
            if told[half] is not None and real[half] is not None and told["api_version"] is not None:
                assert told[half]["size"] in (None, real[half]["size"])
                compared += agrees(told[half]["body"] or {}, real[half]["body"], (told["api"], half))
    assert compared > 100 or dialect == "librdkafka", "whose lines have no fields"


DEFAULTS = (None, False, 0, -1, 2**63 - 1, "", [], str(UUID(int=0)))
"""What programs print for tagged fields that are not on the wire."""


def is_default(value: Any) -> bool:
    return all(map(is_default, value.values())) if isinstance(value, dict) else value in DEFAULTS


def agrees(told: Any, real: Any, where: tuple[Any, ...]) -> int:
    """Assert that all that is told stands in a body; return how many plain values that are."""
    if isinstance(told, dict) and isinstance(real, dict):
        there = {key: value for key, value in told.items() if key in real or not is_default(value)}
        return sum(agrees(value, real.get(key), (*where, key)) for key, value in there.items())
    if isinstance(told, list) and isinstance(real, list):
        assert len(told) == len(real), where
        return sum(
            agrees(one, other, (*where, place)) for place, (one, other) in enumerate(zip(told, real, strict=True))
        )
    assert json.dumps(told) == json.dumps(real), where
    return 1
