"""What no view shows: secrets that are always ones, and those that a field beside them makes one."""

from __future__ import annotations

from typing import Any

import pytest

import kdbg
from kdbg.exchanges.messages.message import explain
from kdbg.protocol import grammars
from kdbg.protocol.wire import Boolean, Bytes, Int8, SecretRemainder, String
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.language.payload import OpenedPayload, Sealed
from kdbg.protocol.wire.language.types import Array, At, Nullable, Secret, Struct, Tag
from kdbg.protocol.wire.nodes import WireStruct
from kdbg.protocol.wire.readings.secrets import Hidden, has_secrets, hide, hide_all, is_secret, veil

from ...cases import for_each


def grammar(name: str, direction: Direction, version: int) -> WireStruct:
    return grammars.api(name).at(direction, version)


class TestHide:
    def test_a_secret_keeps_its_length_and_nothing_else(self) -> None:
        value = {"auth_bytes": b"\x00user\x00password"}
        shown = hide(grammar("SaslAuthenticate", "request", 2), value)
        assert isinstance(shown["auth_bytes"], Hidden)
        assert shown["auth_bytes"] == bytes(14)
        assert repr(shown) == "{'auth_bytes': <14 bytes redacted>}"
        assert value["auth_bytes"] == b"\x00user\x00password", "the value itself is left alone"

    def test_null_is_no_secret(self) -> None:
        shown = hide(grammar("Envelope", "response", 0), {"response_data": None, "error_code": 0})
        assert shown == {"response_data": None, "error_code": 0}

    def test_what_holds_no_secret_is_shared(self) -> None:
        value: dict[str, Any] = {"topics": [], "brokers": []}
        assert hide(grammar("Metadata", "response", 1), value) is value
        tokens: dict[str, Any] = {"tokens": [{"hmac": b"x", "renewers": [{}]}], "error_code": 0}
        shown = hide(grammar("DescribeDelegationToken", "response", 3), tokens)
        assert shown["tokens"][0]["hmac"] == bytes(1)
        assert shown["tokens"][0]["renewers"] is tokens["tokens"][0]["renewers"]

    def test_what_broke_off_is_hidden_as_far_as_it_goes(self) -> None:
        assert hide(grammar("CreateDelegationToken", "response", 3), {"error_code": 0}) == {"error_code": 0}
        assert hide(grammar("SaslAuthenticate", "request", 2), None) is None

    def test_secrets_are_found_in_structures_arrays_and_tags(self) -> None:
        inner = Struct("key" / Secret(Bytes))
        struct = Struct(
            "one" / inner, "maybe" / Nullable(inner), "none" / Nullable(inner), "many" / Array("key" / Secret(Bytes)),
            "tagged" / Tag(0, Secret(String)), "open" / String,
        ).structure(At(0, True))  # fmt: skip
        key = {"key": b"abc"}
        value = {"one": key, "maybe": key, "none": None, "many": [key, key], "tagged": "abc", "open": "abc"}
        shown = hide(struct, value)
        hidden = {"key": Hidden(3)}
        assert shown == {
            "one": hidden, "maybe": hidden, "none": None, "many": [hidden, hidden], "tagged": Hidden(3), "open": "abc",
        }  # fmt: skip

    def test_the_token_behind_a_sasl_handshake_is_hidden(self) -> None:
        from kdbg.protocol.grammars.sasl import api

        assert hide(api.at("request", 0), {"token": b"abc"}) == {"token": Hidden(3)}


class TestVeil:
    """Payloads inside messages: those that hold a secret show the rest, those that could not be read nothing."""

    GRAMMAR = Struct("name" / String, "password" / Secret(String)).at(At(0, False))

    def test_a_payload_that_could_not_be_read_is_hidden(self) -> None:
        shown = veil(Sealed(b"s3cret"))
        assert isinstance(shown, Hidden)
        assert repr(shown) == "<6 bytes redacted>"

    @pytest.mark.parametrize("data", [b"plain", None, "text"])
    def test_all_others_are_as_they_are(self, data: Any) -> None:
        assert veil(data) is data

    def test_a_payload_without_secrets_is_as_it_is(self) -> None:
        opened = OpenedPayload.of(b"abc", "Lamp", self.GRAMMAR, {"name": "a"}, secret=False)
        assert veil(opened) is opened

    def test_of_a_payload_with_secrets_they_alone_are_hidden_and_it_still_says_that_it_has_them(self) -> None:
        value = {"name": "alice", "password": "s3cret"}
        shown = veil(OpenedPayload.of(b"alice s3cret", "Lamp", self.GRAMMAR, value, secret=True))
        assert (shown, shown.name, shown.secret) == (bytes(12), "Lamp", True)
        assert str(shown.value) == "{'name': 'alice', 'password': <6 bytes redacted>}"


