"""What the records of internal topics are taken for: by the number in a key, by the frame of a value."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.errors import Truncated, WireError
from kdbg.protocol.grammars.payloads import CONTROL, TOPICS, payload
from kdbg.protocol.wire.language.payload import Holding, Payload, PayloadForm, Readable, RecordPayloads
from kdbg.protocol.wire.nodes import UVARINT, build

from ...cases import for_each
from ...facts import payload_layouts

KEYED = {
    "group-coordinator": "__consumer_offsets",
    "share-coordinator": "__share_group_state",
    "transaction-coordinator": "__transaction_state",
}
FRAMED = {"metadata": "__cluster_metadata", "storage": "__remote_log_metadata"}


def only(holding: Holding, data: bytes, **around: Any) -> Readable:
    """The one thing that the bytes may be."""
    (readable,) = holding(data, around)
    return readable


def name(holding: Holding, data: bytes, **around: Any) -> str:
    readable = only(holding, data, **around)
    assert isinstance(readable, Payload)
    return readable.name


def why_not(holding: Holding, data: bytes, **around: Any) -> WireError:
    """Why the bytes are refused."""
    with pytest.raises(WireError) as caught:
        only(holding, data, **around).choose(data)
    return caught.value


def int16(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(2, "big", signed=True) for number in numbers)


@pytest.fixture(scope="module")
def facts() -> list[dict[str, Any]]:
    """Kafka's definitions of what stands in internal topics, with the number that each has there."""
    return [row for row in payload_layouts() if row["internal_key"] is not None]


def test_every_number_of_kafkas_is_the_record_that_it_says(facts: list[dict[str, Any]]) -> None:
    for fact in facts:
        number, said = fact["internal_key"], payload(fact["name"]).name
        if fact["type"] == "metadata":
            data = build(UVARINT, 1) + build(UVARINT, number) + build(UVARINT, 0)
            assert name(TOPICS[FRAMED[fact["module"]]].value, data) == said
            continue
        topic = TOPICS[KEYED[fact["module"]]]
        part = topic.key if fact["type"] == "coordinator-key" else topic.value
        assert name(part, int16(number), key=int16(number)) == said
    assert len(facts) > 90


def test_a_key_says_what_its_value_is() -> None:
    """OffsetCommit: group g, topic t, partition 3; offset 7 in epoch 2."""
    topic = TOPICS["__consumer_offsets"]
    key = bytes.fromhex("0001 0001 67 0001 74 00000003")
    value = bytes.fromhex("0003 0000000000000007 00000002 0000 0000018bcfe56800")
    assert only(topic.key, key).choose(key).grammar.parse(key) == {
        "version": 1, "group": "g", "topic": "t", "partition": 3,
    }  # fmt: skip
    assert only(topic.value, value, key=key).choose(value).grammar.parse(value) == {
        "version": 3, "offset": 7, "leader_epoch": 2, "metadata": "", "commit_timestamp": 1_700_000_000_000,
    }  # fmt: skip


@pytest.mark.parametrize("topic", KEYED.values())
def test_a_key_of_another_kind_is_named_and_so_is_its_value(topic: str) -> None:
    key = int16(99)
    for error in (why_not(TOPICS[topic].key, key), why_not(TOPICS[topic].value, b"", key=key)):
        assert str(error) == f"version: unknown key type 99 of topic {topic} (byte 0 of the data, 0x0000)"


@pytest.mark.parametrize("topic", FRAMED.values())
def test_a_frame_of_another_kind_is_named(topic: str) -> None:
    data = bytes.fromhex("01 e307 00")
    assert (
        str(why_not(TOPICS[topic].value, data))
        == f"api_key: unknown record 995 of topic {topic} (byte 1 of the data, 0x0001)"
    )
    assert list(TOPICS[topic].key(b"key", {})) == [], "their keys say nothing"


def test_a_version_that_kdbg_does_not_know_is_named() -> None:
    data = bytes.fromhex("01 02 09 00")
    assert str(why_not(TOPICS["__cluster_metadata"].value, data)).startswith(
        "version: unsupported version 9 of TopicRecord (kdbg supports 0 to 0)"
    )


def test_a_key_or_a_frame_that_breaks_off_is_truncated() -> None:
    assert isinstance(why_not(TOPICS["__consumer_offsets"].key, b"\0"), Truncated)
    assert isinstance(why_not(TOPICS["__consumer_offsets"].value, b"\0", key=b""), Truncated)
    assert isinstance(why_not(TOPICS["__cluster_metadata"].value, b"\x01\x80"), Truncated)
    assert isinstance(why_not(CONTROL.value, b"\0", key=b"\0\0\0"), Truncated)


def test_a_record_without_a_key_in_a_topic_of_keys_is_truncated_too() -> None:
    assert isinstance(why_not(TOPICS["__consumer_offsets"].value, b"value", key=None), Truncated)


CONTROLS = [
    (0, "EndTxnMarker", "0000 00000005", {"version": 0, "coordinator_epoch": 5}),
    (1, "EndTxnMarker", "0000 00000005", {"version": 0, "coordinator_epoch": 5}),
    (2, "LeaderChangeMessage", "0000 00000001 02 00000001 00 02 00000001 00 00",
     {"version": 0, "leader_id": 1, "voters": [{"voter_id": 1}], "granting_voters": [{"voter_id": 1}]}),
    (3, "SnapshotHeaderRecord", "0000 0000018bcfe56800 00",
     {"version": 0, "last_contained_log_timestamp": 1_700_000_000_000}),
    (4, "SnapshotFooterRecord", "0000 00", {"version": 0}),
    (5, "KRaftVersionRecord", "0000 0001 00", {"version": 0, "kraft_version": 1}),
    (6, "VotersRecord", "0000 01 00", {"version": 0, "voters": []}),
]  # fmt: skip


@for_each(("type", "said", "text", "value"), CONTROLS)
def test_the_type_of_a_control_record_says_what_its_value_is(
    type: int, said: str, text: str, value: dict[str, Any]
) -> None:
    key, data = int16(0, type), bytes.fromhex(text)
    assert only(CONTROL.key, key).choose(key).grammar.parse(key) == {"version": 0, "type": type}
    assert name(CONTROL.value, data, key=key) == said
    assert only(CONTROL.value, data, key=key).choose(data).grammar.parse(data) == value


def test_a_control_record_of_another_type_is_named() -> None:
    assert str(why_not(CONTROL.value, b"", key=int16(0, 7))) == (
        "type: unknown control record type 7 (byte 2 of the data, 0x0002)"
    )


@given(st.sampled_from([*TOPICS.values(), CONTROL]), st.binary(max_size=40), st.none() | st.binary(max_size=8))
def test_whatever_stands_there_is_a_reading_or_a_wire_error(
    records: RecordPayloads, data: bytes, key: bytes | None
) -> None:
    for readable in (*records.key(data, {}), *records.value(data, {"key": key})):
        with suppress(WireError):
            assert isinstance(readable.choose(data), PayloadForm)
