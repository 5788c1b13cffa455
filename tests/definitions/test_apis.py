"""Definitions become APIs: new ones, new versions of known ones, and known versions laid out otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kdbg.errors import DefinitionError
from kdbg.protocol import grammars
from kdbg.protocol.definitions import DefinedApis, apis, read
from kdbg.protocol.wire import Api
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.layout import bnf
from kdbg.protocol.wire.readings.secrets import has_secrets


def definition(name: str, key: int, fields: list[dict[str, Any]], valid: str = "0-1", **top: Any) -> str:
    kind = "response" if name.endswith("Response") else "request"
    return json.dumps({"apiKey": key, "type": kind, "name": name, "validVersions": valid, "fields": fields} | top)


def field(name: str, type: str, versions: str = "0+", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "versions": versions} | more


def given(*texts: str) -> DefinedApis:
    return apis(read(text, f"{i}.json") for i, text in enumerate(texts))


def one(*texts: str) -> Api:
    (api,) = given(*texts).apis
    return api


HEARTBEAT = [
    field("GroupId", "string"), field("GenerationId", "int32"), field("MemberId", "string"),
    field("GroupInstanceId", "string", "3+", nullableVersions="3+", default="null"),
]  # fmt: skip
"""What kdbg has of Heartbeat requests up to version 4."""
MOOD = field("Mood", "int8", "5+")


class TestNew:
    """An API key that kdbg has never heard of."""

    def test_request_and_response_become_one_api(self) -> None:
        lamp = one(
            definition("LampRequest", 901, [field("Bar", "int8")], flexibleVersions="1+"),
            definition("LampResponse", 901, [field("Baz", "int16")], flexibleVersions="1+"),
        )
        assert (lamp.key, lamp.name, lamp.versions, lamp.flexible) == (901, "Lamp", range(2), 1)
        assert lamp.given == ("0.json", "1.json")
        assert bnf("Lamp", lamp.at("request", 0)) == "Lamp => bar\n  bar => INT8"
        assert bnf("Lamp", lamp.at("response", 0)) == "Lamp => baz\n  baz => INT16"
        headers = [lamp.header_version(side, version) for side in ("request", "response") for version in (0, 1)]
        assert headers == [1, 2, 0, 1]

    def test_a_direction_that_is_not_given_stays_bytes(self) -> None:
        lamp = one(definition("LampRequest", 901, [field("Bar", "int8")], flexibleVersions="0+"))
        assert lamp.reads("request", 1)
        assert not lamp.reads("response", 1)
        assert lamp.at("response", 1).parse(b"\x01\x02\x03") == {"body": b"\x01\x02\x03"}

    def test_messages_that_are_no_api_and_removed_ones_are_passed_over(self) -> None:
        stored = '{ "type": "data", "name": "FooValue", "validVersions": "0", "fields": [] }'
        removed = '{ "apiKey": 4, "type": "request", "name": "LeaderAndIsrRequest", "validVersions": "none" }'
        assert given(stored, removed) == DefinedApis((), ())

    @pytest.mark.parametrize(
        ("other", "problem"),
        [
            (definition("LampRequest", 901, []), "0.json also defines the request of API key 901"),
            (definition("TorchResponse", 901, []), '"name" is Torch here, but Lamp in 0.json'),
            (definition("LampResponse", 901, [], "0-2"), '"validVersions" is 0-2 here, but 0-1 in 0.json'),
            (definition("LampResponse", 901, [], flexibleVersions="1+"),
             '"flexibleVersions" is 1+ here, but none in 0.json'),
            (definition("LampResponse", 901, [], versionsWithOptional="1+"),
             '"versionsWithOptional" is 1+ here, but none in 0.json'),
        ],
    )  # fmt: skip
    def test_what_contradicts_the_other_file_is_refused(self, other: str, problem: str) -> None:
        with pytest.raises(DefinitionError) as refused:
            given(definition("LampRequest", 901, []), other)
        assert str(refused.value) == f"1.json:1: {problem}"

    def test_a_name_that_is_taken_is_refused(self) -> None:
        with pytest.raises(DefinitionError, match="also has the name Lamp, for API key 901"):
            given(definition("LampRequest", 901, []), definition("LampRequest", 902, []))
        with pytest.raises(
            DefinitionError, match="Fetch is the name of API key 1, but this definition has API key 901"
        ):
            given(definition("FetchRequest", 901, []))


class TestBesideKdbgsOwn:
    """An API key that kdbg has a grammar for."""

    own = replace(grammars.own(12), versions=range(5), _layouts={})
    """Heartbeat with the versions that these definitions have as well, whatever the registry knows by now."""

    @pytest.fixture(autouse=True)
    def served(self) -> Iterator[None]:
        with grammars.serving([self.own]):
            yield

    def request(
        self, *fields: dict[str, Any], valid: str = "0-5", flexible: str = "4+", name: str = "Heartbeat"
    ) -> str:
        return definition(f"{name}Request", 12, [*HEARTBEAT, *fields], valid, flexibleVersions=flexible)

    def test_the_same_again_changes_nothing(self) -> None:
        same = given(self.request(valid="0-4"))
        assert same == DefinedApis((self.own,), ())

    def test_a_new_version_is_added_and_the_others_stay(self) -> None:
        found = given(self.request(MOOD))
        (heartbeat,) = found.apis
        assert found.notes == ()
        assert (heartbeat.name, heartbeat.versions, heartbeat.given) == ("Heartbeat", range(6), ("0.json",))
        assert [field.name for field in heartbeat.at("request", 5).fields][-1] == "mood"
        for version in self.own.versions:
            data = build(self.own.at("request", version), {"group_id": "g"})
            assert heartbeat.at("request", version).parse(data)["group_id"] == "g"
            assert heartbeat.at("request", version).fields[0].node.kind == "group"

    def test_the_response_of_a_new_version_that_is_not_given_stays_bytes(self) -> None:
        heartbeat = one(self.request(MOOD))
        assert heartbeat.reads("response", 4)
        assert not heartbeat.reads("response", 5)

    def test_a_version_laid_out_otherwise_is_followed_and_noted(self) -> None:
        found = given(self.request(field("Mood", "int8", "2-3"), valid="0-4"))
        (heartbeat,) = found.apis
        note = "0.json: versions 2-3 of Heartbeat requests: differs from kdbg's own definition; the file is used"
        assert found.notes == (note,)
        lengths = [len(heartbeat.at("request", version).fields) for version in range(5)]
        assert lengths == [3, 3, 4, 5, 4]

    def test_another_name_becomes_an_alias(self) -> None:
        heartbeat = one(self.request(MOOD, name="Pulse"))
        with grammars.serving([heartbeat]):
            assert heartbeat.name == "Heartbeat"
            assert grammars.api("heartbeat") is heartbeat

    def test_what_fields_mean_in_kdbgs_own_they_mean_in_new_versions(self) -> None:
        acks = field("Acks", "int16")
        produce = one(definition("ProduceRequest", 0, [acks], "14", flexibleVersions="9+"))
        assert produce.at("request", 14).fields[0].node.names == {0: "NONE", 1: "LEADER", -1: "ALL"}

    def test_what_is_secret_stays_secret_wherever_it_stands(self) -> None:
        wrapped = field("Round", "Round", fields=[field("AuthBytes", "bytes")])
        sasl = one(definition("SaslAuthenticateRequest", 36, [wrapped], "3", flexibleVersions="2+"))
        assert has_secrets(sasl.at("request", 3))
        configs = field("Configs", "[]Config", fields=[field("Name", "string"), field("Value", "string")])
        resources = field("Resources", "[]Resource", fields=[configs])
        altering = one(definition("AlterConfigsRequest", 33, [resources], "3", flexibleVersions="2+"))
        assert has_secrets(altering.at("request", 3))

    def test_a_direction_that_stays_bytes_hides_them_where_the_api_has_secrets(self) -> None:
        sasl = one(definition("SaslAuthenticateRequest", 36, [field("AuthBytes", "bytes")], "3", flexibleVersions="2+"))
        assert has_secrets(sasl.at("response", 3))

    @pytest.mark.parametrize(
        ("valid", "flexible", "problem"),
        [
            ("7-8", "4+", "versions are missing between these and kdbg's own (versions 0-4)"),
            ("5", "none", "version 4 is flexible, but a later one is not"),
            ("3", "3+", "request and response of version 3 have different headers"),
        ],
    )
    def test_what_does_not_fit_kdbgs_own_is_refused(self, valid: str, flexible: str, problem: str) -> None:
        with pytest.raises(DefinitionError) as refused:
            given(self.request(valid=valid, flexible=flexible))
        assert str(refused.value) == f"0.json:1: {problem}"
