"""Metrics that clients push: read by OpenTelemetry's own library, in every codec, within bounds."""

from __future__ import annotations

import sys
from typing import Any

import construct
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

import kdbg
from kdbg.errors import BadValue, BuildError
from kdbg.protocol.grammars.payloads.telemetry import NAMES, metrics, metrics_data, named
from kdbg.protocol.wire.language.payload import OpenedPayload
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.nodes.otlp import LIMIT, ResourceMetrics, installed
from kdbg.protocol.wire.readings.annotate import inspect
from kdbg.protocol.wire.readings.compiled import read_whole
from kdbg.protocol.wire.records.compression import CODECS, compress

# resource_metrics { scope_metrics { metrics { name: "m" gauge { data_points { time_unix_nano: 1 as_double: 0.5 }}}}}
BY_HAND = bytes.fromhex("0a1d 121b 1219 0a016d 2a14 0a12 190100000000000000 21000000000000e03f")
BY_HAND_VALUE = [{"scope_metrics": [{"metrics": [{
    "name": "m", "gauge": {"data_points": [{"time_unix_nano": "1", "as_double": 0.5}]},
}]}]}]  # fmt: skip
every_codec = pytest.mark.parametrize("codec", CODECS)


def push(data: bytes, codec: int = 0) -> Any:
    """What a PushTelemetry request with these metrics holds, once it was encoded and decoded."""
    body = {"compression_type": codec, "metrics": data}
    encoded = kdbg.encode(body, api="PushTelemetry", version=0, direction="request")
    return kdbg.decode(encoded, api="PushTelemetry", version=0, direction="request", header=False)


@every_codec
def test_bytes_written_by_hand_are_metrics(codec: int) -> None:
    found = push(compress(codec, BY_HAND), codec).body["metrics"]
    assert isinstance(found, OpenedPayload)
    assert (found.name, found.value) == (NAMES[codec], {"resource_metrics": BY_HAND_VALUE})
    assert found == compress(codec, BY_HAND)


@every_codec
def test_the_three_readings_and_the_build_agree(codec: int) -> None:
    grammar, data = metrics_data(codec).grammar, compress(codec, BY_HAND)
    value = {"resource_metrics": BY_HAND_VALUE}
    assert read_whole(grammar, data) == grammar.parse(data) == inspect(grammar, data).value == value
    assert build(grammar, value) == data
    assert named(NAMES[codec]) is metrics_data(codec)


def test_no_metrics_are_what_stands_there_by_default() -> None:
    grammar = metrics_data(0).grammar
    assert grammar.default() == {"resource_metrics": []}
    assert build(grammar, {}) == b""


def test_what_is_built_can_be_named_by_constructs_around_it() -> None:
    count = construct.Rebuild(construct.Byte, construct.len_(construct.this.metrics))
    around = construct.Struct("metrics" / ResourceMetrics(0), "count" / count)
    assert around.build({"metrics": BY_HAND_VALUE}) == BY_HAND + b"\x01"


def test_the_library_reads_what_is_built() -> None:
    edited = [{"scope_metrics": [{"metrics": [{"name": "n", "sum": {"is_monotonic": True}}]}]}]
    written = MetricsData.FromString(build(metrics_data(0).grammar, {"resource_metrics": edited}))
    assert written.resource_metrics[0].scope_metrics[0].metrics[0].sum.is_monotonic


@pytest.mark.parametrize("value", [[{"no such field": 1}], [1], "x", 7, [{"scope_metrics": {}}]])
def test_what_is_no_metrics_is_not_built(value: Any) -> None:
    with pytest.raises(BuildError, match=r"^resource_metrics: "):
        build(metrics_data(0).grammar, {"resource_metrics": value})


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x12\x00", b"\x0a\x02\x12", BY_HAND[:-1]])
def test_what_is_no_protobuf_of_metrics_stays_bytes_with_a_finding(data: bytes) -> None:
    message = push(data)
    assert type(message.body["metrics"]) is bytes
    assert [(finding.kind, finding.path) for finding in message.findings] == [
        ("malformed-payload", "metrics.resource_metrics")
    ]


@given(st.binary(min_size=1), st.sampled_from(sorted(CODECS)))
def test_any_bytes_at_all_are_kept(data: bytes, codec: int) -> None:
    assert push(data, codec).body["metrics"] == data


def test_a_codec_that_does_not_exist_is_said() -> None:
    (finding,) = push(BY_HAND, 9).findings
    assert "unknown compression codec 9" in finding.text


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec])
def test_a_bomb_is_not_opened(codec: int) -> None:
    message = push(compress(codec, b"\n\0" * LIMIT), codec)
    assert type(message.body["metrics"]) is bytes
    assert [finding.kind for finding in message.findings] == ["malformed-payload"]
    assert f"{CODECS[codec]}: " in message.findings[0].text


def test_metrics_inside_metrics_inside_metrics_end_somewhere() -> None:
    deep = b""
    for _ in range(5000):  # AnyValue.kvlist_value.values.value, over and over
        deep = field(6, field(1, field(2, deep)))
    with pytest.raises(BadValue):
        metrics_data(0).grammar.parse(field(1, field(1, field(1, field(2, deep)))))


def field(number: int, data: bytes) -> bytes:
    """A protobuf field that holds bytes."""
    size, length = len(data), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + data


@pytest.mark.parametrize("missing", ["opentelemetry", "opentelemetry.proto"])
def test_without_its_library_otlp_is_not_there(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other packages of OpenTelemetry bring the outer name along, and not the inner one."""
    assert installed()
    monkeypatch.setitem(sys.modules, missing, None)
    assert not installed()


def test_without_a_compression_type_beside_it_nothing_is_known() -> None:
    assert list(metrics(BY_HAND, {})) == []
