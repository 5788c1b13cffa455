"""Kafka's generated classes agree with every payload that they know: user data, records of internal topics, both ways.

As test_java_messages.py does it, for the layouts alone, without the frames in front of them. What Kafka 4.4 has no
class for is compared with Kafka 3.9's, in the form that it had then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pytest

from kdbg.protocol.grammars.payloads import ALIASES, payloads
from kdbg.protocol.wire.language.payload import Payload
from kdbg.protocol.wire.language.types import NEWEST
from kdbg.protocol.wire.language.types import Release as Form
from kdbg.protocol.wire.nodes import WireStruct, build

from ..evidence.proofs import proved_payloads
from ..peers.dice import Dice, RandomMaker
from .javamessages import JavaError, JavaMessages, as_java, from_java, without_defaults
from .pool import needed
from .releases import release

ROUNDS = 8
FORMS: tuple[Form, Form] = (NEWEST, (3, 9))
PAYLOADS = list(payloads())
NO_CLASS = {
    "StickyAssignorUserData", "StickyAssignorUserDataV0", "StickyAssignorUserDataV1",
    "CooperativeStickyAssignorUserDataV0", "AssignmentInfo", "SubscriptionInfoData", "ConnectWorkerState",
    "ConnectAssignment", "AccessControlRecord", "RemoveFeatureLevelRecord", "ControlRecordKey",
}  # fmt: skip
"""Payloads without a class in either release: laid out by hand in assignors and Connect, in the jar of Kafka Streams,
of previews, or, as the last, under another name."""
NO_PAYLOAD = {"RequestHeaderData", "ResponseHeaderData", "AbortedTxn", *ALIASES}
"""Classes for what kdbg has elsewhere: headers, the index of transactions, other names of the same."""
OTHER_NULL = "ConsumerGroupMemberMetadataValue"
"""Has a tagged structure that may be null. Java's Schema writes -1 for that, and its own generated class, which is what
brokers use, cannot read it: there it is 0."""


class Known(NamedTuple):
    """A version of a payload in the form of one release, and the class for it."""

    payload: Payload
    number: int
    """The version in kdbg: of a key, the number that says what it is."""
    form: Form
    java: JavaMessages
    name: str
    version: int
    """The version in Java: since Kafka 4 keys have 0 there."""

    def __str__(self) -> str:
        return f"{self.payload.name} v{self.number}"

    @property
    def grammar(self) -> WireStruct:
        return self.payload.at(self.number, self.form)


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[JavaMessages, JavaMessages]]:
    newer, older = (release(name).broker_artifacts for name in ("4.4", "3.9"))
    with needed(), JavaMessages(newer) as newest, JavaMessages(older) as before:
        yield newest, before


@pytest.fixture(scope="module")
def known(both: tuple[JavaMessages, JavaMessages]) -> list[Known]:
    """Every version of every payload that Java knows, each once."""
    newest, before = both
    found = [*versions(before, FORMS[1]), *versions(newest, FORMS[0])]
    return list({(it.payload.name, it.number): it for it in found}.values())


def payload_versions(known: Iterable[Known]) -> set[tuple[str, int]]:
    return {(it.payload.name, it.number) for it in known}


def versions(java: JavaMessages, form: Form) -> Iterator[Known]:
    names = simple_names(java)
    for payload in PAYLOADS:
        if payload.name in names:
            there = java.versions(names[payload.name])
            for number in payload.versions:
                version = number if number in there or not payload.name.endswith("Key") else 0
                if version in there:
                    yield Known(payload, number, form, java, names[payload.name], version)


def simple_names(java: JavaMessages) -> dict[str, str]:
    return {name.rpartition(".")[2]: name for name in java.generated()}


def test_every_class_and_every_payload_is_known_or_explained(
    both: tuple[JavaMessages, JavaMessages], known: list[Known]
) -> None:
    names = {payload.name for payload in PAYLOADS}
    assert {*simple_names(both[0]), *simple_names(both[1])} - NO_PAYLOAD == names - NO_CLASS
    compared = payload_versions(known)
    assert compared == {(it.name, v) for it in PAYLOADS if it.name not in NO_CLASS for v in it.versions}
    assert compared == proved_payloads("java"), "python -m tests.evidence java"


def test_what_java_writes_is_read(known: list[Known]) -> None:
    for it in known:
        for seed in range(ROUNDS):
            try:
                data, value = it.java.random(it.name, it.version, seed)
            except JavaError:
                assert it.payload.name == OTHER_NULL
                continue
            parsed = it.grammar.parse(data)
            assert as_java(it.grammar, parsed) == from_java(it.grammar, value), str(it)
            assert build(it.grammar, parsed) == data, str(it)


def test_what_is_written_java_reads(known: list[Known]) -> None:
    for it in known:
        for i in range(ROUNDS):
            value = RandomMaker(Dice(f"{it} {i}")).value(it.grammar)
            again, read = it.java.read(it.name, it.version, build(it.grammar, value))
            assert from_java(it.grammar, read) == as_java(it.grammar, value), str(it)
            assert again == build(it.grammar, without_defaults(it.grammar, value)), str(it)
