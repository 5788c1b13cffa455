"""APIs served beside kdbg's own: everything that asks for an API sees them, until the context ends."""

from __future__ import annotations

import pytest

from kdbg.errors import UnknownApi
from kdbg.exchanges.engine import requests
from kdbg.exchanges.messages.message import opaque_api
from kdbg.exchanges.messages.message import read as read_message
from kdbg.protocol import grammars
from kdbg.protocol.wire import Api, Int8, Struct
from kdbg.protocol.wire.language.types import Unread
from kdbg.views.render.values import api_key

LAMP = Api(901, "Lamp", Struct("bar" / Int8), Struct("baz" / Int8), range(2))
REQUEST = bytes.fromhex("0385 0001 00000007 ffff 05")
"""Lamp v1, correlation id 7, no client id, bar 5."""


def test_a_new_api_is_found_by_key_and_by_name() -> None:
    with grammars.serving([LAMP]):
        assert grammars.api(901) is grammars.api("lamp") is grammars.api("901") is grammars.find(901) is LAMP
        assert list(grammars.apis())[-1] is LAMP
        assert grammars.name_of(901) == "Lamp"
        assert api_key(901) == "901  Lamp"
        with pytest.raises(UnknownApi, match="did you mean Lamp"):
            grammars.api("lammp")


def test_it_is_forgotten_when_the_context_ends_even_by_an_error() -> None:
    with pytest.raises(ZeroDivisionError), grammars.serving([LAMP]):
        raise ZeroDivisionError
    assert grammars.find(901) is None
    assert grammars.name_of(901) is None
    assert 901 not in [api.key for api in grammars.apis()]
    with pytest.raises(UnknownApi):
        grammars.api("lamp")


def test_contexts_stand_inside_each_other() -> None:
    other = Api(901, "Torch", LAMP.request, LAMP.response, range(1))
    with grammars.serving([LAMP]):
        with grammars.serving([other]):
            assert grammars.api(901) is other
        assert grammars.api(901) is LAMP


def test_one_of_a_known_key_stands_in_for_kdbgs_own() -> None:
    newer = Api(12, "Heartbeat", LAMP.request, LAMP.response, range(9))
    with grammars.serving([newer]):
        assert grammars.api("heartbeat") is grammars.by_key(12) is newer
        assert [api.key for api in grammars.apis()] == list(grammars.ENTRIES)
    assert grammars.api("heartbeat") is grammars.own(12)


def test_requests_are_recognised_while_their_api_is_served() -> None:
    """What is remembered of requests, of patterns and of unknown APIs is forgotten when the APIs change."""
    frame = len(REQUEST).to_bytes(4, "big") + REQUEST
    for served in (False, True, False):
        with grammars.serving([LAMP] if served else []):
            header = requests.begins(frame)
            assert header is not None
            assert (header.known, header.api.name) == ((True, "Lamp") if served else (False, "Unknown(901)"))
            assert (requests.search(b"\xff" * 9 + frame, 0) == 9) is served


def test_an_unknown_version_keeps_its_body_as_bytes_in_flexible_versions_too() -> None:
    """Once it was read as if tagged fields stood behind it, and reported as truncated."""
    api = grammars.api("ConsumerGroupHeartbeat")
    assert api.flexible == 0
    message = read_message(api, 9, "request", bytes.fromhex("0044 0009 00000001 0001 61 00") + b"abc")
    assert message.body == {"body": b"abc"}
    assert [finding.kind for finding in message.findings] == ["unknown-version"]


def test_a_direction_without_a_grammar_is_said_to_be_so() -> None:
    half = Api(901, "Lamp", LAMP.request, Unread(), range(2))
    with grammars.serving([half]):
        message = read_message(half, 1, "response", bytes.fromhex("00000007 010203"))
    assert message.body == {"body": b"\x01\x02\x03"}
    (finding,) = message.findings
    assert str(finding.text) == "no response layout for Lamp v1; 3 body bytes not decoded"


def test_bytes_of_which_nobody_knows_what_they_hold_are_hidden() -> None:
    assert opaque_api(36).at("request", 0).fields[0].node.kind == "secret"
    assert opaque_api(901).at("request", 0).fields[0].node.kind == "secret"
