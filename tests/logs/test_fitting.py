"""Fields of logs become those of Kafka's grammars: other names, other forms of values, and what does not fit."""

from __future__ import annotations

import base64
from typing import Any
from uuid import UUID

from kdbg.analysis.logs.exchanges import OTHERS, RANGES, fitting
from kdbg.exchanges.messages.message import grammar_of
from kdbg.protocol import grammars
from kdbg.protocol.wire.language import Direction
from kdbg.protocol.wire.nodes import (
    BOOLEAN,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT16,
    UINT32,
    UVARINT,
    VARLONG,
    Field,
    Length,
    LengthPrefixed,
    Node,
    NullableStruct,
    RemainingBytes,
    Sized,
    UuidNode,
    WireArray,
    WireStruct,
)

LENGTH = Length(INT32, 0)
INNER = WireStruct((Field("partition", INT32), Field("errorCode", INT16)), None)
ONE = WireStruct((Field("name", Sized("STRING", LENGTH, text=True, nullable=False)),), None)
MISSING: Any = ...


def fit(node: Node, value: object) -> Any:
    """What becomes of a value in a field of this node; `MISSING` where it is left out."""
    return fitting(WireStruct((Field("field", node),), None), {"field": value}).get("field", MISSING)


def message(name: str, version: int, direction: Direction, **fields: object) -> dict[str, Any]:
    return fitting(grammar_of(grammars.api(name), version, direction), fields)


def test_integers_fit_within_their_bits() -> None:
    for node, bits in (
        (INT8, 7),
        (INT16, 15),
        (INT32, 31),
        (INT64, 63),
        (VARLONG, 63),
        (UVARINT, 63),
        (UINT16, 64),
        (UINT32, 64),
    ):
        lowest, highest = -1 << bits, (1 << bits) - 1
        for value, found in (
            (lowest, lowest), (highest, highest), (lowest - 1, MISSING), (highest + 1, MISSING), ("-12", -12),
            ("--1", MISSING), ("1.0", MISSING), ("٣", MISSING), ("", MISSING), (True, MISSING), (1.0, MISSING),
            (None, MISSING),
        ):  # fmt: skip
            assert fit(node, value) == found, (node, value)
    assert fit(INT64, "9" * 18) == 10**18 - 1
    assert fit(UINT16, "1" + "0" * 19) == 10**19
    assert fit(UINT16, "1" + "0" * 20) is MISSING
    assert RANGES == {"b": 7, "h": 15, "i": 31, "q": 63}


def test_other_numbers() -> None:
    assert [fit(BOOLEAN, value) for value in (True, False, 1, "true", None)] == [True, False, MISSING, MISSING, MISSING]
    assert [fit(FLOAT64, value) for value in (1.5, 2, "3", True, "x")] == [1.5, 2.0, 3.0, MISSING, MISSING]
    assert type(fit(FLOAT64, 2)) is float


def test_text_and_bytes() -> None:
    for nullable, null in ((True, None), (False, MISSING)):
        text, data = (Sized("X", LENGTH, text=text, nullable=nullable) for text in (True, False))
        assert [fit(text, value) for value in ("a", "", None, 5, b"a")] == ["a", "", null, MISSING, MISSING]
        assert [fit(data, value) for value in (b"a", "YWI=", "YWI", "?", None, 5)] == [
            b"a", b"ab", MISSING, MISSING, null, MISSING,
        ]  # fmt: skip
        assert fit(data, "é") is MISSING
        assert fit(data, [0, 255, -1, -128]) == b"\0\xff\xff\x80"
        assert [fit(data, [value]) for value in (256, -129, True, "1", None)] == [MISSING] * 5
        assert fit(data, []) == b""
        assert fit(data, {"type": "Buffer", "data": [1, 2]}) == b"\1\2"
        assert fit(data, {"type": "Other", "data": [1, 2]}) is fit(data, {"data": [1]}) is MISSING
        assert fit(data, {"type": "Buffer"}) is MISSING


def test_uuids() -> None:
    node, uuid = UuidNode(), UUID("01234567-89ab-cdef-fedc-ba9876543210")
    short = base64.urlsafe_b64encode(uuid.bytes).decode().rstrip("=")
    assert len(short) == 22
    assert [fit(node, value) for value in (short, str(uuid), uuid.hex)] == [uuid] * 3
    assert fit(node, "-_" * 11) == UUID(bytes=base64.urlsafe_b64decode("-_" * 11 + "=="))
    assert [fit(node, value) for value in ("é" * 22, "x", "", 5, None, uuid)] == [MISSING] * 6


