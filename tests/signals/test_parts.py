"""Spans and metrics without a network: what is counted, what waits, what is lost, at both sides of each bound."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest
import requests

from kdbg import __version__
from kdbg.errors import CannotConnect, InputError, WrongAnswer
from kdbg.exchanges.messages.capture_points import Split, Timing
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.protocol.findings import Finding, Severity
from kdbg.protocol.findings import Kind as Kinds
from kdbg.protocol.grammars import sasl
from kdbg.protocol.wire.readings.outline import NamesThen
from kdbg.scale.signals import metrics as module
from kdbg.scale.signals import sinks as sending
from kdbg.scale.signals.attributes import Event, Link, Span, SpanSide, moment
from kdbg.scale.signals.collector import Asking, Collector, Nobody, reason
from kdbg.scale.signals.metrics import BUCKETS, Metrics, Spread, Totals, check, serve, text
from kdbg.scale.signals.sinks import Behind, FileSink, Spans, line

from ..live.test_replaying import OLD, exchange, heartbeat
from .received import Receiver, request_of

SPAN = Span(b"t" * 16, b"s" * 8, b"", "one", SpanSide.CLIENT, 1, 2, {"a": "b"})
LINK = Link(b"m" * 16, b"n" * 8)
SECOND = 1_000_000_000


# Asking a collector


def test_what_came_of_asking_is_remembered_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whom nobody has answered yet is told by another error, which the SDK does not try again after."""
    then: list[Any] = []

    def request(self: Any, *given: Any, **named: Any) -> Any:
        found = then.pop(0)
        if isinstance(found, Exception):
            raise found
        response = requests.Response()
        response.status_code, response.reason = found
        return response

    monkeypatch.setattr(requests.Session, "request", request)
    asking = Asking()
    assert (asking.answer, asking.problem) == ("", "")
    refused = requests.ConnectionError(OSError(111, "Connection refused"))
    expected: list[tuple[Any, str, str]] = [
        (refused, "", "Connection refused"), ((200, "OK"), "200 OK", ""), ((503, None), "503", ""),
        (requests.Timeout("late"), "", ""),
    ]  # fmt: skip
    for number, (what, answer, problem) in enumerate(expected):
        then.append(what)
        if isinstance(what, Exception):
            with pytest.raises(type(what) if number else Nobody):
                asking.request("POST", "http://x")
        else:
            assert asking.request("POST", "http://x").status_code == what[0]
        assert (asking.answer, asking.problem) == (answer, problem)
    asking.answer = asking.problem = "old"
    asking.forget()
    assert (asking.answer, asking.problem) == ("", "")


def test_the_reason_is_what_the_system_said() -> None:
    wrapped, caused = ValueError(OSError(2, "No such file")), ValueError("x")
    caused.__cause__ = OSError(5, "Input/output error")
    while_handling = ValueError("y")
    while_handling.__context__ = caused
    found = [reason(one) for one in (OSError(1, "No"), OSError("x"), wrapped, caused, while_handling, ValueError())]
    assert found == ["No", "", "No such file", "Input/output error", "Input/output error", ""]


def test_a_collector_gets_spans_as_a_file_has_them(receiver: Receiver) -> None:
    link = Link(b"l" * 16, b"k" * 8, remote=False, attributes={"own": True})
    child = Span(b"t" * 16, b"c" * 8, b"s" * 8, "two", SpanSide.INTERNAL, 3, 4, {"n": 1, "list": ("x", "y"), "f": 0.5},
                 (Event("e", 3, {"at": "all"}), Event("f", 4)), (link, LINK), "went wrong")  # fmt: skip
    sender = Collector(receiver.url, {"service.name": "kdbg"})
    sender.take([SPAN, child])
    assert receiver.requests == [request_of(json.loads(line([SPAN, child], {"service.name": "kdbg"})))]
    assert (sender.sent, sender.lost, sender.target) == (2, 0, f"{receiver.url}/v1/traces")
    receiver.answers = [400]
    with pytest.raises(WrongAnswer) as refused:
        sender.take([SPAN])
    assert str(refused.value) == f"{receiver.url}/v1/traces: responded with 400 Bad Request"
    sender.close()
    with pytest.raises(CannotConnect) as closed:
        sender.take([SPAN])
    assert str(closed.value).endswith(
        "cannot be reached; check that a collector listens there (OTLP over HTTP: port 4318)"
    )


