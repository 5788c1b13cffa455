"""Every payload's layout against Kafka's own definitions, row by row, each at the release that it was taken from.

The table of layouts was made from the definitions of Kafka 2.5 to 4.2, that of conflicts says where two releases gave
one version two layouts.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from kdbg.exchanges.messages.message import Context
from kdbg.exchanges.messages.payloads import Opener
from kdbg.protocol.grammars import headers
from kdbg.protocol.grammars.payloads import payload, payloads
from kdbg.protocol.wire.language.payload import OpenedPayload, Payload
from kdbg.protocol.wire.language.types import Release
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.layout import layout

from ...cases import for_each
from ...facts import conflicts as conflicts_of_all
from ...facts import payload_layouts
from ..test_layouts import expected
from ..values import Maker

ROWS = 204
KAFKA_HAS_NO_DEFINITION = {
    "StickyAssignorUserDataV0", "StickyAssignorUserDataV1", "StickyAssignorUserData",
    "CooperativeStickyAssignorUserDataV0", "AssignmentInfo", "ConnectWorkerState", "ConnectAssignment",
    "ControlRecordKey",
}  # fmt: skip
"""What is laid out by hand in Kafka as well; test_real_bytes.py and test_topics.py have bytes of each."""
NEWER = {"RegisterBrokerRecord": {4}, "BrokerRegistrationChangeRecord": {3}, "UnregisterControllerRecord": {0}}
"""Versions that Kafka 4.3 (KIP-1066) and 4.4 brought, after the facts."""
FORMER = [found for found in payloads() if found.releases]
every_payload = for_each("found", payloads(), ids=lambda found: found.name)
every_payload_with_older_forms = for_each("found", FORMER, ids=lambda found: found.name)


@pytest.fixture(scope="module")
def facts() -> dict[str, list[dict[str, Any]]]:
    """Kafka's rows by the name of the payload that they are of; those of headers by theirs."""
    named = defaultdict(list)
    for fact in payload_layouts():
        named[fact["name"] if fact["type"] == "header" else payload(fact["name"]).name].append(fact)
    return dict(named)


@pytest.fixture(scope="module")
def conflicts() -> list[dict[str, Any]]:
    return [conflict for conflict in conflicts_of_all() if conflict["key"][0] == "int"]


def release(text: str) -> Release:
    """`4.2.1` is (4, 2)."""
    major, minor, *_ = text.split(".")
    return int(major), int(minor)


def version_of(fact: dict[str, Any]) -> int:
    """The version as kdbg counts it: that of a key is the number that stands in its bytes."""
    return int(fact["internal_key"] if fact["type"] == "coordinator-key" else fact["version"])


@every_payload
def test_the_layout_of_every_version_is_kafkas(found: Payload, facts: dict[str, list[dict[str, Any]]]) -> None:
    if found.name in KAFKA_HAS_NO_DEFINITION:
        assert found.name not in facts
        return
    known = facts.get(found.name, [])
    assert {version_of(fact) for fact in known} == set(found.versions) - NEWER.get(found.name, set())
    for fact in known:
        grammar = found.at(version_of(fact), release(fact["source"]))
        assert list(layout(grammar)) == expected(fact["rows"]), fact["source"]
        assert (grammar.tags is not None) == fact["flexible"]


def test_the_headers_are_kafkas(facts: dict[str, list[dict[str, Any]]]) -> None:
    """The guide says api_key and api_version, as kdbg does; Kafka's definition puts "request" in front of them."""
    for name, structs in (("RequestHeader", headers.REQUEST), ("ResponseHeader", headers.RESPONSE)):
        for fact, struct in zip(sorted(facts[name], key=version_of), structs, strict=True):
            rows = [row._replace(path=row.path.removeprefix("request_")) for row in expected(fact["rows"])]
            assert list(layout(struct)) == rows


def test_every_row_of_kafkas_was_looked_at(facts: dict[str, list[dict[str, Any]]]) -> None:
    names = {found.name for found in payloads()} - KAFKA_HAS_NO_DEFINITION - {"UnregisterControllerRecord"}
    assert set(facts) == names | {"RequestHeader", "ResponseHeader"}
    assert sum(map(len, facts.values())) == ROWS


def test_where_two_releases_disagree_both_are_right(conflicts: list[dict[str, Any]]) -> None:
    for conflict in conflicts:
        if conflict.get("rename_only"):
            continue
        found, version = payload(conflict["name"]), int(conflict["key"][4])
        if found.releases:
            assert version == found.versions[0]
        old, new = (list(layout(found.at(version, release(conflict[of])))) for of in ("older", "newer"))
        assert set(old) - set(new) == set(expected(conflict["removed"])), conflict["name"]
        assert set(new) - set(old) == set(expected(conflict["added"])), conflict["name"]
    assert len(conflicts) == 40


def test_the_forms_of_older_releases_are_those_that_no_tag_tells(conflicts: list[dict[str, Any]]) -> None:
    """A tagged field that a release did not know of yet needs no form: the newest one reads bytes without it."""
    changed = {
        (payload(conflict["name"]).name, release(conflict["older"]))
        for conflict in conflicts
        if any("~" not in path for path, *_ in conflict.get("removed", []) + conflict.get("added", []))
    }
    declared = {(found.name, older) for found in payloads() for older in found.releases}
    assert changed <= declared
    assert {name for name, _ in declared - changed} == {
        "FenceBrokerRecord", "UnfenceBrokerRecord", "UnregisterBrokerRecord", "RemoveTopicRecord", "ClientQuotaRecord",
        "ShareGroupMetadataValue", "ShareGroupStatePartitionMetadataValue", "ShareSnapshotValue", "ShareUpdateValue",
    }, "those had no tags at all yet, another name, or another type of definition"  # fmt: skip


@every_payload_with_older_forms
def test_bytes_of_an_older_release_are_read_and_it_is_named(found: Payload) -> None:
    first = found.versions[0]
    for form, (major, minor) in zip(found.reading(first).former, found.releases, strict=True):
        value = Maker(0).value(form.grammar)
        value[found.version_field if found.version_field in value else "leader_id"] = first
        opener = Opener(Context())
        opened = opener.open(lambda data, around: [found], build(form.grammar, value), "value")
        assert isinstance(opened, OpenedPayload)
        assert (opened.name, opened.grammar, opened.value) == (found.name, form.grammar, value)
        assert [odd.finding.text for odd in opener.odd] == [
            f"decoded as version {first} as written by Kafka {major}.{minor}"
        ]