def test_of_a_broken_message_no_text_and_no_bytes_are_shown() -> None:
    value = {"error": 5, "names": ["alice", b"s3c"], "inner": {"password": "ß", "flag": True}, "none": None}
    assert str(hide_all(value)) == (
        "{'error': 5, 'names': [<5 bytes redacted>, <3 bytes redacted>], "
        "'inner': {'password': <2 bytes redacted>, 'flag': True}, 'none': None}"
    )


class TestConditions:
    """Configuration values: secret when the broker says so, or when the key sounds like it."""

    @pytest.mark.parametrize(("sensitive", "secret"), [(True, True), (False, False)])
    def test_a_broker_says_which_values_are_sensitive(self, sensitive: bool, secret: bool) -> None:
        config = {"name": "ssl.truststore.type", "value": "hunter2", "is_sensitive": sensitive, "synonyms": []}
        value = {"results": [{"error_code": 0, "configs": [config]}]}
        shown = hide(grammar("DescribeConfigs", "response", 4), value)["results"][0]["configs"][0]
        assert (shown["value"] == Hidden(7)) is secret
        assert (shown["value"] == "hunter2") is not secret
        assert shown["name"] == "ssl.truststore.type"

    @for_each(
        ("name", "secret"),
        [
            ("ssl.keystore.password", True), ("sasl.jaas.config", True), ("listener.name.x.SASL.JAAS.CONFIG", True),
            ("ssl.keystore.key", True), ("sasl.oauthbearer.client.credentials.client.secret", True),
            ("retention.ms", False), ("ssl.keystore.location", False), ("cleanup.policy", False),
            ("listener.name.x.ssl.keystore.type", False), ("listener.name.x.plain.sasl.server.max.receive.size", False),
            ("listener.name.x.ssl.keystore.certificate.chain", True), ("retention.mr", True), ("", True),
            ("key.passphrase", True), ("db.pwd", True), ("my.api.key", True), ("my.connection.string", True),
            ("password.encoder.iterations", False), ("SCRAM-SHA-256", True), ("producer_byte_rate", False),
        ],
    )  # fmt: skip
    def test_a_request_has_but_the_name_to_go_by(self, name: str, secret: bool) -> None:
        value = {"resources": [{"configs": [{"name": name, "config_operation": 0, "value": "hunter2"}]}]}
        shown = hide(grammar("IncrementalAlterConfigs", "request", 1), value)["resources"][0]["configs"][0]
        assert (shown["value"] == Hidden(7)) is secret

    def test_where_the_deciding_field_is_missing_it_is_a_secret(self) -> None:
        """A message that broke off before `is_sensitive` must not show what it may have been hiding."""
        value = {"results": [{"configs": [{"name": "password", "value": "hunter2", "read_only": False}]}]}
        shown = hide(grammar("DescribeConfigs", "response", 4), value)
        assert shown["results"][0]["configs"][0]["value"] == Hidden(7)

    def test_a_field_alone_can_be_asked_for(self) -> None:
        struct = Struct("name" / String, "value" / Secret(String, when="name"), "n" / Int8).structure(At(0, False))
        _, value, number = (field.node for field in struct.fields)
        assert is_secret(value, {"name": "my.password"})
        assert not is_secret(value, {"name": "port"})
        assert is_secret(value, {})
        assert not is_secret(number, {})
        assert is_secret(SecretRemainder, {})


WITH_SECRETS = {
    "SaslAuthenticate-request", "SaslAuthenticate-response", "CreateDelegationToken-response",
    "RenewDelegationToken-request", "ExpireDelegationToken-request", "DescribeDelegationToken-response",
    "AlterUserScramCredentials-request", "AlterConfigs-request", "IncrementalAlterConfigs-request",
    "DescribeConfigs-response", "CreateTopics-request", "CreateTopics-response", "Envelope-request",
    "Envelope-response",
}  # fmt: skip
"""Every message that can carry one; a new secret belongs here and into a test above."""


