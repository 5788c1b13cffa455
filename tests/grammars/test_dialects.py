"""Other known forms of a message: tried where the real one does not fit, and then told."""

from __future__ import annotations

from typing import Any

import pytest

import kdbg
from kdbg.errors import Truncated, UnknownVersion
from kdbg.exchanges.messages.message import Message, explain, read
from kdbg.protocol import grammars
from kdbg.protocol.grammars import api_versions, offset_commit
from kdbg.protocol.wire.language.types import NEWEST, At
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.layout import layout

from ..cases import for_each

ITEMS = [{"api_key": 18, "min_version": 0, "max_version": 3}]
REFUSAL = {"error_code": 35, "api_keys": ITEMS}


def answered(data: bytes, version: int) -> Message:
    return read(grammars.api("ApiVersions"), version, "response", data, header=False)


def in_version_0(value: dict[str, Any]) -> bytes:
    return build(grammars.api("ApiVersions").at("response", 0), value)


class TestApiVersions:
    """A broker that does not know the version asked for answers in version 0 (KIP-511)."""

    @for_each("version", range(1, 10))
    @for_each("items", [[], ITEMS, ITEMS * 60], ids=len)
    def test_an_answer_in_version_0_is_read_whatever_was_asked_for(self, version: int, items: list[Any]) -> None:
        value = {"error_code": 35, "api_keys": items}
        message = answered(in_version_0(value), version)
        assert message.body == value
        assert (message.version, message.unexplained) == (version, 0)
        assert list(layout(message.grammar)) == list(layout(grammars.api("ApiVersions").at("response", 0)))
        kinds = [finding.kind for finding in message.findings]
        assert kinds == ["known-quirk"], "a version that kdbg does not know needs no other finding: it was read whole"
        assert "responds with v0" in message.findings[0].text
        assert "KIP-511" in message.findings[0].text

    @pytest.mark.parametrize("version", range(1, 5))
    def test_the_header_stays_version_0(self, version: int) -> None:
        message = kdbg.decode(bytes(4) + in_version_0(REFUSAL), api=18, version=version, direction="response")
        assert message.header == {"correlation_id": 0}
        assert message.body == REFUSAL

    @pytest.mark.parametrize("version", range(5))
    def test_an_answer_in_the_version_asked_for_is_no_dialect(self, version: int) -> None:
        value = REFUSAL | ({"throttle_time_ms": 0} if version else {})
        data = build(grammars.api("ApiVersions").at("response", version), value)
        message = answered(data, version)
        assert message.findings == ()
        assert message.body == value

    @pytest.mark.parametrize("version", [1, 3])
    def test_what_fits_neither_form_is_told_of_the_version_asked_for(self, version: int) -> None:
        message = answered(in_version_0(REFUSAL)[:-1], version)
        assert message.findings
        assert not {"known-variant", "known-quirk"} & {finding.kind for finding in message.findings}
        assert message.grammar is grammars.api("ApiVersions").at("response", version)

    def test_an_unknown_version_that_is_not_version_0_stays_bytes(self) -> None:
        message = answered(b"\x00\x00" + b"\xff" * 9, 9)
        assert [finding.kind for finding in message.findings] == ["unknown-version"]
        assert message.body == {"body": b"\x00\x00" + b"\xff" * 9}

    def test_the_library_refuses_versions_it_does_not_know(self) -> None:
        with pytest.raises(UnknownVersion):
            kdbg.decode(in_version_0(REFUSAL), api=18, version=9, direction="response", header=False)

    @pytest.mark.parametrize("version", [3, 4])
    def test_librdkafkas_mock_broker_counts_otherwise(self, version: int) -> None:
        """A count of N in one byte, where N + 1 is due, no tagged fields."""
        message = answered(bytes.fromhex("0000 01 0012 0000 0003 00000005"), version)
        assert message.body == {"error_code": 0, "api_keys": ITEMS, "throttle_time_ms": 5}
        assert [finding.kind for finding in message.findings] == ["known-variant"]
        assert "mock broker" in message.findings[0].text

    def test_requests_have_no_other_form(self) -> None:
        assert grammars.api("ApiVersions").dialects_of("request", 3) == []
        assert api_versions.unknown_version.versions == range(1, 2**15)


GUIDE = offset_commit.guide_request.structure(At(0, False))
COMMIT = {
    "group_id": "g",
    "topics": [
        {
            "name": "t",
            "partitions": [
                {"partition_index": 1, "committed_offset": 5, "commit_timestamp": -1, "committed_metadata": "m"},
                {"partition_index": 2, "committed_offset": 6, "commit_timestamp": 99, "committed_metadata": ""},
            ],
        }
    ],
}
"""Offsets as the 0.8 guide has them written."""


