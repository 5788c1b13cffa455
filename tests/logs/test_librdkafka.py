"""librdkafka's own lines, of clients that are started here: each line is found, and says what the line says."""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys

import pytest

import kdbg
from kdbg.analysis.logs.lines import DIALECTS

from ..cases import for_each

pytest.importorskip("confluent_kafka")

CLIENT = """if True:
    from confluent_kafka import Producer
    producer = Producer({"test.mock.num.brokers": 1, "debug": "all", "client.id": "shop", "bootstrap.servers": "mock"})
    for number in range(5):
        producer.produce("orders", b"value")
        producer.flush(10)
"""
SENT = re.compile(r"Sent (\w+)Request \(v(\d+), (\d+) bytes @ 0, CorrId (\d+)\)")


@pytest.fixture(scope="module")
def stderr() -> bytes:
    """What a client writes to stderr with all of librdkafka's debug contexts: most lines are no protocol lines."""
    return subprocess.run([sys.executable, "-c", CLIENT], stderr=subprocess.PIPE, timeout=60, check=True).stderr


def test_every_exchange_of_a_running_client_is_told(stderr: bytes) -> None:
    exchanges = list(kdbg.read(io.BytesIO(stderr)))
    sent = [(name, int(version), int(size), int(correlation_id))
            for name, version, size, correlation_id in SENT.findall(stderr.decode())]  # fmt: skip
    assert len(sent) >= 9
    told = {(one.api.name, one.version, one.request.size, one.correlation_id)
            for one in exchanges if one.api is not None and one.request is not None}  # fmt: skip
    assert told == {({"ApiVersion": "ApiVersions"}.get(name, name), *rest) for name, *rest in sent}
    assert {one.client_id for one in exchanges} == {"shop"}
    assert all(one.response is not None and one.latency is not None for one in exchanges)
    assert all(one.peers.broker[0] == "127.0.0.1" and one.peers.client == ("", 0) for one in exchanges)


def test_latency_is_the_rtt_that_the_line_tells(stderr: bytes) -> None:
    told = sorted(one.latency_ms for one in kdbg.read(io.BytesIO(stderr)) if one.latency_ms is not None)
    assert told == sorted(float(rtt) for rtt in re.findall(r", rtt ([\d.]+)ms\)", stderr.decode()))


def test_lines_of_pythons_logging_have_no_zone_but_a_time(caplog: pytest.LogCaptureFixture) -> None:
    from confluent_kafka import Producer

    text, logger = io.StringIO(), logging.getLogger("shop")
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    settings = {"test.mock.num.brokers": 1, "debug": "protocol", "client.id": "a b", "bootstrap.servers": "mock"}
    producer = Producer(settings, logger=logger)
    producer.produce("orders", b"value")
    producer.flush(10)
    logger.removeHandler(handler)
    exchanges = list(kdbg.read(io.BytesIO(text.getvalue().encode())))
    assert len(exchanges) == text.getvalue().count(": Sent ") >= 4
    assert {one.client_id for one in exchanges} == {"a b"}
    first = re.search(r"([\d-]{10}) ([\d:]{8}),\d+ DEBUG SEND", text.getvalue())
    shown = json.loads(exchanges[0].text("json"))
    assert first is not None
    assert shown["request"]["time_utc"].startswith(f"{first[1]}T{first[2]}.")


LINE = "x: Sent MetadataRequest (v12, 52 bytes @ 0, CorrId 3)"


def test_what_a_line_leaves_open_stays_open() -> None:
    said = DIALECTS["librdkafka"].read(LINE)
    assert said is not None
    assert (said.client_id, said.client, said.broker, said.latency, said.time) == (None, ("", 0), ("", 0), None, -1)
    assert (said.api.name, said.version, said.correlation_id, said.sizes) == ("Metadata", 12, 3, (52, None))


@for_each(
    "line",
    [
        "", "CorrId 3", LINE.replace("Metadata", "Nonsense"), LINE.replace("v12", "v"), LINE.replace("Sent", "Held"),
        LINE.replace("52", "many"),
    ],
)  # fmt: skip
def test_what_is_no_protocol_line_says_nothing(line: str) -> None:
    assert DIALECTS["librdkafka"].read(line) is None


@pytest.mark.parametrize("format", ["summary", "tree", "hex", "json"])
def test_every_view_shows_an_exchange_of_which_little_is_told(format: str) -> None:
    (exchange,) = kdbg.read(io.BytesIO(LINE.encode()))
    shown = exchange.text(format)
    assert "Metadata" in shown
    assert "1970" not in shown
    assert "1969" not in shown
    if format == "json":
        told = json.loads(shown)
        assert told["connection"] == {"client": None, "broker": None, "id": 1}
        assert (told["response"], told["request"]["time_utc"], told["request"]["body"]) == (None, None, None)
        assert (told["request"]["size"], told["api_version"], told["client_id"]) == (52, 12, None)
        assert told["log"] == [{"dialect": "librdkafka", "line": 1, "half": "request", "time_utc": None}]