def test_what_the_sdk_does_not_take_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some versions of it raise over a variable, or a certificate that it names; others log a warning."""

    def fail(**given: Any) -> Any:
        raise OSError(f"no certificate for {given['endpoint']}")

    monkeypatch.setattr("opentelemetry.exporter.otlp.proto.http.trace_exporter.OTLPSpanExporter", fail)
    with pytest.raises(InputError) as caught:
        Collector("http://x:1/y", {})
    assert str(caught.value) == "http://x:1/y: no certificate for http://x:1/y"


# Where spans go


class Slow:
    """A collector that takes its time: `began` is set once it has something, and `go` lets it end."""

    target = "http://there"

    def __init__(self) -> None:
        self.began, self.go, self.closed = threading.Semaphore(0), threading.Event(), 0
        self.sent: list[int] = []
        self.fails = False

    def take(self, spans: Any) -> None:
        self.began.release()
        assert self.go.wait(20)
        if self.fails:
            raise CannotConnect(self.target, "cannot be reached")
        self.sent.append(len(spans))

    def close(self) -> None:
        self.closed += 1
        self.go.set()


def test_64_batches_wait_and_more_are_lost() -> None:
    slow = Slow()
    behind = Behind(cast(Collector, slow), lambda text: None)
    behind.take([SPAN] * 3)
    assert slow.began.acquire(timeout=20)
    for _ in range(64):
        behind.take([SPAN])
    assert behind.lost == 0
    behind.take([SPAN, SPAN])
    assert behind.lost == 2
    slow.go.set()
    behind.close()
    assert (behind.sent, behind.lost, slow.sent, slow.closed) == (67, 2, [3] + [1] * 64, 1)
    assert behind.target == "http://there"


def test_what_a_collector_has_not_taken_in_the_end_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdbg.scale.signals.sinks.PATIENCE", 0.01)
    slow, said = Slow(), list[str]()
    slow.close = lambda: None  # type: ignore[method-assign]  # not even then
    behind = Behind(cast(Collector, slow), said.append)
    for count in (1, 2, 3):
        behind.take([SPAN] * count)
    assert slow.began.acquire(timeout=20)
    behind.close()
    assert (behind.sent, behind.lost, said) == (0, 5, [])
    slow.go.set()


def test_that_spans_are_lost_is_told_when_it_begins_and_when_it_ends() -> None:
    slow, said = Slow(), list[str]()
    behind = Behind(cast(Collector, slow), said.append)
    for fails in (True, True, False, False, True):
        slow.fails = fails
        behind.take([SPAN, SPAN])
        assert slow.began.acquire(timeout=20)
        slow.go.set()
        done = behind.sent + behind.lost
        while behind.sent + behind.lost == done:
            threading.Event().wait(0.001)
        slow.go.clear()
    behind.close()
    assert (behind.sent, behind.lost) == (4, 6)
    assert ["cannot be reached" in text for text in said] == [True, False, True]
    assert said[1].startswith("http://there ")


class File:
    """A file that counts."""

    def __init__(self) -> None:
        self.data, self.flushed = b"", 0

    def write(self, data: bytes, /) -> None:
        self.data += data

    def flush(self) -> None:
        self.flushed += 1


def test_a_file_gets_a_line_at_once() -> None:
    file = File()
    sink = FileSink("spans.jsonl", file, {"service.name": "kdbg"})
    sink.take([SPAN, SPAN])
    sink.take([SPAN])
    assert file.data == line([SPAN, SPAN], {"service.name": "kdbg"}) + line([SPAN], {"service.name": "kdbg"})
    assert (sink.sent, sink.lost, file.flushed, sink.target) == (3, 0, 2, "spans.jsonl")
    sink.close()
    assert file.flushed == 3


class Kept:
    """A sink that keeps how many spans came together."""

    target = "there"

    def __init__(self) -> None:
        self.took: list[int] = []
        self.sent = self.lost = 0
        self.closed = False

    def take(self, spans: list[Span]) -> None:
        self.took.append(len(spans))
        self.sent += len(spans)

    def close(self) -> None:
        self.closed = True


def beats(count: int, *, first: int = 0) -> list[Exchange]:
    found = [heartbeat(SECOND * (first + number), SECOND * (first + number) + 5) for number in range(count)]
    for one in found:
        one.number = first + 1
    return found


def spans(is_open: Callable[[int], bool] = lambda first: True) -> tuple[Spans, Kept]:
    sink = Kept()
    found = Spans(sink)
    found.begin("x.pcap", 1, NamesThen({}), is_open)
    return found, sink


def test_512_spans_go_together() -> None:
    found, sink = spans()
    found.take(beats(250))
    found.take(beats(250, first=50))
    found.take(beats(11, first=51))
    assert sink.took == []
    found.take(beats(2, first=52))
    assert sink.took == [512]
    found.finish()
    assert sink.took == [512, 513 - 512 + 1]
    assert found.close() == ["514 spans sent to there"]
    assert sink.closed


def test_spans_wait_a_second_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(sending, "monotonic", lambda: now[0])
    found, sink = spans()
    found.take(beats(1))
    for now[0] in (100.5, 101.0):
        found.tick(idle=False)
        assert sink.took == []
    now[0] = 101.1
    found.tick(idle=False)
    assert sink.took == [1]
    found.take(beats(1))
    found.tick(idle=True)
    assert sink.took == [1, 1]
    found.tick(idle=True)
    assert sink.took == [1, 1]
    sink.lost = 1_234
    untimed = heartbeat(0, None)
    assert untimed.request is not None
    untimed.request.first_time = untimed.request.last_time = module.UNTIMED
    found.take([untimed, untimed])
    assert found.close() == ["2 spans sent to there", "1,234 spans not accepted by there",
                             "2 exchanges skipped: without a time"]  # fmt: skip


def test_connections_that_have_ended_are_looked_for_every_5_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now, ended = 100.0, False
    monkeypatch.setattr(sending, "monotonic", lambda: now)
    found, sink = spans(lambda first: not ended)
    found.take(beats(1))
    ended, now = True, 105.0
    found.tick(idle=False)
    assert sink.took == [1], "not yet"
    for now, took in ((105.5, [1]), (110.5, [1]), (110.6, [1]), (112.0, [1, 1])):
        found.tick(idle=False)
        assert sink.took == took, now
    assert sink.sent == 2


def test_a_span_has_times_that_otlp_can_say() -> None:
    assert [moment(time) for time in (-1, 0, 1, (1 << 64) - 1, 1 << 64)] == [0, 0, 1, (1 << 64) - 1, (1 << 64) - 1]


# Numbers

BROKER = "127.0.0.1:9092"
LATENCY = f'api="Heartbeat",broker="{BROKER}"'


def test_numbers_of_nothing_and_of_captures_one_after_the_other() -> None:
    counts = Metrics()
    nothing = {
        "connections": {(): 0}, "other_connections": {(): 0}, "open_connections": {(): 0}, "packets": {(): 0},
        "packets_lost": {("dropped",): 0, ("unread",): 0}, "causes": {}, "consumer_lag": {}, "folded": {},
        "last_exchange_timestamp_seconds": {}, "build_info": {(__version__,): 1},
    }  # fmt: skip
    assert counts.numbers() == nothing
    for _ in range(2):
        counts.begin(NamesThen({}), lambda first: True)
        counts.total(Totals(9, 9, 9, 9, 9))
        counts.total(Totals(10, 2, 3, 4, 5))
    counts.causes([("a", "warning", 5)])
    counts.causes([("b", "error", 1), ("b", "error", 2), ("c", "note", 4)])
    assert counts.numbers() == nothing | {
        "connections": {(): 8}, "other_connections": {(): 10}, "packets": {(): 20},
        "packets_lost": {("dropped",): 4, ("unread",): 6}, "causes": {("b", "error"): 3, ("c", "note"): 4},
    }  # fmt: skip


def test_an_exchange_is_counted_once_for_each_of_its_labels() -> None:
    counts = Metrics()
    asked = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    good = exchange("Heartbeat", 0, asked, {"error_code": 0}, sent=5 * SECOND, came=5 * SECOND + 1_000_000)
    bad = exchange("Heartbeat", 0, asked, {"error_code": 25}, sent=3 * SECOND, came=3 * SECOND + 2_000_000)
    alone = exchange("Heartbeat", 0, asked, sent=SECOND)
    alone.client_id, alone.api = None, None
    counts.take([good, bad, alone])
    numbers = counts.numbers()
    assert good.request is not None
    assert good.response is not None
    assert alone.request is not None
    assert numbers["exchanges"] == {(BROKER, "Heartbeat", "0", "me"): 2, (BROKER, "(unknown)", "(none)", "(none)"): 1}
    assert numbers["request_bytes"] == {(BROKER, "Heartbeat", "me"): 2 * good.request.size,
                                        (BROKER, "(unknown)", "(none)"): alone.request.size}  # fmt: skip
    assert numbers["response_bytes"] == {(BROKER, "Heartbeat", "me"): 2 * good.response.size}
    assert numbers["exchange_errors"] == {(BROKER, "Heartbeat", "me", "UNKNOWN_MEMBER_ID"): 1}
    assert numbers["last_exchange_timestamp_seconds"] == {(): 5.0}
    (spread,) = counts.spreads["latency_seconds"].values()
    assert (sum(spread.counts), spread.counts[1], spread.counts[2]) == (2, 1, 1)
    assert "records" not in numbers
    assert {kind for _, kind in numbers.get("findings", {})} <= {each.value for each in Severity}


def test_a_value_is_in_the_bucket_whose_bound_it_does_not_exceed() -> None:
    for place, bound in enumerate(BUCKETS):
        spread = Spread.empty()
        spread.add(int(bound * SECOND))
        spread.add(int(bound * SECOND) + 1)
        assert [number for number, count in enumerate(spread.counts) if count] == [place, place + 1]
    below = Spread.empty()
    below.add(-5)
    assert (below.counts[0], below.total, len(below.counts)) == (1, [0.0], len(BUCKETS) + 1)


def test_labels_have_as_many_values_as_they_may() -> None:
    most = {"broker": 100, "client_id": 100, "topic": 200, "api": 128, "version": 64, "error": 256}
    assert (dict(module.MOST), module.SETS) == (most, 10_000)
    counts = Metrics()
    asked = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    for number in range(102):
        one = exchange("Heartbeat", 0, asked, {"error_code": 0})
        one.client_id = f"c{number}"
        counts.take([one])
    found = counts.numbers()
    assert found["exchanges"][(BROKER, "Heartbeat", "0", "(others)")] == 2
    assert (len(found["exchanges"]), found["folded"]) == (101, {("client_id",): 2})


def test_open_connections_records_steps_parts_and_findings_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.OPEN == 1 << 16
    monkeypatch.setattr(module, "OPEN", 2)
    counts, open_ = Metrics(), {1, 2}
    batch = {"records": [{"key": None, "value": b"x"}, {"key": None, "value": b"y"}]}
    data = [{"topic_id": OLD, "partitions": [{"partition_index": 0, "error_code": 0, "high_watermark": 2,
                                              "records": [batch]}]}]  # fmt: skip
    fetched = exchange("Fetch", 13, {"max_wait_ms": 1, "min_bytes": 1, "topics": []}, {"responses": data}, came=-4)
    step = exchange("ApiVersions", 0, {}, {"error_code": 35}, sent=module.UNTIMED, came=module.UNTIMED)
    step.timing = Timing(Split(waiting=2_000_000, broker=600_000, beyond=7), None)
    token = heartbeat(1, None)
    token.api, token.findings = (
        sasl.api,
        [Finding(Kinds.NO_RESPONSE), Finding(Kinds.NO_RESPONSE), Finding(Kinds.KNOWN_QUIRK)],
    )
    for first, one in ((1, fetched), (2, step), (3, token)):
        one.peers = one.peers._replace(first_packet=first)
    counts.take([fetched])
    assert counts.numbers()["open_connections"] == {(): 0}, "no capture has begun"
    counts.begin(NamesThen({OLD: "orders"}), open_.__contains__)
    counts.take([fetched, step, token, heartbeat(5, None)])
    counts.odd([Finding(Kinds.TCP_GAP)])
    numbers = counts.numbers()
    assert (numbers["open_connections"], numbers["last_exchange_timestamp_seconds"]) == ({(): 2}, {(): 5e-9})
    assert numbers["records"] == {(BROKER, "Fetch", str(OLD)): 2, (BROKER, "Fetch", "orders"): 2}
    assert numbers["exchange_steps"] == {(BROKER, "ApiVersions", "me", "UNSUPPORTED_VERSION"): 1}
    assert "exchange_errors" not in numbers
    assert numbers["exchanges"][(BROKER, "SaslToken", "(none)", "me")] == 1
    assert numbers["findings"] == {("no-response", "warning"): 2, ("known-quirk", "note"): 1, ("tcp-gap", "error"): 1}
    spreads = counts.spreads
    assert {labels[1:]: spread.counts.index(1) for labels, spread in spreads["latency_part_seconds"].items()} \
        == {("ApiVersions", "waiting"): 2, ("ApiVersions", "broker"): 1, ("ApiVersions", "beyond"): 0}  # fmt: skip
    assert spreads["latency_seconds"].keys() == {(BROKER, "Fetch")}
    open_.discard(1)
    assert counts.numbers()["open_connections"] == {(): 1}
    counts.begin(NamesThen({}), lambda first: True)
    assert counts.numbers()["open_connections"] == {(): 0}


def test_lag_is_that_of_the_latest_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETS", 2)
    counts = Metrics()
    counts.begin(NamesThen({OLD: "orders"}), lambda first: True)

    def commit(offset: int, partition: int = 0) -> Exchange:
        part = {"partition_index": partition, "committed_offset": offset}
        return exchange("OffsetCommit", 2, {"group_id": "g", "generation_id_or_member_epoch": 1, "member_id": "m",
                        "retention_time_ms": -1, "topics": [{"name": "orders", "partitions": [part]}]})  # fmt: skip

    def fetch(end: int, partition: int = 0, code: int = 0) -> Exchange:
        part = {"partition_index": partition, "error_code": code, "high_watermark": end, "records": None}
        body = {"responses": [{"topic_id": OLD, "partitions": [part]}]}
        return exchange("Fetch", 13, {"max_wait_ms": 1, "min_bytes": 1, "topics": []}, body)

    counts.take([commit(3)])
    assert counts.numbers()["consumer_lag"] == {}, "the end is not known"
    counts.take([fetch(9), fetch(99, code=6)])
    assert counts.numbers()["consumer_lag"] == {("g", "orders", "0"): 6}
    counts.take([commit(12), commit(1, 1), fetch(2, 1), commit(0, 2), fetch(5, 2)])
    assert counts.numbers()["consumer_lag"] == {("g", "orders", "0"): 0, ("g", "orders", "1"): 1}, "no more than SETS"


def test_operations_last_from_the_first_byte_to_the_last() -> None:
    counts = Metrics()
    body = {"transactional_id": None, "acks": 1, "timeout_ms": 1, "topic_data": []}
    answer = {"responses": [{"name": "t", "partition_responses": [{"index": 0, "error_code": 6, "base_offset": -1}]}]}
    counts.take([exchange("Produce", 7, body, answer, sent=SECOND, came=3 * SECOND), heartbeat(1, 2)])
    counts.take([exchange("Produce", 7, body, sent=SECOND)])
    [(labels, spread)] = counts.spreads["messaging_client_operation_duration_seconds"].items()
    assert labels == ("send", "send", "kafka", "127.0.0.1", "9092", "NOT_LEADER_OR_FOLLOWER")
    assert (spread.total, sum(spread.counts)) == ([2.0], 1)


def test_sets_of_labels_that_are_too_many_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETS", 1)
    counts = Metrics()
    first, second = heartbeat(1, 2), exchange("ListGroups", 0, {}, {"error_code": 0, "groups": []})
    counts.take([first, second, first])
    others = ("(others)",) * 4
    assert counts.numbers()["exchanges"] == {(BROKER, "Heartbeat", "0", "me"): 2, others: 1}
    assert counts.numbers()["folded"] == {("(all)",): 4}
    assert [sum(spread.counts) for spread in counts.spreads["latency_seconds"].values()] == [2, 1]


def test_prometheus_text_has_each_family_that_has_a_sample() -> None:
    counts = Metrics()
    asked = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    counts.take([exchange("Heartbeat", 0, asked, {"error_code": 25}, sent=5 * SECOND, came=5 * SECOND + 1_000_000)])
    lines = [line for line in text(counts).decode().splitlines() if line[0] != "#"]
    below = ["0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0",
             "10.0", "30.0", "+Inf"]  # fmt: skip
    assert lines == [
        'kdbg_exchanges_total{api="Heartbeat",broker="127.0.0.1:9092",client_id="me",version="0"} 1.0',
        f'kdbg_exchange_errors_total{{{LATENCY},client_id="me",error="UNKNOWN_MEMBER_ID"}} 1.0',
        'kdbg_request_bytes_total{api="Heartbeat",broker="127.0.0.1:9092",client_id="me"} 24.0',
        'kdbg_response_bytes_total{api="Heartbeat",broker="127.0.0.1:9092",client_id="me"} 10.0',
        *(f'kdbg_latency_seconds_bucket{{{LATENCY},le="{bound}"}} {float(bound != "0.0005")}' for bound in below),
        f"kdbg_latency_seconds_count{{{LATENCY}}} 1.0", f"kdbg_latency_seconds_sum{{{LATENCY}}} 0.001",
        "kdbg_connections_total 0.0", "kdbg_other_connections_total 0.0", "kdbg_open_connections 0.0",
        "kdbg_packets_total 0.0", 'kdbg_packets_lost_total{why="dropped"} 0.0',
        'kdbg_packets_lost_total{why="unread"} 0.0', "kdbg_last_exchange_timestamp_seconds 5.0",
        f'kdbg_build_info{{version="{__version__}"}} 1.0',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "use", "said"),
    [
        ("prometheus_client", check, "metrics need Prometheus' client library; pip install "
         "'kdbg-kafka[prometheus]' (in a checkout: pip install '.[prometheus]')"),
        ("opentelemetry.sdk.resources", lambda: Collector("http://x:1", {}),
         "--otlp: sending spans needs OpenTelemetry's SDK; pip install 'kdbg-kafka[otlp]' (in a "
         "checkout: pip install '.[otlp]')"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, use: Callable[[], Any], said: str
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError) as caught:
        use()
    assert str(caught.value) == said


def test_where_nothing_can_listen_is_said_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = [(OSError(98, "Address already in use"), "Address already in use"), (OSError("odd"), "odd")]

    def fail(*given: Any) -> Any:
        raise errors[0][0]

    monkeypatch.setattr("prometheus_client.start_http_server", fail)
    while errors:
        with pytest.raises(InputError) as caught:
            serve(Metrics(), "127.0.0.1", 9464)
        assert str(caught.value) == f"127.0.0.1:9464: cannot serve metrics ({errors.pop(0)[1]}); choose another port"
