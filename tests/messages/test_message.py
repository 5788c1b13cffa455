"""One message read: clean, dirty, of an unknown API, of an unknown version, shallow; nothing raises for its bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdbg
from kdbg.errors import BadLength, BuildError, Leftover, Truncated, UnknownApi, UnknownVersion, WireError
from kdbg.exchanges.messages.message import Message, explain, opaque_api, read, read_slowly, strict
from kdbg.protocol import grammars
from kdbg.protocol.findings import Kind
from kdbg.protocol.grammars import sasl
from kdbg.protocol.wire.language import Direction
from kdbg.protocol.wire.nodes import TAGGED

from ..cases import for_each

METADATA = grammars.api("Metadata")
HEADER = {"correlation_id": 7, "client_id": "me"}
BATCH = {"records": [{"key": b"k", "value": b"v", "timestamp": 5}, {"value": b"w", "timestamp": 6}]}
PRODUCE = {"acks": -1, "timeout_ms": 9, "topic_data": [{"name": "t", "partition_data": [{"records": [BATCH]}]}]}


def request(name: str, version: int, value: dict[str, Any]) -> bytes:
    return kdbg.encode(value, api=name, version=version, direction="request", header=HEADER)


def kinds(message: Message) -> list[str]:
    return [finding.kind for finding in message.findings]


METADATA_V1 = request("Metadata", 1, {"topics": [{"name": "t"}]})


class TestClean:
    def test_header_and_body_are_read(self) -> None:
        message = read(METADATA, 1, "request", METADATA_V1)
        assert message.header == {"api_key": 3, "api_version": 1, "correlation_id": 7, "client_id": "me"}
        assert message.body == {"topics": [{"name": "t"}]}
        assert (message.findings, message.unexplained, message.size) == ((), 0, len(METADATA_V1))
        assert message.grammar is METADATA.at("request", 1)
        assert (message.api, message.version, message.direction) == (METADATA, 1, "request")

    def test_a_body_may_stand_alone(self) -> None:
        message = read(METADATA, 1, "request", METADATA_V1[12:], header=False)
        assert message.header is None
        assert message.body == {"topics": [{"name": "t"}]}

    def test_the_slow_reading_says_the_same(self) -> None:
        assert read_slowly(METADATA, 1, "request", METADATA_V1) == read(METADATA, 1, "request", METADATA_V1)

    def test_so_it_does_of_another_known_form(self) -> None:
        api = grammars.api("ApiVersions")
        refusal = kdbg.encode({"error_code": 35}, api=api.name, version=0, direction="response", header={})
        message = read_slowly(api, 3, "response", refusal)
        assert message == read(api, 3, "response", refusal)
        assert kinds(message) == ["known-quirk"]

    def test_raw_sasl_tokens_have_no_header(self) -> None:
        message = read(sasl.api, 0, "request", b"\x00user\x00pass")
        assert (message.header, message.body, message.findings) == (None, {"token": b"\x00user\x00pass"}, ())


class TestDirty:
    @for_each("end", range(len(METADATA_V1)))
    def test_a_message_that_is_cut_keeps_what_came_before(self, end: int) -> None:
        message = read(METADATA, 1, "request", METADATA_V1[:end])
        assert kinds(message) == ["truncated"]
        assert message.size == end
        assert message.unexplained <= 3
        if end >= 12:
            assert message.header is not None
            assert message.header["client_id"] == "me"
        if end < 12:
            assert message.body == {}

    def test_bytes_left_over_are_counted(self) -> None:
        message = read(METADATA, 1, "request", METADATA_V1 + b"\x00\x00\x00")
        assert kinds(message) == ["trailing-bytes"]
        assert message.unexplained == 3
        assert message.body == {"topics": [{"name": "t"}]}

    def test_an_unknown_tag_is_kept_and_counted(self) -> None:
        data = request("Metadata", 12, {TAGGED: {77: b"abc"}})
        message = read(METADATA, 12, "request", data)
        assert kinds(message) == ["unknown-tag"]
        assert message.body[TAGGED] == {77: b"abc"}
        assert message.unexplained == 3

    def test_every_kind_of_finding_has_an_explanation(self) -> None:
        for data in (METADATA_V1[:-1], METADATA_V1 + b"\x00", b"", b"\xff" * 30):
            assert set(kinds(read(METADATA, 1, "request", data))) <= set(Kind)

    @given(st.binary(max_size=80), st.sampled_from([0, 1, 8, 12, 13, 99]), st.booleans())
    def test_no_bytes_make_it_raise(self, data: bytes, version: int, header: bool) -> None:
        for name in ("Metadata", "Fetch", "Produce", "ApiVersions", "OffsetCommit"):
            for direction in ("request", "response"):
                way: Direction = "request" if direction == "request" else "response"
                message = read(grammars.api(name), version, way, data, header=header)
                assert message.size == len(data)
                assert isinstance(message.body, dict)


class TestUnknown:
    """What no grammar is known for keeps its body as bytes, and says so."""

    @pytest.mark.parametrize("version", [0, 1, 9])
    def test_an_api_without_a_grammar(self, version: int) -> None:
        api = opaque_api(999)
        data = bytes.fromhex("03e7 0000 00000007 0002 6d65") + b"body"
        message = read(api, version, "request", data)
        assert message.header is not None
        assert message.header["client_id"] == "me"
        assert message.body == {"body": b"body"}
        assert kinds(message) == ["unknown-api"]
        (finding,) = message.findings
        assert (finding.start, finding.length) == (12, 4)
        assert finding.text == "unknown API key 999; 4 body bytes not decoded"
        assert api.name == "Unknown(999)"

    @pytest.mark.parametrize("direction", ["request", "response"])
    def test_a_version_without_a_grammar(self, direction: Direction) -> None:
        header = {"correlation_id": 7}
        data = bytes.fromhex("0003 0063 00000007 0002 6d65 00" if direction == "request" else "00000007 00") + b"body"
        message = read(METADATA, 99, direction, data)
        assert message.header is not None
        assert message.header.items() >= header.items()
        assert message.body == {"body": b"body"}
        assert kinds(message) == ["unknown-version"]
        assert (message.api, message.version) == (METADATA, 99)
        assert message.findings[0].text == "unknown version 99 of Metadata; 4 body bytes not decoded"

    def test_headers_are_those_that_the_newest_versions_have(self) -> None:
        assert read(METADATA, 99, "response", bytes(4) + b"\x00abc").body == {"body": b"abc"}
        assert read(grammars.api("ApiVersions"), 99, "response", bytes(4) + b"\x77abc").body == {"body": b"wabc"}

    def test_a_body_that_may_hold_secrets_is_secret(self) -> None:
        """Whatever it says it is: a bit of its key or version may be wrong."""
        for name in ("SaslAuthenticate", "Metadata"):
            _, inspection = explain(grammars.api(name), 99, "request", b"hunter2", header=False)
            assert [span.secret for span in inspection.spans] == [True]

    def test_the_library_refuses_what_it_does_not_know(self) -> None:
        with pytest.raises(UnknownVersion, match="Metadata has no version 99"):
            kdbg.decode(b"", api="Metadata", version=99, direction="request")
        with pytest.raises(UnknownApi):
            kdbg.decode(b"", api=999, version=0, direction="request")
        with pytest.raises(BuildError, match="direction"):
            kdbg.decode(b"", api=3, version=0, direction="reply")  # type: ignore[arg-type]


class TestShallow:
    data = request("Produce", 3, PRODUCE)

    def test_records_are_left_unread_and_counted(self) -> None:
        message = read(grammars.api("Produce"), 3, "request", self.data, shallow=True)
        (batch,) = message.body["topic_data"][0]["partition_data"][0]["records"]
        assert "records" not in batch
        assert batch["records_count"] == 2
        assert message.findings == ()

    def test_it_is_the_same_message_otherwise(self) -> None:
        deep = read(grammars.api("Produce"), 3, "request", self.data)
        shallow = read(grammars.api("Produce"), 3, "request", self.data, shallow=True)
        (batch,) = deep.body["topic_data"][0]["partition_data"][0]["records"]
        del batch["records"]
        assert deep == shallow

    def test_checksums_are_proved_all_the_same(self) -> None:
        broken = self.data[:-1] + bytes([self.data[-1] ^ 1])
        message = read(grammars.api("Produce"), 3, "request", broken, shallow=True)
        assert "crc-mismatch" in kinds(message)

    def test_a_damaged_message_is_found_damaged(self) -> None:
        assert kinds(read(grammars.api("Produce"), 3, "request", self.data[:-1], shallow=True)) == ["truncated"]


class TestStrict:
    """`kdbg.decode`: harmless oddities are findings, everything else raises what the first finding stands for."""

    @pytest.mark.parametrize(
        ("body", "error", "kind"),
        [
            (b"\x00\x00", Truncated, "truncated"),
            (b"\x00\x00\x00\x00\x00", Leftover, "trailing-bytes"),
            (b"\x00\x00\x00\x01\xff\xff", BadLength, "unexpected-null"),
            (b"\xff\xff\xff\xfe", BadLength, "invalid-length"),
        ],
    )
    def test_each_finding_is_its_error(self, body: bytes, error: type[WireError], kind: str) -> None:
        with pytest.raises(error) as caught:
            kdbg.decode(body, api="Metadata", version=0, direction="request", header=False)
        assert type(caught.value) is error
        assert caught.value.kind == kind

    def test_the_error_names_field_and_byte(self) -> None:
        with pytest.raises(Truncated) as caught:
            kdbg.decode(bytes.fromhex("00000002 0001 61 0005 62"), api=3, version=0, direction="request", header=False)
        assert (caught.value.path, caught.value.start, caught.value.left) == ("topics[1].name", 9, 1)
        assert str(caught.value) == "topics[1].name: STRING needs 5 bytes, only 1 left (byte 9 of the data, 0x0009)"

    @pytest.mark.parametrize("text", ["00000001 0001 ff", "00000001 0002 c328"])
    def test_text_that_is_not_utf8_does_no_harm(self, text: str) -> None:
        data = bytes.fromhex(text)
        message = kdbg.decode(data, api=3, version=0, direction="request", header=False)
        assert kinds(message) == ["invalid-utf8"]
        assert kdbg.encode(message.body, api=3, version=0, direction="request") == data

    def test_a_clean_message_is_given_back(self) -> None:
        message = read(METADATA, 1, "request", METADATA_V1)
        assert strict(message) is message