def test_structures_and_arrays() -> None:
    for node in (INNER, LengthPrefixed(INT32, INNER), NullableStruct(INNER)):
        assert fit(node, {"partition": 1, "more": 2}) == {"partition": 1}
        assert fit(node, 5) is fit(node, "x") is fit(node, [1]) is MISSING
    assert (fit(NullableStruct(INNER), None), fit(INNER, None)) == (None, MISSING)
    assert (fit(ONE, "orders"), fit(ONE, {"name": "a"}), fit(ONE, 5)) == ({"name": "orders"}, {"name": "a"}, MISSING)
    for nullable, null in ((True, None), (False, MISSING)):
        array = WireArray("ARRAY", LENGTH, INT32, nullable=nullable)
        assert [fit(array, value) for value in ([1, "2"], (3,), [], None, 5, "12", [1, "x"])] == [
            [1, 2], [3], [], null, MISSING, MISSING, MISSING,
        ]  # fmt: skip
    assert fit(RemainingBytes("REST"), b"x") is MISSING


def test_names_of_fields_are_compared_without_underscores_and_case() -> None:
    struct = WireStruct((Field("throttle_time_ms", INT32), Field("topic_name", INT32), Field("x", INT32)), None)
    assert fitting(struct, {"throttleTimeMs": 1, "TopicName": 2, "y": 3}) == {"throttle_time_ms": 1, "topic_name": 2}
    assert fitting(struct, {"throttleTime": 1}) == {"throttle_time_ms": 1}
    assert fitting(struct, {}) == {}
    assert fitting(WireStruct((Field("x", INT32),), {0: Field("y", INT32, tag=0)}), {"x": 1, "y": 2}) == {
        "x": 1,
        "y": 2,
    }


def test_other_names_hold_unless_they_are_names_of_other_fields() -> None:
    for name, others in OTHERS.items():
        for at, other in enumerate(others):
            struct = WireStruct((Field(name, INT32),), None)
            assert fitting(struct, {other: 5}) == {name: 5}
            assert fitting(struct, {other: 5, name: 6}) == {name: 6}
            for later in others[at + 1 :]:
                assert fitting(struct, {later: 7, other: 5}) == {name: 5}
            both = WireStruct((Field(name, INT32), Field(other, INT32)), None)
            assert fitting(both, {other: 5}).get(name, MISSING) is MISSING
            assert fitting(both, {other: 5})[other] == 5


def test_names_that_programs_have_for_fields() -> None:
    """Each name is one that a release of Kafka, of kafka-python or of KafkaJS writes."""
    topic: dict[str, Any] = {"topic_error_code": 3, "topic": "orders"}
    topic["partition_metadata"] = [
        {"partition_error_code": 5, "partition_id": 1, "leader": 2, "replicas": [1, 2], "isr": [2]}
    ]
    partition = {"error_code": 5, "partition_index": 1, "leader_id": 2, "replica_nodes": [1, 2], "isr_nodes": [2]}
    found = message("Metadata", 1, "response", topic_metadata=[topic])
    assert found == {"topics": [{"error_code": 3, "name": "orders", "partitions": [partition]}]}
    assert message("Metadata", 0, "request", topics=["a", "b"]) == {"topics": [{"name": "a"}, {"name": "b"}]}
    responses = [{"topic": "orders", "partition_responses": [{"partition": 0, "error_code": 6, "log_append_time": 7}]}]
    for name in ("responses", "topics"):
        assert message("Produce", 2, "response", throttle_time=1, **{name: responses}) == {
            "throttle_time_ms": 1,
            "responses": [{
                "name": "orders", "partition_responses": [{"index": 0, "error_code": 6, "log_append_time_ms": 7}],
            }],
        }  # fmt: skip
    offsets = [{"topic": "a", "partition_responses": [{"partition": 0, "error_code": 6}]}]
    assert message("ListOffsets", 1, "response", responses=offsets) == {
        "topics": [{"name": "a", "partitions": [{"partition_index": 0, "error_code": 6}]}]
    }
    assert message("Produce", 3, "request", timeout=5) == {"timeout_ms": 5}
    assert message("ApiVersions", 1, "response", apiVersions=[{"apiKey": 0, "minVersion": 1}]) == {
        "api_keys": [{"api_key": 0, "min_version": 1}]
    }
    assert message("JoinGroup", 0, "response", groupProtocol="range", leaderId="x") == {
        "protocol_name": "range",
        "leader": "x",
    }
