"""Two front ends, one answer: Kafka's definition files of payloads, read by kdbg, against its own declarations.

Layout, defaults and what may be left out are compared, at the release that the files are of.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kdbg.protocol.definitions import Declared, MessageDefinition, declare, read
from kdbg.protocol.grammars.payloads import payload
from kdbg.protocol.wire.language import DIRECTIONS
from kdbg.protocol.wire.language.payload import Payload
from kdbg.protocol.wire.language.types import Array, Release, Struct, rules_of
from kdbg.protocol.wire.nodes import join
from kdbg.protocol.wire.readings.layout import layout

from ...definitions.test_against_kafka import fields
from ...facts import definitions

RELEASES: list[tuple[str, Release, int]] = [("messages", (4, 2), 128), ("messages-3.x", (3, 9), 100)]
"""A set of files, the release that they are of, and how many versions of payloads they define."""


def ignorable(struct: Struct, path: str = "") -> Iterator[str]:
    """The paths of the fields that a version may lack although they were set."""
    for declared in struct.declared:
        rules, type = rules_of(declared)
        here = join(path, declared.name or "")
        if rules.ignorable:
            yield here
        type = type.of if isinstance(type, Array) else type
        if isinstance(type, Struct):
            yield from ignorable(type, here)


def version_of(definition: MessageDefinition, found: Payload, version: int) -> int:
    """The version as kdbg counts it: that of a key is the number that stands in its bytes."""
    return found.versions[0] if definition.kind == "coordinator-key" and version not in found.versions else version


@pytest.mark.parametrize(("folder", "release", "versions"), RELEASES)
def test_the_definitions_say_what_kdbgs_own_declarations_say(folder: str, release: Release, versions: int) -> None:
    compared = 0
    for name, text in definitions(folder):
        if name.endswith(("Request.json", "Response.json", "Header.json")):
            continue
        definition = read(text, name)
        assert definition.kind not in DIRECTIONS
        found, declared = payload(definition.name), declare(definition)
        compared += compare(definition, found, declared, release)
    assert compared == versions


def compare(definition: MessageDefinition, found: Payload, declared: Declared, release: Release) -> int:
    """How many versions were found to be the same."""
    for version in declared.versions:
        theirs, ours = declared.at(version), found.at(version_of(definition, found, version), release)
        assert list(layout(theirs)) == list(layout(ours)), f"{definition.name} version {version}"
        assert list(fields(theirs)) == list(fields(ours)), f"{definition.name} version {version}"
    said = {path for path, _ in fields(declared.at(declared.versions[-1]))}
    assert set(ignorable(declared.struct)) & said == set(ignorable(found.layout)) & said, definition.name
    return len(declared.versions)
