"""Where a grammar ends in bytes: the same place as the reading with spans finds, or none where that breaks off."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kdbg.protocol import grammars
from kdbg.protocol.grammars.payloads import payloads
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.language.payload import Payload
from kdbg.protocol.wire.nodes import Node, build
from kdbg.protocol.wire.readings.annotate import inspect
from kdbg.protocol.wire.readings.compiled import UNREADABLE
from kdbg.protocol.wire.readings.measure import end_of

from ...cases import for_each
from .test_compiled import Message, damaged, messages


def end(grammar: Node, data: bytes) -> int | None:
    try:
        return end_of(grammar, data, 0)
    except UNREADABLE:
        return None


def assert_agrees(grammar: Node, data: bytes) -> None:
    inspection = inspect(grammar, data)
    assert end(grammar, data) == (None if inspection.broken else inspection.end)


@given(messages())
def test_a_clean_message_ends_where_its_bytes_end(made: Message) -> None:
    grammar, data = made
    assert end_of(grammar, data, 0) == len(data)
    assert end_of(grammar, b"\1\2\3" + data + b"\0", 3) == len(data) + 3


@given(st.lists(damaged(), min_size=8, max_size=8))
def test_a_damaged_message_ends_where_its_reading_does(made: list[Message]) -> None:
    for grammar, data in made:
        assert_agrees(grammar, data)


@given(st.sampled_from(list(grammars.ENTRIES)), st.sampled_from(DIRECTIONS), st.binary(max_size=60))
def test_any_bytes_end_where_their_reading_does(key: int, direction: Direction, data: bytes) -> None:
    api = grammars.by_key(key)
    for version in api.versions:
        assert_agrees(api.at(direction, version), data)


@for_each("payload", list(payloads()), ids=lambda payload: payload.name)
def test_a_payload_ends_where_its_bytes_end(payload: Payload) -> None:
    for version in payload.versions:
        grammar = payload.framed(version)
        data = build(grammar, grammar.default())
        assert_agrees(grammar, data)
        assert_agrees(grammar, data[:-1])
