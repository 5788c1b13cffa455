"""Kafka's own generated classes agree, those of the newest release: every version of every message, both ways.

Java writes random messages by its own schemas and kdbg reads them; kdbg writes random values of its grammars and Java
reads them. Values are compared as the JSON of Kafka's converters, and each side writes the other's bytes again.
The versions that Kafka 4 has no classes for any more are compared with those of Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.nodes import TAGGED, Node, WireStruct

from ..cases import for_each
from ..evidence.proofs import proved
from ..evidence.releases import asked, claimed, lifetimes
from ..grammars.values import full
from ..peers.dice import Dice, Message, RandomMaker
from .javamessages import JavaMessages, as_java, from_java, through, without_defaults
from .pool import needed
from .releases import release

ROUNDS = 4
NULL_UNSAID = ("ShareGroupHeartbeat-response-v0",)
"""Versions of 3.9 that Java does not write at random: its Schema says nothing of a structure's null (KIP-893), though
its generated class reads and writes it."""
LARGEST_TAG = 2**31 - 2
"""Of the tags that Java reads: the next is one that it refuses by name, those beyond become negative."""
RELEASES = release("4.4"), release("3.9")
KEYS = sorted(grammars.ENTRIES)
Classes = dict[Message, tuple[JavaMessages, str, int]]
"""Message -> the JVM that has a class for it, the class, and the version of the header in front of it."""


@pytest.fixture(scope="module")
def classes() -> Iterator[Classes]:
    """Those of Kafka 4.4, and of 3.9 what 4.4 has no more."""
    newer, older = (release.broker_artifacts for release in RELEASES)
    with needed(), JavaMessages(newer) as newest, JavaMessages(older) as before:
        yield known(before) | known(newest)


def known(messages: JavaMessages) -> Classes:
    messages.ask("records", Dice("a record set").records().hex())
    return {
        Message(api.key, api.direction, version): (messages, api.name, header)
        for api in messages.apis()
        for version, header in api.headers.items()
    }


def known_of(key: int, direction: Direction, classes: Classes) -> list[Message]:
    """The versions of a message that Java has classes for."""
    return [message for message in classes if (message.key, message.direction) == (key, direction)]


def test_kdbg_has_every_version_that_java_has_and_what_java_has_is_claimed(classes: Classes) -> None:
    for message in classes:
        assert message.version in grammars.api(message.key).versions, message
    assert set(classes) == proved("java"), "python -m tests.evidence java"


def test_the_releases_are_those_of_the_classes() -> None:
    """Those of every release since the table: what one brought, and what it had no more."""
    with needed():
        assert lifetimes(asked()) == claimed(), "python -m tests.evidence java"


def test_headers_have_the_versions_that_java_says(classes: Classes) -> None:
    for message, (_, _, header) in classes.items():
        assert grammars.api(message.key).header_version(message.direction, message.version) == header, message


@for_each("key", KEYS, by=lambda key: str(grammars.name_of(key))[0], ids=grammars.name_of)
@for_each("direction", DIRECTIONS)
def test_what_java_writes_is_read(key: int, direction: Direction, classes: Classes) -> None:
    for message in known_of(key, direction, classes):
        version = message.version
        java, name, _ = classes[message]
        if str(message) in NULL_UNSAID:
            continue
        for seed in range(ROUNDS):
            data, value = java.random(name, version, seed)
            body = message.decode(data)
            assert as_java(message.grammar, body) == from_java(message.grammar, value), message
            assert message.encode(body) == data, message


@for_each("key", KEYS, by=lambda key: str(grammars.name_of(key))[0], ids=grammars.name_of)
@for_each("direction", DIRECTIONS)
def test_what_is_written_java_reads(key: int, direction: Direction, classes: Classes) -> None:
    for message in known_of(key, direction, classes):
        version = message.version
        java, name, _ = classes[message]
        for i in range(ROUNDS):
            value = RandomMaker(Dice(f"{message} {i}")).value(message.grammar)
            again, read = java.read(name, version, message.encode(value))
            assert from_java(message.grammar, read) == as_java(message.grammar, value), message
            assert again == message.encode(without_defaults(message.grammar, value)), message


def test_unknown_tagged_fields_are_kept_by_java_as_they_are_by_kdbg(classes: Classes) -> None:
    for message, (java, name, _) in classes.items():
        if message.version >= grammars.api(message.key).flexible:
            value = without_defaults(message.grammar, full(message.grammar))
            data = message.encode(with_tags(message.grammar, value))
            again, _ = java.read(name, message.version, data)
            assert again == data, message


def with_tags(node: Node, value: Any) -> Any:
    """The value with tagged fields that no grammar names in every structure."""
    value = through(node, value, with_tags)
    return value | {TAGGED: {1000: b"\x00\x01", LARGEST_TAG: b""}} if isinstance(node, WireStruct) else value
