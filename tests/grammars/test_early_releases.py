"""Versions whose layout Kafka changed after a release had written it: the layout that fits is taken, and named."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kdbg.exchanges.messages.message import read
from kdbg.protocol import grammars
from kdbg.protocol.wire.language import Api, Dialect
from kdbg.protocol.wire.language.types import NEWEST, At
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.layout import layout

from ..facts import conflicts
from .values import variants

EARLY = [(api, dialect) for api in grammars.apis() for dialect in api.dialects if dialect.release != NEWEST]
IDS = [f"{api.name}-{dialect.direction}" for api, dialect in EARLY]
every_early_form = pytest.mark.parametrize(("api", "dialect"), EARLY, ids=IDS)


def grammar(api: Api, dialect: Dialect) -> Any:
    return dialect.layout.structure(At(0, api.flexible == 0, dialect.release))


def types(rows: list[list[Any]]) -> Counter[str]:
    """The wire types of a conflict's rows: names have changed as well, and tags may come and go."""
    return Counter(type for path, type, *_ in rows if "~" not in path)


@every_early_form
def test_bytes_of_the_early_form_are_read_and_it_is_named(api: Api, dialect: Dialect) -> None:
    early = grammar(api, dialect)
    for value in variants(early):
        data = build(early, value)
        message = read(api, 0, dialect.direction, data, header=False)
        if message.findings:
            assert [finding.kind for finding in message.findings] == ["known-variant"]
            assert "as written by Kafka " in message.findings[0].text
            assert message.body == value
        assert build(message.grammar, message.body) == data
    assert message.findings, "a message with all its fields fits one form only"


@every_early_form
def test_bytes_of_the_settled_form_are_no_dialect(api: Api, dialect: Dialect) -> None:
    settled = api.at(dialect.direction, 0)
    for value in variants(settled):
        message = read(api, 0, dialect.direction, build(settled, value), header=False)
        assert (message.findings, message.body) == ((), value)


def test_by_hand() -> None:
    """EndQuorumEpoch v0 of Kafka 2.7: replica 3 hands the lead of epoch 5 to replica 4."""
    data = bytes.fromhex(
        "ffff"  # no cluster id
        "00000001 0001 74"  # topic t
        "00000001 00000000 00000003 00000003 00000005"  # partition 0, replica_id 3, leader_id 3, leader_epoch 5
        "00000001 00000004"  # preferred successors: 4
    )
    message = read(grammars.api("EndQuorumEpoch"), 0, "request", data, header=False)
    (partition,) = message.body["topics"][0]["partitions"]
    assert partition == {
        "partition_index": 0, "replica_id": 3, "leader_id": 3, "leader_epoch": 5, "preferred_successors": [4],
    }  # fmt: skip
    assert [str(finding) for finding in message.findings] == [
        "known-variant: decoded as v0 as written by Kafka 2.7, with replica_id"
    ]


def test_every_conflict_between_releases_has_its_form() -> None:
    """The facts list what changed between releases; those that changed an API's bytes and no version are here."""
    found = set()
    for conflict in conflicts():
        kind, key, direction, version = (*conflict["key"], "")[:4]
        if kind != "api" or conflict.get("rename_only"):
            continue
        removed, added = types(conflict["removed"]), types(conflict["added"])
        removed["nullable_records"] += removed.pop("nullable_bytes", 0)  # the same bytes by another name
        if removed == +added or +removed == +added:
            continue
        api = grammars.api(int(key))
        (dialect,) = (one for one in api.dialects if one.release != NEWEST and one.direction == direction)
        assert int(version) in dialect.versions
        settled = Counter(row.type for row in layout(api.at(direction, 0)) if "~" not in row.path)
        early = Counter(row.type for row in layout(grammar(api, dialect)) if "~" not in row.path)
        assert early == settled - added + removed
        found.add((api, dialect))
    assert found == set(EARLY)
