"""Payloads opened in place: what opens, by what it is told, what stays bytes, and what is said of that."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdbg
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.message import explain
from kdbg.exchanges.messages.payloads import open_inspection
from kdbg.protocol.grammars.payloads import TOPICS, payload
from kdbg.protocol.wire.language.payload import OpenedPayload, Sealed
from kdbg.protocol.wire.nodes import build

from ..cases import by_day, for_each
from ..cli.calls import SHARED, SHIPPED
from ..engine.playbook import Playbook, request, response

SUBSCRIPTION = bytes.fromhex(
    "0001 00000001 0006 6f7264657273 ffffffff 00000001 0006 6f7264657273 00000002 00000000 00000001"
)
"""Version 1: the topic `orders`, no user data, partitions 0 and 1 of it owned."""
WITHOUT_OWNED = 18
"""Bytes of it that KafkaJS 1 writes, which version 0 reads."""
OFFSET_KEY = bytes.fromhex("0001 0007 62696c6c696e67 0006 6f7264657273 00000003")
OFFSET_VALUE = bytes.fromhex("0003 000000000000002a ffffffff 0000 0000018bcfe56800")
"""Version 3: offset 42, no leader epoch, no metadata, committed at 2023-11-14 22:13:20."""
ORDERS, KRAFT = UUID(int=0xABC), UUID(int=1)


def join_group(metadata: bytes, *, type: str = "consumer", name: str = "range", version: int = 5) -> bytes:
    body = {"protocol_type": type, "protocols": [{"name": name, "metadata": metadata}]}
    return kdbg.encode(body, api="JoinGroup", version=version, direction="request")


def joined(metadata: bytes, **said: Any) -> tuple[kdbg.Message, Any]:
    """The message, and what became of the metadata in it."""
    data = join_group(metadata, **said)
    message = kdbg.decode(data, api="JoinGroup", version=said.get("version", 5), direction="request", header=False)
    assert kdbg.encode(message.body, api="JoinGroup", version=message.version, direction="request") == data
    return message, message.body["protocols"][0]["metadata"]


class TestFields:
    def test_a_payload_is_its_bytes_and_what_they_say(self) -> None:
        message, metadata = joined(SUBSCRIPTION)
        assert isinstance(metadata, OpenedPayload)
        assert metadata == SUBSCRIPTION
        assert metadata.name == "ConsumerProtocolSubscription"
        assert metadata.value == {
            "version": 1, "topics": ["orders"], "user_data": None,
            "owned_partitions": [{"topic": "orders", "partitions": [0, 1]}],
        }  # fmt: skip
        assert message.findings == ()
        assert message.payloads == (metadata,)

    def test_a_payload_inside_a_payload_opens_too(self) -> None:
        owned = build(payload("StickyAssignorUserDataV1").framed(0), {"generation": 7})
        outer = {"version": 0, "topics": ["orders"], "user_data": owned}
        _, metadata = joined(build(payload("ConsumerProtocolSubscription").framed(0), outer), name="sticky")
        assert metadata.value["user_data"].value["generation"] == 7

    def test_no_bytes_and_null_are_nothing_to_open(self) -> None:
        assert type(joined(b"")[1]) is bytes
        data = kdbg.encode(
            {"request_data": b"", "request_principal": None}, api="Envelope", version=0, direction="request"
        )
        assert kdbg.decode(data, api=58, version=0, direction="request", header=False).findings == ()

    def test_what_nobody_knows_stays_bytes_without_a_word(self) -> None:
        message, metadata = joined(b"\x13\x37 whatever", type="my-own-protocol")
        assert type(metadata) is bytes
        assert message.findings == ()

    @pytest.mark.parametrize("version", [0, 5])
    def test_where_nothing_says_the_protocol_the_bytes_do(self, version: int) -> None:
        assignment = bytes.fromhex("0000 00000001 0006 6f7264657273 00000001 00000000 ffffffff")
        data = kdbg.encode({"assignment": assignment}, api="SyncGroup", version=version, direction="response")
        body = kdbg.decode(data, api="SyncGroup", version=version, direction="response", header=False).body
        assert body["assignment"].name == "ConsumerProtocolAssignment"

    def test_a_guess_that_fits_not_is_no_finding(self) -> None:
        data = kdbg.encode({"assignment": b"not an assignment"}, api="SyncGroup", version=0, direction="response")
        message = kdbg.decode(data, api="SyncGroup", version=0, direction="response", header=False)
        assert (type(message.body["assignment"]), message.findings) == (bytes, ())


class TestOdd:
    @for_each("cut", sorted({*range(1, len(SUBSCRIPTION))} - {WITHOUT_OWNED}))
    def test_what_is_broken_stays_bytes_and_is_said_with_its_place(self, cut: int) -> None:
        message, metadata = joined(SUBSCRIPTION[:cut])
        assert (type(metadata), metadata) == (bytes, SUBSCRIPTION[:cut])
        (finding,) = message.findings
        assert (finding.kind, finding.path.split(".")[:2]) == ("malformed-payload", ["protocols[0]", "metadata"])
        start = message.size - cut
        assert finding.start is not None
        assert start <= finding.start <= start + cut
        assert finding.text.endswith(f" (byte {finding.byte} of the frame, 0x{finding.byte:04x})")

    def test_it_says_what_should_be_there(self) -> None:
        assert str(joined(SUBSCRIPTION[:9])[0].findings[0]) == (
            "malformed-payload: protocols[0].metadata.topics[0]: invalid ConsumerProtocolSubscription:"
            " STRING needs 6 bytes, only 1 left"
            " (byte 51 of the frame, 0x0033)"
        )
        assert joined(SUBSCRIPTION + b"!")[0].findings[0].text == (
            "protocols[0].metadata: invalid ConsumerProtocolSubscription: 1 trailing byte after the last field"
        )

    def test_a_version_that_is_not_known(self) -> None:
        (finding,) = joined(b"\x00\x63" + SUBSCRIPTION[2:])[0].findings
        assert finding.text.startswith(
            "protocols[0].metadata.version: unsupported version 99 of ConsumerProtocolSubscription (kdbg "
            "supports 0 to 3) (byte "
        )

    def test_what_is_only_odd_opens_all_the_same(self) -> None:
        value = build(payload("OffsetCommitValue").framed(4), {"version": 4, "tagged_fields": {99: b"new"}})
        message, record = committed(OFFSET_KEY, value)
        assert record["value"].value["tagged_fields"] == {99: b"new"}
        assert [(finding.kind, finding.path) for finding in message.findings] == [
            ("unknown-tag", "responses[0].partitions[0].records[0].records[0].value.tagged_fields")
        ]
        message, metadata = joined(SUBSCRIPTION.replace(b"orders", b"orde\xffs"))
        assert metadata.value["topics"] == ["orde\udcffs"]
        assert {finding.kind for finding in message.findings} == {"malformed-payload"}

    def test_payloads_open_only_so_deep(self) -> None:
        data = b""
        for _ in range(40):
            body = kdbg.encode({"request_data": data}, api="Envelope", version=0, direction="request")
            data = bytes.fromhex("003a 0000 00000001 ffff 00") + body
        message = kdbg.decode(data, api="Envelope", version=0, direction="request")
        depth, inner = 0, message.body["request_data"]
        while isinstance(inner, OpenedPayload):
            depth, inner = depth + 1, inner.value["body"]["request_data"]
        assert depth == 8
        assert (type(inner), message.findings) == (bytes, ())


def committed(key: bytes | None, value: bytes | None, **batch: Any) -> tuple[kdbg.Message, dict[str, Any]]:
    """A fetch of `__consumer_offsets` with this record, and what became of the record."""
    record = {"key": key, "value": value}
    data = fetched("__consumer_offsets", {"magic": 2, "records": [record], **batch})
    message = kdbg.decode(data, api="Fetch", version=12, direction="response", header=False)
    assert kdbg.encode(message.body, api="Fetch", version=12, direction="response") == data
    entry = message.body["responses"][0]["partitions"][0]["records"][0]
    return message, entry["records"][0] if "records" in entry else entry


def fetched(topic: str | UUID, *entries: dict[str, Any]) -> bytes:
    """The body of a Fetch response, whose version depends on how the topic is called."""
    where = {"topic": topic} if isinstance(topic, str) else {"topic_id": topic}
    body = {"responses": [{**where, "partitions": [{"records": list(entries)}]}]}
    return kdbg.encode(body, api="Fetch", version=12 if isinstance(topic, str) else 13, direction="response")


class TestRecords:
    def test_key_and_value_of_an_internal_topic_open(self) -> None:
        message, record = committed(OFFSET_KEY, OFFSET_VALUE)
        assert record["key"].value == {"version": 1, "group": "billing", "topic": "orders", "partition": 3}
        assert (record["value"].name, record["value"].value["offset"]) == ("OffsetCommitValue", 42)
        assert message.findings == ()

    @pytest.mark.parametrize("codec", range(5))
    def test_so_they_do_in_compressed_batches(self, codec: int) -> None:
        assert committed(OFFSET_KEY, OFFSET_VALUE, attributes=codec)[1]["value"].value["offset"] == 42

    @pytest.mark.parametrize("magic", [0, 1])
    @pytest.mark.parametrize("codec", [0, 1])
    def test_so_they_do_in_message_sets(self, magic: int, codec: int) -> None:
        message = {"magic": magic, "key": OFFSET_KEY, "value": OFFSET_VALUE}
        entry = {"magic": magic, "attributes": 1, "records": [message]} if codec else message
        data = fetched("__consumer_offsets", entry)
        body = kdbg.decode(data, api="Fetch", version=12, direction="response", header=False).body
        found = body["responses"][0]["partitions"][0]["records"][0]
        found = found["records"][0] if codec else found
        assert (found["key"].name, found["value"].value["offset"]) == ("OffsetCommitKey", 42)

    def test_tombstones_and_records_of_other_topics_are_left_alone(self) -> None:
        assert committed(OFFSET_KEY, None)[1]["value"] is None
        data = fetched("orders", {"magic": 2, "records": [{"key": OFFSET_KEY, "value": OFFSET_VALUE}]})
        body = kdbg.decode(data, api="Fetch", version=12, direction="response", header=False).body
        assert type(body["responses"][0]["partitions"][0]["records"][0]["records"][0]["value"]) is bytes

    def test_a_key_of_no_known_kind_is_said(self) -> None:
        message, record = committed(b"\x00\x63what", b"ever")
        assert (type(record["key"]), type(record["value"])) == (bytes, bytes)
        assert len(message.findings) == 2
        assert all("__consumer_offsets" in finding.text for finding in message.findings)
        assert [finding.path.rpartition(".")[0] for finding in message.findings] == [
            "responses[0].partitions[0].records[0].records[0].key",
            "responses[0].partitions[0].records[0].records[0].value",
        ]

    def test_a_place_in_decompressed_bytes_is_none_in_the_message(self) -> None:
        message, _ = committed(OFFSET_KEY, OFFSET_VALUE[:-1], attributes=1)
        assert [(finding.kind, finding.start) for finding in message.findings] == [("malformed-payload", None)]

    def test_control_records_open_in_any_topic(self) -> None:
        record = {"key": bytes.fromhex("0000 0001"), "value": bytes.fromhex("0000 00000007")}
        data = fetched("orders", {"magic": 2, "attributes": 0x30, "records": [record]})
        body = kdbg.decode(data, api="Fetch", version=12, direction="response", header=False).body
        (found,) = body["responses"][0]["partitions"][0]["records"][0]["records"]
        assert (found["control"], found["key"].value["type"]) == ("COMMIT", 1)
        assert (found["value"].name, found["value"].value["coordinator_epoch"]) == ("EndTxnMarker", 7)


class TestContext:
    def test_a_topic_that_goes_by_its_id_is_known_once_something_named_it(self) -> None:
        entry = {"magic": 2, "records": [{"key": OFFSET_KEY, "value": OFFSET_VALUE}]}
        fetch = response(6, "Fetch", 13, responses=[{"topic_id": ORDERS, "partitions": [{"records": [entry]}]}])
        named = [{"name": "__consumer_offsets", "topic_id": ORDERS}]
        book = Playbook() >> request(5, "Fetch", 13) << fetch.replace(b"\0\0\0\6", b"\0\0\0\5", 1)
        assert type(first_value(book.exchanges[0])) is bytes
        book >> request(6, 3, 12, topics=None) << response(6, 3, 12, topics=named)
        book >> request(7, "Fetch", 13) << fetch.replace(b"\0\0\0\6", b"\0\0\0\7", 1)
        assert first_value(book.exchanges[2]).name == "OffsetCommitValue"

    def test_the_log_of_kraft_goes_by_an_id_that_is_always_known_and_names_others(self) -> None:
        topic = payload("TopicRecord")
        value = build(
            topic.framed(0), {"frame_version": 1, "api_key": 2, "version": 0, "name": "new", "topic_id": ORDERS}
        )
        entry = {"magic": 2, "records": [{"key": None, "value": value}]}
        told = response(5, "Fetch", 13, responses=[{"topic_id": KRAFT, "partitions": [{"records": [entry]}]}])
        book = Playbook() >> request(5, "Fetch", 13) << told
        book.close()
        assert first_value(book.exchanges[0]).name == "TopicRecord"
        assert book.session.topic_names[ORDERS] == "new"

    def test_an_answer_is_told_by_its_request(self) -> None:
        inner = request(9, "Metadata", 1)[4:]
        answer = response(9, "Metadata", 1)[4:]
        book = Playbook() >> request(5, 58, 0, request_data=inner) << response(5, 58, 0, response_data=answer)
        book.close()
        asked, answered = book.exchanges[0].messages()
        assert asked.body["request_data"].name == "Metadata request v1"
        assert answered.body["response_data"].value["body"]["brokers"][0]["host"] == "broker-1.example"

    def test_tokens_are_told_by_the_handshake(self) -> None:
        book = Playbook() >> request(5, 17, 1, mechanism="PLAIN") << response(5, 17, 1)
        book >> request(6, 36, 1, auth_bytes=b"\0alice\0secret") << response(6, 36, 1)
        book.close()
        assert book.exchanges[1].messages()[0].body["auth_bytes"].value["user"] == "alice"


def first_value(exchange: Exchange) -> Any:
    """The value of the first record that was fetched."""
    message = exchange.messages()[-1]
    return message.body["responses"][0]["partitions"][0]["records"][0]["records"][0]["value"]


class TestHostile:
    """Whatever stands in them: nothing is raised, nothing is lost, and the two ways to look agree."""

    @given(st.binary(max_size=60), st.sampled_from(["consumer", "connect", "", "other"]), st.integers(0, 9))
    def test_anything_as_metadata(self, data: bytes, type: str, version: int) -> None:
        message, metadata = joined(data, type=type, version=version)
        assert metadata == data
        agree(message, join_group(data, type=type, version=version))

    @given(st.integers(0, len(SUBSCRIPTION) - 1), st.integers(0, 255), st.sampled_from(["range", "sticky", "stream"]))
    def test_a_subscription_with_a_wrong_byte(self, place: int, byte: int, name: str) -> None:
        data = SUBSCRIPTION[:place] + bytes([byte]) + SUBSCRIPTION[place + 1 :]
        agree(joined(data, name=name)[0], join_group(data, name=name))

    @pytest.mark.parametrize("topic", TOPICS)
    @pytest.mark.parametrize("attributes", [0, 2, 0x20])
    @given(st.binary(max_size=40), st.binary(max_size=90), st.integers(0, 30))
    def test_anything_as_records(self, topic: str, attributes: int, key: bytes, value: bytes, kind: int) -> None:
        record = {"key": bytes([0, kind]) + key, "value": bytes([1, kind]) + value}
        data = fetched(topic, {"magic": 2, "attributes": attributes, "records": [record]})
        message = kdbg.decode(data, api="Fetch", version=12, direction="response", header=False)
        assert kdbg.encode(message.body, api="Fetch", version=12, direction="response") == data
        agree(message, data)

    @given(st.binary(max_size=80), st.integers(0, 95), st.integers(0, 3))
    def test_anything_in_an_envelope(self, data: bytes, key: int, version: int) -> None:
        data = bytes([0, key, 0, version]) + data
        body = kdbg.encode(
            {"request_data": data, "request_principal": data[4:]}, api=58, version=0, direction="request"
        )
        message = kdbg.decode(body, api=58, version=0, direction="request", header=False)
        assert message.body["request_data"] == data
        agree(message, body)


def agree(message: kdbg.Message, data: bytes, exchange: Exchange | None = None) -> None:
    """The spans tile the bytes down into the payloads, and tell the same oddities as the reading without them."""
    half = None if exchange is None else exchange.request if message.direction == "request" else exchange.response
    header = message.header is not None
    grammar, inspection = explain(message.api, message.version, message.direction, data, header=header)
    open_inspection(grammar, inspection, half.context if half is not None else None)
    for number, buffer in enumerate(inspection.buffers):
        end = 0
        for span in inspection.spans:
            if span.buffer == number:
                assert span.start == end
                end = span.end
        assert end == len(buffer.data)
    assert tuple(inspection.findings) == message.findings
    if not message.api.headerless:  # the length of a token by itself is that of its frame
        names = [span.value.name for span in inspection.spans if isinstance(span.value, OpenedPayload)]
        assert sorted(names) == sorted(payload.name for payload in message.payloads)


@pytest.mark.parametrize("capture", by_day([*SHIPPED, *SHARED], 3), ids=lambda path: path.name)
def test_in_real_traffic_everything_opens_and_every_byte_is_named(capture: Any) -> None:
    for exchange in kdbg.read(capture):
        for half in filter(None, (exchange.request, exchange.response)):
            message = half.message()
            if message is not None and message.payloads:
                assert not [finding for finding in message.findings if finding.kind == "malformed-payload"]
                agree(message, half.data, exchange)


USER = build(
    payload("UserScramCredentialRecord").framed(0),
    {"frame_version": 1, "api_key": 11, "version": 0, "name": "alice", "salt": b"s" * 9},
)
TOPIC = build(
    payload("TopicRecord").framed(0),
    {"frame_version": 1, "api_key": 2, "version": 0, "name": "new", "topic_id": ORDERS},
)


@pytest.mark.parametrize(("magic", "compressed"), [(2, "compressed_records"), (1, "value")])
def test_compressed_bytes_are_sealed_where_a_secret_is_in_them(magic: int, compressed: str) -> None:
    form = {"magic": 1} if magic == 1 else {}
    both = [{"magic": magic, "attributes": 1, "records": [{"value": one} | form]} for one in (USER, TOPIC)]
    data = fetched("__cluster_metadata", *both)
    message = kdbg.decode(data, api="Fetch", version=12, direction="response", header=False)
    entries = message.body["responses"][0]["partitions"][0]["records"]
    assert [type(entry[compressed]) for entry in entries] == [Sealed, bytes], "of the second one nothing is secret"


def test_a_request_inside_another_is_secret_if_any_of_its_records_is() -> None:
    batches = [{"magic": 2, "records": [{"value": one}]} for one in (USER, TOPIC)]
    topics = [{"name": "__cluster_metadata", "partition_data": [{"records": batches}]}]
    for wanted, said in ((True, topics), (False, [{**topics[0], "partition_data": [{"records": batches[1:]}]}])):
        inner = request(9, "Produce", 9, topic_data=said)[4:]
        data = kdbg.encode({"request_data": inner}, api="Envelope", version=0, direction="request")
        body = kdbg.decode(data, api=58, version=0, direction="request", header=False).body
        assert body["request_data"].secret is wanted


def test_what_may_hold_secrets_and_cannot_be_read_is_sealed() -> None:
    data = fetched("__cluster_metadata", {"magic": 2, "records": [{"value": USER}, {"value": USER[:-4]}]})
    message = kdbg.decode(data, api="Fetch", version=12, direction="response", header=False)
    good, bad = message.body["responses"][0]["partitions"][0]["records"][0]["records"]
    assert (type(good["value"]), good["value"].secret) == (OpenedPayload, True)
    assert (type(bad["value"]), bad["value"]) == (Sealed, USER[:-4])