def test_which_messages_have_secrets() -> None:
    found = {
        f"{api.name}-{direction}"
        for api in grammars.apis()
        for direction in DIRECTIONS
        if any(has_secrets(api.at(direction, version)) for version in api.versions)
    }
    assert found == WITH_SECRETS


def secret_bytes(data: bytes, api: str, direction: Direction, version: int) -> bytes:
    """The bytes under secret spans."""
    _, inspection = explain(grammars.api(api), version, direction, data, header=False)
    return b"".join(data[span.start : span.end] for span in inspection.spans if span.secret)


class TestSpans:
    def test_spans_know_which_bytes_are_secret(self) -> None:
        data = kdbg.encode({"auth_bytes": b"hunter2"}, api="SaslAuthenticate", version=2, direction="request")
        assert secret_bytes(data, "SaslAuthenticate", "request", 2) == b"\x08hunter2"

    @pytest.mark.parametrize("sensitive", [True, False])
    def test_a_condition_that_is_read_later_still_counts(self, sensitive: bool) -> None:
        config = {"name": "x", "value": "hunter2", "is_sensitive": sensitive}
        body = {"results": [{"resource_name": "topic", "configs": [config, config]}]}
        data = kdbg.encode(body, api="DescribeConfigs", version=4, direction="response")
        assert secret_bytes(data, "DescribeConfigs", "response", 4) == b"\x08hunter2" * 2 * sensitive

    @for_each(
        ("api", "direction", "version", "body"),
        [
            ("SaslAuthenticate", "request", 2, {"auth_bytes": b"hunter2"}),
            ("SaslAuthenticate", "response", 1, {"auth_bytes": b"hunter2", "session_lifetime_ms": 5}),
            ("SaslAuthenticate", "response", 2, {"auth_bytes": b"hunter2", "session_lifetime_ms": 5}),
            ("CreateDelegationToken", "response", 3, {"hmac": b"hunter2", "throttle_time_ms": 1}),
            ("RenewDelegationToken", "request", 2, {"hmac": b"hunter2", "renew_period_ms": 1}),
            ("Envelope", "request", 0, {"request_data": b"hunter2", "request_principal": b"me"}),
            ("AlterUserScramCredentials", "request", 0, {"upsertions": [{"name": "u", "salt": b"hunter2"}]}),
            ("AlterConfigs", "request", 2, {"resources": [{"configs": [{"name": "a.password", "value": "hunter2"}]}]}),
            ("DescribeConfigs", "response", 4, {"results": [{"configs": [
                {"name": "x", "value": "hunter2", "is_sensitive": True},
            ]}]}),
        ],
    )  # fmt: skip
    def test_no_cut_of_a_message_shows_its_secret(
        self, api: str, direction: Direction, version: int, body: Any
    ) -> None:
        """Neither a span nor the body, wherever the message breaks off or a byte is added."""
        data = kdbg.encode(body, api=api, version=version, direction=direction)
        for cut in [*(data[:end] for end in range(len(data) + 1)), data + b"\xff"]:
            layout, inspection = explain(grammars.api(api), version, direction, cut, header=False)
            open_bytes = b"".join(cut[span.start : span.end] for span in inspection.spans if not span.secret)
            assert b"hunter" not in open_bytes, len(cut)
            assert "hunter2" not in repr(hide(layout, inspection.value)), len(cut)


def test_boolean_conditions_are_booleans_in_the_grammar() -> None:
    """`when` names a sibling that exists in every version that has the secret."""
    for api in grammars.apis():
        for direction in DIRECTIONS:
            for version in api.versions:
                for struct in structures(api.at(direction, version)):
                    kinds = {field.name: field.node for field in struct.fields}
                    for node in list(kinds.values()):
                        when = getattr(node, "when", "")
                        assert not when or kinds[when] is Boolean or kinds[when].bnf.endswith("STRING")


def structures(node: Any) -> list[WireStruct]:
    inner = [node.item] if hasattr(node, "item") else [node.struct] if hasattr(node, "struct") else []
    if isinstance(node, WireStruct):
        inner = [field.node for field in (*node.fields, *(node.tags or {}).values())]
    found = [struct for child in inner for struct in structures(child)]
    return [node, *found] if isinstance(node, WireStruct) else found
