"""Recorded lines of every dialect: what they say, and how they find the exchanges that were captured meanwhile."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdbg
from kdbg.analysis.logs.dialect import printed
from kdbg.analysis.logs.lines import DIALECTS, line_facts

from ..cases import for_each
from ..cli.calls import Outcome, call, spawn

RECORDED = Path(__file__).parent / "recorded"
CAPTURE = RECORDED / "clients.pcap"


def log(dialect: str) -> bytes:
    return (RECORDED / f"{dialect}.log").read_bytes()


def joined(text: bytes, tmp_path: Path, capture: Path = CAPTURE) -> tuple[int, int, Outcome]:
    """How many lines found an exchange, of how many, and the call."""
    file = tmp_path / "some.log"
    file.write_bytes(text)
    done = call("decode", capture, "--log", file, "-f", "json")
    counted = re.search(r"(\d+) of (\d+) log lines matched", done.closing)
    assert counted is not None, done.err
    return int(counted[1]), int(counted[2]), done


def test_every_dialect_has_recorded_lines_and_its_row_in_the_manual() -> None:
    page = Path(kdbg.__file__).parent.joinpath("ui", "guide", "logs.md").read_text()
    for name, dialect in DIALECTS.items():
        assert f"| {name} |" in page
        assert dialect.how in page
        assert any(mark.encode() in log(name) for mark in dialect.marks)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_recorded_lines_find_their_exchanges(dialect: str, tmp_path: Path) -> None:
    capture = RECORDED / f"{dialect}.pcap" if (RECORDED / f"{dialect}.pcap").exists() else CAPTURE
    found, lines, done = joined(log(dialect), tmp_path, capture)
    assert found == lines >= 4
    shown = call("decode", capture, "--log", RECORDED / f"{dialect}.log", "-f", "summary").out
    assert len(re.findall(r" log \d+", shown)) == len([one for one in done.lines if "log" in one])
    assert f"log of {dialect}: " in call("decode", capture, "--log", RECORDED / f"{dialect}.log").out


@pytest.mark.parametrize("format", ["tree", "json", "summary", "hex"])
def test_sarama_tells_no_ids_and_none_are_made_up(format: str) -> None:
    everything, orders, *_, coordinator = kdbg.read(RECORDED / "sarama.log")
    for exchange in (everything, orders, coordinator):
        assert "correlation id" not in exchange.text(format)
        assert "2147483648" not in exchange.text(format)
        assert exchange.to_dict()["correlation_id"] is exchange.to_dict()["api_version"] is None
    assert "g5" in coordinator.text(format) or format == "hex"
    assert orders.to_dict()["request"]["body"] == {"topics": [{"name": "orders"}]}
    assert everything.to_dict()["request"]["body"] is None


def test_lines_without_ids_go_to_the_request_that_names_the_same_topics() -> None:
    """Line 2 asks for all topics, lines 6 and 10 for "orders", line 11 for a coordinator, in this order."""
    shown = call("decode", RECORDED / "sarama.pcap", "--log", RECORDED / "sarama.log", "-f", "json").lines
    assert [[line["line"] for line in one.get("log", ())] for one in shown] == [[2], [6], [], [10], [11]]


@pytest.mark.parametrize("hours", [-8, 1, 5.5])
def test_lines_in_another_zone_find_them_too(hours: float, tmp_path: Path) -> None:
    """Python's logging writes local time, and does not say of which zone it is."""
    moved = re.sub(rb"(?m)^2026-11-22 23:(\d\d)", lambda found: local(23 + hours, int(found[1])), log("kafka-python"))
    found, lines, done = joined(moved, tmp_path)
    assert found == lines
    apart = [one["request"]["time_utc"][:16] == line["time_utc"][:16]
             for one in done.lines for line in one.get("log", ()) if line["half"] == "request"]  # fmt: skip
    assert sum(apart) > len(apart) * 0.9  # and are shown in UTC


def local(hour: float, minute: int) -> bytes:
    minutes = round(hour * 60) + minute
    return f"2026-11-{22 + minutes // 1440} {minutes // 60 % 24:02d}:{minutes % 60:02d}".encode()


def test_lines_of_another_hour_or_client_find_nothing(tmp_path: Path) -> None:
    text = log("librdkafka")
    assert joined(re.sub(rb"\|17953(\d+)\.", rb"|17943\1.", text), tmp_path)[0] == 0
    assert joined(text.replace(b"shop#", b"barn#").replace(b"till#", b"barn#"), tmp_path)[0] == 0
    assert joined(re.sub(rb"\(v(\d+)", rb"(v9\1", text), tmp_path)[0] == 0


def test_a_log_without_protocol_lines_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "empty.log"
    file.write_text("nothing\n")
    done = call("decode", CAPTURE, "--log", file)
    assert done.status == 2
    assert "no protocol lines of a client or broker; see kdbg guide logs" in done.err


def test_fields_that_a_log_tells_answer_filters() -> None:
    exchanges = list(kdbg.read(RECORDED / "java.log", error="MEMBER_ID_REQUIRED"))
    assert [one.api.name for one in exchanges if one.api is not None] == ["JoinGroup"]
    (first, *_) = kdbg.read(RECORDED / "broker.log", topic="orders", api="produce")
    assert first.to_dict()["request"]["body"] == {
        "transactional_id": None, "acks": -1, "timeout_ms": 30000,
        "topic_data": [{"name": "orders", "partition_data": [{"index": 1}]}],
    }  # fmt: skip


