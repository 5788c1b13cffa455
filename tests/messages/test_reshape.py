"""Bodies brought from one version to another, over all APIs; what the other version cannot say is named or refused."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

import kdbg
from kdbg.errors import BuildError
from kdbg.exchanges.messages.reshape import FOLDED, Reshaper
from kdbg.protocol import grammars
from kdbg.protocol.wire import Api
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.nodes import WireArray, WireStruct, build
from kdbg.protocol.wire.readings.compiled import read_whole

from ..cases import for_each

TOPIC = UUID(int=77)


def filled(node: Any, default: Any = None) -> Any:
    """A value with one item in each array, so that every field is there."""
    if isinstance(node, WireStruct):
        return {field.name: filled(field.node, field.default) for field in node.fields}
    if isinstance(node, WireArray):
        return [filled(node.item, node.item.default() if not isinstance(node.item, WireStruct) else None)]
    if node.kind == "topic":
        return "orders"
    return TOPIC if node.kind == "topic_id" else default


PAIRS = [
    (api, direction, version, wanted)
    for api in grammars.apis()
    for direction in DIRECTIONS
    for version in api.versions
    for wanted in (version - 1, version + 1, api.versions[0], api.versions[-1])
    if wanted in api.versions and wanted != version and api.reads(direction, version) and api.reads(direction, wanted)
]


@for_each("api, direction, version, wanted", PAIRS, by=lambda api: api.name[0])
def test_every_version_can_be_brought_to_the_others(api: Api, direction: Direction, version: int, wanted: int) -> None:
    body = filled(api.at(direction, version))
    reshaper = Reshaper(lambda topic: "orders", lambda name: TOPIC)
    made = reshaper.reshaped(api, direction, body, version, wanted)
    data = build(api.at(direction, wanted), made)
    assert read_whole(api.at(direction, wanted), data) is not None


def test_what_has_no_place_is_named() -> None:
    api = grammars.api("metadata")
    body = {"topics": None, "allow_auto_topic_creation": True, "include_topic_authorized_operations": True}
    reshaper = Reshaper()
    made = reshaper.reshaped(api, "request", body, 11, 4)
    assert made == {"topics": None, "allow_auto_topic_creation": True}
    assert reshaper.lost == ["include_topic_authorized_operations"]


def test_defaults_are_not_missed() -> None:
    reshaper = Reshaper()
    body = {"topics": None, "allow_auto_topic_creation": True, "include_topic_authorized_operations": False}
    reshaper.reshaped(grammars.api("metadata"), "request", body, 11, 4)
    assert reshaper.lost == []


def test_topics_go_by_name_or_by_id_as_the_version_has_it() -> None:
    api = grammars.api("produce")
    part = {"index": 0, "records": [{"records": [{"key": None, "value": "x"}]}]}
    body = {"acks": 1, "timeout_ms": 9, "topic_data": [{"topic_id": TOPIC, "partition_data": [part]}]}
    made = Reshaper({TOPIC: "orders"}.get).reshaped(api, "request", body, 13, 9)
    assert made["topic_data"][0]["name"] == "orders"
    again = Reshaper(id_of={"orders": TOPIC}.get).reshaped(api, "request", made, 9, 13)
    assert again["topic_data"][0]["topic_id"] == TOPIC
    with pytest.raises(BuildError, match="the name of topic"):
        Reshaper().reshaped(api, "request", body, 13, 9)
    with pytest.raises(BuildError, match="the id of topic 'orders'"):
        Reshaper().reshaped(api, "request", made, 9, 13)


@for_each("name, direction", FOLDED)
def test_what_is_said_once_or_many_times_goes_both_ways(name: str, direction: Direction) -> None:
    api, fold = grammars.api(name), FOLDED[name, direction]
    early = fold.since - 1
    body = filled(api.at(direction, early))
    later = Reshaper().reshaped(api, direction, body, early, fold.since)
    assert len(later[fold.name]) == 1
    back = Reshaper().reshaped(api, direction, later, fold.since, early)
    assert {each: back[each] for each in fold.fields if each in body} == {
        each: body[each] for each in fold.fields if each in body
    }
    with pytest.raises(BuildError, match="has only one"):
        Reshaper().reshaped(api, direction, later | {fold.name: later[fold.name] * 2}, fold.since, early)


def test_the_same_version_is_the_same_bytes() -> None:
    for exchange in kdbg.read_capture("captures/first-contact.pcap"):
        message = exchange.request.message() if exchange.request is not None else None
        assert message is not None
        made = Reshaper().reshaped(message.api, "request", message.body, message.version, message.version)
        assert made == message.body
