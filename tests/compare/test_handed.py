"""The tables of what brokers hand out, and of what two runs differ in: every entry stands for fields that there are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kdbg.analysis.compare.broker_assigned import (
    CHOSEN,
    HANDED,
    OFFSET,
    PATIENT,
    TRANSIENT,
    UNCHANGED,
    VOLATILE,
    VOLATILE_KINDS,
    assigned_kind,
    is_volatile,
)
from kdbg.analysis.compare.messages import is_ignored
from kdbg.protocol import grammars
from kdbg.protocol.grammars.errors import error_name
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.nodes import Node, children
from kdbg.protocol.wire.records import RecordsNode

from ..cases import for_each


def fields(node: Node) -> Iterator[tuple[str, Node]]:
    for child in children(node):
        if child.key:
            yield child.key, child.node
        yield from fields(child.node)
    if isinstance(node, RecordsNode):
        yield from fields(node.format.batch)


def all_fields(*directions: Direction) -> Iterator[tuple[str, Node]]:
    for api in grammars.apis():
        for direction in directions:
            for version in api.versions if api.key >= 0 else ():
                if api.reads(direction, version):
                    yield from fields(api.at(direction, version))


EVERY = dict(all_fields(*DIRECTIONS))
ANSWERED = dict(all_fields("response"))


@for_each("name", HANDED)
def test_what_is_handed_out_is_a_field(name: str) -> None:
    assert name in EVERY


@for_each("name", [*VOLATILE, *UNCHANGED])
def test_what_is_volatile_is_a_field_of_answers(name: str) -> None:
    assert name in ANSWERED
    assert {**VOLATILE, **UNCHANGED}[name], "with a reason"


def test_meanings_are_those_of_grammars() -> None:
    kinds = {node.kind for node in EVERY.values()} | {node.kind for _, node in all_fields(*DIRECTIONS)}
    assert kinds >= {"topic_id", *VOLATILE_KINDS} - {"crc"}
    assert {name for name, kind in HANDED.items() if kind is OFFSET} >= CHOSEN


def test_errors_that_pass_are_known() -> None:
    for code in TRANSIENT:
        assert error_name(code).isupper()
    assert PATIENT < TRANSIENT


def test_no_field_is_both() -> None:
    assert not {*HANDED} & {*VOLATILE}


@pytest.mark.parametrize("name", ["error_code", "num_partitions", "key", "committed_metadata", "partition_index"])
def test_what_says_something_is_neither(name: str) -> None:
    node = EVERY[name]
    assert assigned_kind(name, node, 0) is None
    assert not is_volatile(name, node)
    assert not is_ignored(name, node)


def test_a_leader_is_a_member_or_a_node() -> None:
    member, node = assigned_kind("leader", None, "consumer-1"), assigned_kind("leader", None, 3)
    assert member is not None
    assert node is not None
    assert (member.what, node.what) == ("member id", "node id")
