"""Names are taken wherever a value has a name, and never given."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import kdbg
from kdbg.errors import BuildError
from kdbg.protocol import grammars
from kdbg.protocol.grammars.errors import ERRORS
from kdbg.protocol.wire import Bits, Enum, Int8, Int32
from kdbg.protocol.wire.nodes import Fixed, Node, build

from ...cases import for_each

KINDS = Enum(Int8, {0: "UNKNOWN", 2: "SAFE_DOWNGRADE", -1: "ALL"})
RIGHTS = Bits(Int32, {3: "READ", 8: "DESCRIBE", 10: "DESCRIBE_CONFIGS"})


def inside(node: Node) -> Iterator[Fixed]:
    """Every number of a grammar."""
    if isinstance(node, Fixed):
        yield node
    for held in (getattr(node, "struct", None), getattr(node, "item", None)):
        if held is not None:
            yield from inside(held)
    for field in getattr(node, "members", ()):
        yield from inside(field.node)


@cache
def named() -> tuple[Fixed, ...]:
    """Every number with names, of all APIs in both directions, each kind of it once."""
    bodies = (api.at(side, version) for api in grammars.apis() for side in ("request", "response")
              for version in api.versions)  # fmt: skip
    found = {(node.kind, node.bnf, id(node.names)): node for body in bodies for node in inside(body) if node.names}
    return tuple(found.values())


def spellings(name: str) -> tuple[str, ...]:
    return name, name.lower(), name.lower().replace("_", "-"), name.title().replace("_", "")


def test_there_are_names_to_try() -> None:
    assert len(named()) > 30


@for_each("node", named(), ids=lambda node: next(iter(node.names.values())))
def test_every_name_of_every_field_makes_the_bytes_of_its_number(node: Fixed) -> None:
    assert node.names
    for number, name in node.names.items():
        wanted = build(node, (1 << number) if node.kind == "bits" else bool(number) if node.boolean else number)
        assert {build(node, spelled) for spelled in spellings(name)} == {wanted}, name


def test_bits_are_a_list_of_names() -> None:
    assert build(RIGHTS, ["read", "describe-configs"]) == build(RIGHTS, 1 << 3 | 1 << 10)
    assert build(RIGHTS, ("read", "READ")) == build(RIGHTS, 1 << 3), "each counts once"
    assert build(RIGHTS, []) == build(RIGHTS, 0)


def test_error_codes_and_apis_have_names_too() -> None:
    for code, error in ERRORS.items():
        body = kdbg.encode({"error_code": error.name.lower()}, api="heartbeat", version=0, direction="response")
        assert int.from_bytes(body, "big", signed=True) == code
    told = {"api_keys": [{"api_key": "list-offsets", "max_version": 1}]}
    written = kdbg.encode(told, api="api-versions", version=0, direction="response")
    assert kdbg.decode(written, api="api-versions", version=0, direction="response", header=False).body["api_keys"] == [
        {"api_key": 2, "min_version": 0, "max_version": 1}
    ]


def test_what_was_named_is_read_as_a_number_and_goes_back() -> None:
    body = {"resource_type_filter": "topic", "pattern_type_filter": "prefixed", "operation": "any",
            "permission_type": "allow"}  # fmt: skip
    about: dict[str, Any] = {"api": "describe-acls", "version": 3, "direction": "request"}
    written = kdbg.encode(body, **about)
    found = kdbg.decode(written, **about, header=False).body
    assert (found["resource_type_filter"], found["pattern_type_filter"], found["permission_type"]) == (2, 4, 3)
    assert kdbg.encode(found, **about) == written


@for_each(
    ("node", "given", "said"),
    [
        (KINDS, "topik", "x: 'topik' is not one of UNKNOWN, SAFE_DOWNGRADE, ALL"),
        (KINDS, "", "x: '' is not one of UNKNOWN, SAFE_DOWNGRADE, ALL"),
        (KINDS, ["ALL"], "x: ['ALL'] is not a valid INT8: required argument is not an integer"),
        (RIGHTS, ["read", "rite"], "x[1]: 'rite' is not one of READ, DESCRIBE, DESCRIBE_CONFIGS"),
        (RIGHTS, ["read", 3], "x: ['read', 3] is not a valid INT32: required argument is not an integer"),
        (Int8, "topic", "x: 'topic' is not a valid INT8: required argument is not an integer"),
    ],
)
def test_a_wrong_name_is_told_the_right_ones(node: Fixed, given: Any, said: str) -> None:
    with pytest.raises(BuildError) as caught:
        build(node, given, "x")
    assert str(caught.value) == said


def test_of_very_many_names_only_the_near_ones_are_told() -> None:
    with pytest.raises(BuildError) as caught:
        kdbg.encode({"error_code": "not_leader"}, api="heartbeat", version=0, direction="response")
    said = str(caught.value)
    assert f"is not one of the {len(ERRORS)} known names; similar: " in said
    assert "NOT_LEADER_OR_FOLLOWER" in said
    assert len(said) < 250


def test_forty_names_are_all_told_and_of_more_those_that_are_like_it() -> None:
    def said(count: int) -> str:
        with pytest.raises(BuildError) as caught:
            build(Enum(Int8, {number: f"LAMP_{number:02}" for number in range(count)}), "lamp_1", "x")
        return str(caught.value)

    assert said(40).endswith(", LAMP_38, LAMP_39")
    assert said(41).startswith("x: 'lamp_1' is not one of the 41 known names; similar: LAMP_")
    assert len(said(41).partition("similar: ")[2].split(", ")) == 5
    assert all(word.startswith("LAMP_") for word in said(41).partition("similar: ")[2].split(", "))
