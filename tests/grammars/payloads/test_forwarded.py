"""Requests and answers inside Envelopes: read by their own grammars, hidden where those say so."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kdbg
from kdbg.errors import WireError
from kdbg.protocol.definitions import apis, read
from kdbg.protocol.definitions.model import MessageDefinition
from kdbg.protocol.findings import Finding
from kdbg.protocol.grammars import serving
from kdbg.protocol.grammars.payloads.forwarded import Forwarded, message, named, request, response
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.language.payload import OpenedPayload
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.compiled import read_whole
from kdbg.protocol.wire.readings.secrets import Hidden, hide

from ...cases import for_each

TOPIC = {"name": "orders", "num_partitions": 1, "replication_factor": 1}


def whole(api: str, version: int, direction: Direction, body: dict[str, Any]) -> bytes:
    """A message with its header."""
    return kdbg.encode(body, api=api, version=version, direction=direction, header={"correlation_id": 7})


def enveloped(data: bytes) -> tuple[Any, tuple[Finding, ...]]:
    """What an Envelope with this request holds once it was encoded and decoded, and what is odd in it."""
    body = {"request_data": data, "client_host_address": b"\x7f\0\0\1"}
    encoded = kdbg.encode(body, api="Envelope", version=0, direction="request")
    decoded = kdbg.decode(encoded, api="Envelope", version=0, direction="request", header=False)
    return decoded.body["request_data"], decoded.findings


@pytest.mark.parametrize("version", [0, 4, 5, 7])
def test_a_request_opens_with_header_and_body_in_classic_and_flexible_versions(version: int) -> None:
    data = whole("CreateTopics", version, "request", {"topics": [TOPIC]})
    opened, findings = enveloped(data)
    assert findings == ()
    assert isinstance(opened, OpenedPayload)
    assert (opened, opened.name) == (data, f"CreateTopics request v{version}")
    assert opened.value["header"]["api_key"] == 19
    assert opened.value["body"]["topics"][0]["name"] == "orders"
    assert build(opened.grammar, opened.value) == data


def test_an_answer_goes_by_the_request_it_answers() -> None:
    asked = whole("CreateTopics", 5, "request", {"topics": [TOPIC]})
    data = whole("CreateTopics", 5, "response", {"topics": [{"name": "orders", "error_code": 36}]})
    (readable,) = response(data, {"request_data": asked})
    reading = readable.choose(data)
    value = read_whole(reading.grammar, data)
    assert reading.name == "CreateTopics response v5"
    assert value is not None
    assert value["header"] == {"correlation_id": 7}
    assert value["body"]["topics"][0]["error_code"] == 36


@pytest.mark.parametrize("around", [{}, {"request_data": b""}, {"request_data": None}])
def test_an_answer_whose_request_was_not_seen_stays_closed(around: dict[str, Any]) -> None:
    assert list(response(b"\0\0\0\7", around)) == []


@for_each("data", [b"", b"\0", b"\0\3\0", b"\x7f\xff\0\0", b"\xff\xff\0\0", b"\0\3\x7f\xff", b"\0\3\xff\xff"])
def test_a_request_of_no_known_api_and_version_is_refused(data: bytes) -> None:
    (readable,) = request(data, {})
    with pytest.raises(WireError):
        readable.choose(data)


def test_a_request_that_cannot_be_read_stays_closed_with_a_finding() -> None:
    data = whole("CreateTopics", 5, "request", {"topics": [TOPIC]})
    for broken in (data[:-1], data + b"\0", b"\x7f\xff" + data[2:]):
        kept, findings = enveloped(broken)
        assert kept == broken
        assert not isinstance(kept, OpenedPayload)
        assert [finding.kind for finding in findings] == ["malformed-payload"]


def test_its_secrets_are_hidden_and_nothing_else() -> None:
    user = {"name": "alice", "mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": b"hunter2"}
    data = whole("AlterUserScramCredentials", 0, "request", {"upsertions": [user]})
    reading = Forwarded("request", data).choose(data)
    shown = hide(reading.grammar, read_whole(reading.grammar, data))["body"]["upsertions"]
    assert shown == [user | {"salt": Hidden(4), "salted_password": Hidden(7)}]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_it_is_found_by_its_name(direction: Direction) -> None:
    reading = message(19, 7, direction)
    assert named(reading.name) is reading


@pytest.mark.parametrize(
    "name", ["CreateTopics request v99", "CreateTopics answer v1", "Nothing request v0", "MetricsData"]
)
def test_other_names_are_none(name: str) -> None:
    assert named(name) is None


def definition(direction: Direction, field: str) -> MessageDefinition:
    """A definition of Lamp (key 901, flexible from version 1), as a user gives it in a file."""
    fields = [{"name": field, "type": "int8", "versions": "0+"}]
    top = {"apiKey": 901, "name": f"Lamp{direction.title()}", "validVersions": "0-1", "flexibleVersions": "1+"}
    return read(json.dumps({"type": direction, "fields": fields} | top), f"{direction}.json")


@pytest.mark.parametrize("version", [0, 1])
def test_an_api_that_only_definitions_know_opens_both_ways(version: int) -> None:
    with serving(apis([definition("request", "Bar"), definition("response", "Baz")]).apis):
        asked = whole("Lamp", version, "request", {"bar": 5})
        opened, findings = enveloped(asked)
        assert findings == ()
        assert isinstance(opened, OpenedPayload)
        assert (opened.name, opened.value["body"]) == (f"Lamp request v{version}", {"bar": 5})
        answer = whole("Lamp", version, "response", {"baz": 6})
        (readable,) = response(answer, {"request_data": asked})
        reading = readable.choose(answer)
        assert named(reading.name) is reading
        assert read_whole(reading.grammar, answer) == {"header": {"correlation_id": 7}, "body": {"baz": 6}}
    kept, findings = enveloped(asked)
    assert (kept, type(kept)) == (asked, bytes)
    assert [finding.kind for finding in findings] == ["malformed-payload"]
    assert named(reading.name) is None


def test_what_another_definition_says_of_the_same_key_is_not_remembered() -> None:
    data = bytes.fromhex("0385 0000 00000007 ffff 05")
    for field in ("Bar", "Baz"):
        with serving(apis([definition("request", field)]).apis):
            opened, _ = enveloped(data)
            assert isinstance(opened, OpenedPayload)
            assert opened.value["body"] == {field.lower(): 5}
