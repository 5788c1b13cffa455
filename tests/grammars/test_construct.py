"""construct's own engine over every layout: kdbg's declarations and nodes are constructs among others.

Three ways are tried on every version of every message and payload: the node by itself, inside of construct's classes,
and, for APIs, the declaration of all versions with the version in construct's context. Where construct has classes for
all that a layout needs, the layout written in those reads the same bytes to the same values.
"""

from __future__ import annotations

import uuid
from typing import Any

import construct
import pytest

from kdbg.errors import GrammarError, Truncated
from kdbg.protocol.grammars import metadata
from kdbg.protocol.wire import Int32, Struct
from kdbg.protocol.wire.language import Api
from kdbg.protocol.wire.nodes import build, contains
from kdbg.protocol.wire.records import RecordsNode

from ..benchmarks.stock import stock
from ..cases import for_each
from .subjects import MESSAGES, SUBJECTS, Spoken, Subject, name_of, variants
from .values import essentials


def letter_of(subject: Subject) -> str:
    return name_of(subject)[0]


every_version = for_each("subject", SUBJECTS, by=letter_of)
every_message = for_each("subject", MESSAGES, by=letter_of)


@every_version
def test_a_grammar_is_a_construct_inside_of_constructs(subject: Subject) -> None:
    frame = construct.Struct(
        "magic" / construct.Const(b"kdbg"),
        "body" / construct.Prefixed(construct.Int32ub, subject.grammar),
        "end" / construct.Terminated,
    )
    for value in variants(subject):
        data = build(subject.grammar, value)
        written = frame.build({"body": value})
        assert written == b"kdbg" + len(data).to_bytes(4, "big") + data
        assert essentials(subject.grammar, frame.parse(written)["body"]) == value


@every_message
def test_a_declaration_takes_its_version_from_the_context(subject: Spoken) -> None:
    declared = subject.api.request if subject.direction == "request" else subject.api.response
    frame = construct.Struct("body" / declared)
    for value in variants(subject):
        data = build(subject.grammar, value)
        assert declared.build(value, version=subject.version) == data
        parsed = declared.parse(data, version=subject.version)
        assert essentials(subject.grammar, parsed) == value
        assert frame.parse(data, version=subject.version)["body"] == parsed


def is_constructs(subject: Spoken) -> bool:
    """Whether construct has classes for all of a layout: stock.py keeps the bytes of tagged fields and record sets."""
    return not contains(
        subject.grammar, lambda node: bool(getattr(node, "tags", None)) or isinstance(node, RecordsNode)
    )


CONSTRUCTS = [subject for subject in MESSAGES if is_constructs(subject)]


@for_each("subject", CONSTRUCTS, by=letter_of)
def test_constructs_own_classes_read_the_same(subject: Spoken) -> None:
    for value in variants(subject):
        data = build(subject.grammar, value)
        assert simple(stock(subject.grammar).parse(data)) == simple(subject.grammar.parse(data))


def test_nearly_all_layouts_can_be_written_in_constructs_own_classes() -> None:
    assert len(CONSTRUCTS) > len(MESSAGES) * 0.8


def simple(value: Any) -> Any:
    """A value without what is construct's own in it, and without its empty tagged fields."""
    if isinstance(value, dict):
        return {key: simple(item) for key, item in value.items() if key not in ("_io", "tagged_fields")}
    if isinstance(value, list):
        return [simple(item) for item in value]
    return value.bytes if isinstance(value, uuid.UUID) else value


def test_a_declaration_without_a_version_says_what_it_needs() -> None:
    with pytest.raises(GrammarError, match=r"parse\(data, version=4\)"):
        metadata.request.parse(b"")
    with pytest.raises(GrammarError, match="version"):
        Struct("one" / Int32).build({"one": 1})


def test_a_declaration_that_no_api_has_is_told_what_is_flexible() -> None:
    one = Struct("lamps" / Int32)
    assert one.parse(b"\0\0\0\1", version=3) == {"lamps": 1}
    assert one.parse(b"\0\0\0\1\0", version=3, flexible=True) == {"lamps": 1}


def test_errors_of_a_declaration_name_the_field() -> None:
    with pytest.raises(Truncated, match=r"^topics\[0\].name: INT16 needs 2 bytes, only 1 left"):
        metadata.request.parse(b"\0\0\0\1\0", version=1)


def test_two_apis_that_share_a_declaration_agree_on_what_is_flexible() -> None:
    shared = Struct("one" / Int32)
    Api(900, "One", shared, shared, range(3), flexible=2)
    with pytest.raises(TypeError, match="share"):
        Api(901, "Other", shared, shared, range(3), flexible=1)