class TestOffsetCommit:
    """The guide of 0.8 shows a time stamp in version 0, which Kafka's own definition has in version 1 alone."""

    def test_the_guides_form_is_read(self) -> None:
        message = kdbg.decode(build(GUIDE, COMMIT), api=8, version=0, direction="request", header=False)
        assert message.body == COMMIT
        assert [finding.kind for finding in message.findings] == ["known-variant"]
        assert "0.8 guide" in message.findings[0].text

    def test_the_guides_form_by_hand(self) -> None:
        data = bytes.fromhex(
            "0001 67"  # group g
            "00000001 0001 74"  # topic t
            "00000001 00000002 0000000000000006 0000000000000063 0000"  # partition 2, offset 6, time 99, ""
        )
        message = kdbg.decode(data, api=8, version=0, direction="request", header=False)
        (partition,) = message.body["topics"][0]["partitions"]
        assert partition["commit_timestamp"] == 99
        assert partition["committed_offset"] == 6

    def test_version_0_as_brokers_have_it_is_no_dialect(self) -> None:
        value = {"group_id": "g", "topics": [{"name": "t", "partitions": [
            {"partition_index": 1, "committed_offset": 5, "committed_metadata": "m"},
        ]}]}  # fmt: skip
        data = kdbg.encode(value, api=8, version=0, direction="request")
        message = kdbg.decode(data, api=8, version=0, direction="request", header=False)
        assert message.body == value
        assert message.findings == ()

    @for_each("version", range(1, 11))
    def test_other_versions_have_no_other_form(self, version: int) -> None:
        assert grammars.api("OffsetCommit").dialects_of("request", version) == []
        assert grammars.api("OffsetCommit").dialects_of("response", version) == []

    def test_every_cut_of_the_guides_form_is_truncated(self) -> None:
        data = build(GUIDE, COMMIT)
        for end in range(len(data)):
            with pytest.raises(Truncated):
                kdbg.decode(data[:end], api=8, version=0, direction="request", header=False)


def test_no_other_api_has_dialects() -> None:
    """But for those of early releases, which stand in test_early_releases.py."""
    dialects = {api.name for api in grammars.apis() for dialect in api.dialects if dialect.release == NEWEST}
    assert dialects == {"OffsetCommit", "ApiVersions", "FindCoordinator"}


class TestFindCoordinator:
    """The 0.8 guide has the coordinator behind the error code only where there is no error."""

    api = grammars.api("FindCoordinator")

    def read(self, text: str, version: int = 0) -> Message:
        return read(self.api, version, "response", bytes.fromhex(text), header=False)

    @pytest.mark.parametrize("code", [15, 16, -1, 30])
    def test_an_error_alone_is_read_whole(self, code: int) -> None:
        data = code.to_bytes(2, "big", signed=True)
        message = self.read(data.hex())
        assert (message.body, message.unexplained) == ({"error_code": code}, 0)
        (finding,) = message.findings
        assert finding.kind == "known-variant"
        assert finding.kind.harmless
        assert "the 0.8 guide" in finding.text
        assert build(message.grammar, message.body) == data

    def test_the_empty_coordinator_of_kafkas_own_brokers_is_no_dialect(self) -> None:
        message = self.read("000f ffffffff 0000 ffffffff")
        assert message.findings == ()
        assert message.body == {"error_code": 15, "node_id": -1, "host": "", "port": -1}

    def test_success_without_a_coordinator_is_truncated(self) -> None:
        message = self.read("0000")
        assert [finding.kind for finding in message.findings] == ["truncated"]
        assert message.grammar is self.api.at("response", 0)

    @pytest.mark.parametrize(("text", "version"), [("000f 0000", 0), ("00000000 000f", 1), ("000f", 1)])
    def test_half_a_coordinator_and_later_versions_are_no_such_form(self, text: str, version: int) -> None:
        assert [finding.kind for finding in self.read(text, version).findings] == ["truncated"]

    def test_it_is_told_with_its_places_too(self) -> None:
        grammar, inspection = explain(self.api, 0, "response", bytes.fromhex("00000007 000f"))
        assert [field.name for field in grammar.fields] == ["error_code"]
        assert [(span.path, span.start, span.end) for span in inspection.spans] == [
            ("correlation_id", 0, 4), ("error_code", 4, 6)
        ]  # fmt: skip
        grammar, inspection = explain(self.api, 0, "response", bytes.fromhex("00000007 0000"))
        assert grammar is self.api.at("response", 0)
        assert inspection.broken