OLD_BROKERS = {
    "2.4": "[2020-09-09 18:37:12,886] DEBUG Completed request:RequestHeader(apiKey=LIST_OFFSETS, apiVersion=5, "
    "clientId=reader, correlationId=8799) -- {replica_id=-1,isolation_level=0,topics=[{topic=orders,partitions=["
    "{partition=0,current_leader_epoch=0,timestamp=-1}]}]},response:{throttle_time_ms=0,responses=[{topic=orders,"
    "partition_responses=[{partition=0,error_code=6,timestamp=-1,offset=-1,leader_epoch=0}]}]} from connection "
    "10.0.0.2:9092-10.0.0.1:5000-3;totalTime:0.085,requestQueueTime:0.013,localTime:0.033,remoteTime:0.0",
    "1.1": "[2018-03-09 18:37:12,886] TRACE Completed request:{api_key=2,api_version=1,correlation_id=8799,"
    "client_id=reader} -- {replica_id=-1,topics=[{topic=orders,partitions=[{partition=0,timestamp=-1}]}]},response:"
    "{responses=[{topic=orders,partition_responses=[{partition=0,error_code=6,timestamp=-1,offset=-1}]}]} from "
    "connection 10.0.0.2:9092-10.0.0.1:5000;totalTime:3,requestQueueTime:0,localTime:2,remoteTime:0",
}


@pytest.mark.parametrize("release", OLD_BROKERS)
def test_request_logs_of_old_brokers(release: str) -> None:
    (exchange,) = kdbg.read(io.BytesIO(OLD_BROKERS[release].encode()))
    told = exchange.to_dict()
    assert (told["api"], told["correlation_id"], told["client_id"]) == ("ListOffsets", 8799, "reader")
    assert (told["connection"]["client"], told["connection"]["broker"]) == ("10.0.0.1:5000", "10.0.0.2:9092")
    assert told["request"]["body"]["topics"][0]["name"] == "orders"
    assert told["response"]["body"]["topics"][0]["partitions"][0]["error_code"] == 6
    assert told["latency_ms"] == (0.085 if release == "2.4" else 3)


SECRET = (
    "2026-11-22 23:14:52,823 DEBUG <BrokerConnection client_id=a, node_id=0 host=b:1 x> Request 3: "
    "SaslAuthenticateRequest_v0(auth_bytes=b'\\x00user\\x00hunter2')"
)


@pytest.mark.parametrize("format", ["tree", "json", "summary", "hex"])
def test_secrets_in_lines_are_hidden(format: str) -> None:
    (exchange,) = kdbg.read(io.BytesIO(SECRET.encode()))
    assert "hunter2" not in exchange.text(format)
    assert "aHVudGVyMg" not in exchange.text(format)


def test_pasted_lines_are_explained_and_bytes_beside_them_too() -> None:
    lines = b"\n".join(line for line in log("librdkafka").splitlines() if b"CorrId 2" in line)
    done = spawn("explain", stdin=lines)
    assert done.status == 0
    assert "Metadata v13 · correlation id 2" in done.out
    both = spawn("explain", stdin=lines + b"\nbytes: 00000017000300010000000200046b6462670000000100 03666f6f\n").out
    assert "Metadata v13 · correlation id 2" in both
    assert "Metadata request v1 · correlation id 2" in both
    one = json.loads(spawn("explain", "-f", "json", stdin=lines).out.splitlines()[0])
    assert one["log"][0]["dialect"] == "librdkafka"


@for_each(
    ("text", "fields"),
    [
        ("X(a=1, b='it's', c=[1, -2], d=null)", {"a": 1, "b": "it's", "c": [1, -2], "d": None}),
        ("{acks=-1,timeout=5,partitionSizes=[a-b-0=76]}", {"acks": -1, "timeout": 5, "partitionSizes": ["a-b-0=76"]}),
        ("R_v1(x=[(y=True, z=b'\\x00\\'')])", {"x": [{"y": True, "z": b"\x00'"}]}),
        ("X(a=1, b=[Y(c=2), Y(c=", {"a": 1}),
        ("X(a=Buf[pos=0 lim=1], b=2)", {"a": ..., "b": 2}),
        ("nothing", {}),
    ],
)
def test_structures_are_read_as_far_as_they_go(text: str, fields: dict[str, object]) -> None:
    assert printed(text) == fields


LINES = [line for name in DIALECTS for line in log(name).splitlines() if line_facts(line) is not None]


@given(st.sampled_from(LINES), st.data())
def test_broken_lines_raise_nothing(line: bytes, data: st.DataObject) -> None:
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(line))] * 2)))
    for broken in (line[:end], line[start:], line[:start] + data.draw(st.binary(max_size=9)) + line[end:]):
        for exchange in (
            kdbg.read(io.BytesIO(broken)) if line_facts(broken.replace(b"\n", b" ")) and b"\0" not in broken else ()
        ):
            assert exchange.text("json")
            assert exchange.text("tree")
            assert exchange.text("summary")


@pytest.mark.parametrize("start", [b"X(a=", b"X(a=[", b"X(a=Y("])
def test_deep_structures_end(start: bytes) -> None:
    assert printed((start[2:] * 100_000).decode()) is not None
    assert printed(start.decode() + "[" * 1_000_000) == {}
