"""kdbg's own grammars as MessageData: one message for all versions, and what Kafka calls ignorable is so here."""

from __future__ import annotations

import re

import pytest

from kdbg.errors import BuildError
from kdbg.protocol import grammars
from kdbg.protocol.definitions.message_data import Members, MessageType
from kdbg.protocol.definitions.model import MessageDefinition
from kdbg.protocol.definitions.parse import read
from kdbg.protocol.wire.language import DIRECTIONS, Direction
from kdbg.protocol.wire.language.types import At

from .. import facts

METADATA = MessageType.of("Metadata", "request")


def test_metadata_is_kafkas() -> None:
    """The example of Kafka's generator: null topics (all of them) have a version, and so has the flag."""
    assert METADATA(topics=[{"name": "t"}]).write(0) == bytes.fromhex("00000001 0001 74")
    assert METADATA(topics=None).write(4) == bytes.fromhex("ffffffff 01")
    with pytest.raises(BuildError, match=r"topics: null, which version 0 does not allow, only versions 1\+"):
        METADATA(topics=None).write(0)
    flag = METADATA(allow_auto_topic_creation=False)
    with pytest.raises(
        BuildError, match=r"allow_auto_topic_creation: set, but version 3 lacks it: a field of versions 4\+"
    ):
        flag.write(3)
    response = MessageType.of("Metadata", "response")(throttle_time_ms=9, cluster_id="c", brokers=[{"rack": "r"}])
    # brokers: node_id 0, host "", port 0; no topics. Throttle time, cluster and racks are ignorable.
    assert response.write(0) == bytes.fromhex("00000001 00000000 0000 00000000 00000000")


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_own_message_is_the_same_in_every_version_while_it_is_default(direction: Direction) -> None:
    for api in grammars.apis():
        kind = MessageType.of(api.key, direction)
        for version in kind.versions:
            message, other = kind(), kind()
            data = message.write(version)
            other.read(version, data)
            assert other == message, (kind.name, version)
            assert other.to_struct(version).write() == data


def lacking(own: Members, theirs: Members, ats: list[At], path: str) -> list[tuple[str, bool, bool]]:
    """(path, ignorable with us, with Kafka) of every field that is missing in a version which has what it stands in."""
    rows = []
    for name, member in own.fields.items():
        if name not in theirs.fields:
            continue  # of versions that the other does not know
        here, known = f"{path}{name}", theirs.fields[name]
        having = [at for at in ats if member.at(at)]
        if len(having) < len(ats):
            rows.append((here, member.ignorable, known.ignorable))
        if member.inner is not None and known.inner is not None:
            rows += lacking(member.inner, known.inner, having, f"{here}.")
    return rows


def definitions(release: str) -> dict[tuple[int, str], MessageDefinition]:
    """Every request and response that a release defines."""
    found = (read(text, name) for name, text in facts.definitions(release) if re.search("Re[qs]", name))
    return {(it.api_key, it.kind): it for it in found if it.api_key is not None and it.body.fields}


def test_what_is_ignorable_is_what_kafka_calls_so() -> None:
    known = [definitions(release) for release in facts.RELEASES]
    compared = 0
    for (key, kind), definition in [pair for folder in known for pair in folder.items()]:
        direction: Direction = "request" if kind == "request" else "response"
        own = MessageType.of(key, direction)
        theirs = MessageType.defined(definition)
        ats = [own.form(version) for version in own.versions if version in theirs.versions]
        for path, ours, kafkas in lacking(own.members, theirs.members, ats, ""):
            assert ours == kafkas, (own.name, path)
            compared += 1
    assert compared > 300
