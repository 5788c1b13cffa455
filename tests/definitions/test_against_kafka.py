"""Two front ends, one answer: Kafka's own definition files against kdbg's own declarations, version by version.

Every file of Kafka 4.2 and 3.9 is read. Layout, defaults, headers and what may be left out are compared for each
message and version that both have. tests/grammars/test_layouts.py makes the same comparison with a table that another
program made of these files; here it is kdbg's own reader that must get them right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.definitions import MessageDefinition, apis, declare, pairs, read
from kdbg.protocol.wire.language import DIRECTIONS
from kdbg.protocol.wire.nodes import WireArray, WireStruct, join
from kdbg.protocol.wire.readings.layout import layout, structure

from .. import facts
from ..facts import RELEASES

OTHERWISE = {("Vote", "request", 0), ("Vote", "request", 1), ("ReadShareGroupStateSummary", "response", 0),
             ("ListConfigResources", "response", 0)}  # fmt: skip
"""Versions that 3.9 laid out or named otherwise than 4.2 does; the table of conflicts has them too."""
RENAMED = {
    "TxnOffsetCommitRequest.json": ("GenerationId", "GenerationIdOrMemberEpoch"),
    "StreamsGroupHeartbeatResponse.json": ("AcceptableRecoveryLag", "AcceptableRecoveryLagLegacy"),
}
FILES = 521


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def definitions(release: str) -> list[MessageDefinition]:
    return [read(newly_named(name, text), name) for name, text in facts.definitions(release)]


def newly_named(file: str, text: str) -> str:
    """A definition with the field names of Kafka 4.4, which two fields of these releases have not."""
    old, new = RENAMED.get(file.rpartition("/")[2], ("", ""))
    return text.replace(f'"{old}"', f'"{new}"') if old else text


def fields(struct: WireStruct, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, default) of every field, tagged ones behind."""
    for field in (*struct.fields, *(field for _, field in sorted((struct.tags or {}).items()))):
        yield join(path, field.name), field.default
        inner = structure(field.node)
        if inner is not None:
            yield from fields(inner, join(path, field.name))


def test_every_file_is_there() -> None:
    assert sum(len(list(facts.definitions(release))) for release in RELEASES) == FILES


def test_every_version_of_every_file_is_a_grammar(definitions: list[MessageDefinition]) -> None:
    for definition in definitions:
        declared = declare(definition)
        assert [declared.at(version) for version in declared.versions] or not definition.valid


def test_layouts_and_defaults_are_those_of_kdbgs_own_declarations(
    definitions: list[MessageDefinition], release: str
) -> None:
    compared, otherwise = 0, set()
    for definition in definitions:
        if definition.kind not in DIRECTIONS or definition.api_key is None:
            continue
        own, declared = grammars.own(definition.api_key), declare(definition)
        for version in declared.versions:
            theirs, ours = declared.at(version), own.at(definition.kind, version)
            if list(layout(theirs)) != list(layout(ours)):
                otherwise.add((own.name, definition.kind, version))
                continue
            compared += 1
            expected, found = list(fields(theirs)), list(fields(ours))
            assert expected == found, f"{definition.file} version {version}"
            assert [type(value) for _, value in expected] == [type(value) for _, value in found]
    assert otherwise == (OTHERWISE if release == "messages-3.x" else set())
    assert compared == {"messages": 600, "messages-3.x": 642}[release]


def meanings(struct: WireStruct) -> Iterator[tuple[Any, ...]]:
    """What is known of each field beside its place: what its values mean, when it is secret, what it holds."""
    for field in (*struct.fields, *(struct.tags or {}).values()):
        node = field.node
        while isinstance(node, WireArray):
            node = node.item
        yield field.name, *(getattr(node, what, None) for what in ("kind", "names", "when", "holds"))
        inner = structure(field.node)
        if inner is not None:
            yield from meanings(inner)


def test_beside_kdbgs_own_declarations_fields_mean_what_they_mean_there(definitions: list[MessageDefinition]) -> None:
    for pair in pairs(definitions):
        own = grammars.own(pair.key)
        defined = pair.api(own)
        for direction in pair.sides:
            for version in defined.versions:
                if (own.name, direction, version) not in OTHERWISE:
                    theirs, ours = defined.at(direction, version), own.at(direction, version)
                    assert list(meanings(theirs)) == list(meanings(ours)), f"{own.name} {direction} {version}"


def test_headers_follow_from_flexible_versions(definitions: list[MessageDefinition]) -> None:
    """But for the two that Kafka's own code treats apart, which no definition says."""
    apart = set()
    for pair in pairs(definitions):
        own, defined = grammars.own(pair.key), pair.api()
        for direction in DIRECTIONS:
            for version in defined.versions:
                if own.header_version(direction, version) != defined.header_version(direction, version):
                    apart.add((own.name, direction))
    assert apart <= {("ApiVersions", "response"), ("ControlledShutdown", "request")}


def test_kdbgs_own_declarations_stay_where_both_are_alike(definitions: list[MessageDefinition], release: str) -> None:
    given = apis(definitions)
    followed = {api.name for api in given.apis if api.given}
    assert followed == ({name for name, _, _ in OTHERWISE} if release == "messages-3.x" else set())
    assert all(api is grammars.own(api.key) for api in given.apis if not api.given)
    assert len(given.notes) == len(followed)


def test_the_request_header_keeps_its_client_id_classic(definitions: list[MessageDefinition]) -> None:
    header = next(definition for definition in definitions if definition.name == "RequestHeader")
    assert [field.node.bnf for field in declare(header).at(2).fields] == ["INT16", "INT16", "INT32", "NULLABLE_STRING"]
    assert declare(header).at(2).tags == {}
