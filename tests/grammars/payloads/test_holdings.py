"""What bytes in a field may be, by what stands around them; and the registry that knows payloads by their names."""

from __future__ import annotations

from collections import ChainMap
from typing import Any

import pytest

from kdbg.errors import UnknownPayload
from kdbg.protocol import grammars
from kdbg.protocol.grammars.payloads import about, payload, payloads
from kdbg.protocol.wire.language import Direction
from kdbg.protocol.wire.nodes import Node, NullableStruct, Sized, WireArray, WireStruct

from ...cases import for_each


def held(grammar: WireStruct, path: str) -> Sized:
    """The field of bytes at a path: `protocols.metadata`."""
    node: Node = grammar
    for name in path.split("."):
        assert isinstance(node, WireStruct)
        node = next(field.node for field in (*node.fields, *(node.tags or {}).values()) if field.name == name)
        node = node.item if isinstance(node, WireArray) else node.struct if isinstance(node, NullableStruct) else node
    assert isinstance(node, Sized)
    return node


def names(node: Sized, *around: dict[str, Any]) -> list[str]:
    """What the bytes may be, with these structures around them, the nearest first."""
    assert node.holds is not None
    return [getattr(readable, "name", "?") for readable in node.holds(b"\0", ChainMap(*around))]


SUBSCRIPTION, ASSIGNMENT = "ConsumerProtocolSubscription", "ConsumerProtocolAssignment"
WORKER, TASKS = "ConnectWorkerState", "ConnectAssignment"
FIELDS: list[tuple[str, Direction, int, str, str, str]] = [
    ("JoinGroup", "request", 9, "protocols.metadata", SUBSCRIPTION, WORKER),
    ("JoinGroup", "response", 9, "members.metadata", SUBSCRIPTION, WORKER),
    ("SyncGroup", "request", 5, "assignments.assignment", ASSIGNMENT, TASKS),
    ("SyncGroup", "response", 5, "assignment", ASSIGNMENT, TASKS),
    ("DescribeGroups", "response", 6, "groups.members.member_metadata", SUBSCRIPTION, WORKER),
    ("DescribeGroups", "response", 6, "groups.members.member_assignment", ASSIGNMENT, TASKS),
]


@for_each(("api", "direction", "version", "path", "consumer", "connect"), FIELDS)
def test_the_protocol_type_says_what_members_tell_each_other(
    api: str, direction: Direction, version: int, path: str, consumer: str, connect: str
) -> None:
    field = held(grammars.api(api).at(direction, version), path)
    assert names(field, {"name": "range"}, {"protocol_type": "consumer"}) == [consumer]
    assert names(field, {"name": "default"}, {"protocol_type": "connect"}) == [connect]
    assert names(field, {}, {"protocol_type": "sr"}) == [], "another protocol: nobody knows"
    assert names(field, {"member_id": "m"}, {"protocol_type": None}) == [consumer, connect, "?"], "guesses"
    assert names(field) == [consumer, connect, "?"]


USER_DATA = [
    ("sticky", ["StickyAssignorUserDataV1", "StickyAssignorUserDataV0", "StickyAssignorUserData"], []),
    ("cooperative-sticky", ["CooperativeStickyAssignorUserDataV0", "StickyAssignorUserDataV1"], []),
    ("stream", ["SubscriptionInfoData"], ["AssignmentInfo"]),
    ("range", [], []),
    ("an assignor of somebody's own", [], []),
]


@for_each("field", ["name", "protocol_name", "protocol_data", "protocol"])
@for_each(("assignor", "subscribed", "assigned"), USER_DATA)
def test_the_assignors_name_says_what_its_user_data_is(
    field: str, assignor: str, subscribed: list[str], assigned: list[str]
) -> None:
    around = ({"version": 1, "topics": ["t"]}, {field: assignor}, {"protocol_type": "consumer"})
    assert names(held(payload(SUBSCRIPTION).framed(3), "user_data"), *around) == subscribed
    assert names(held(payload(ASSIGNMENT).framed(3), "user_data"), *around) == assigned


def test_without_the_assignors_name_its_user_data_may_be_any() -> None:
    found = names(held(payload(SUBSCRIPTION).framed(3), "user_data"), {"group_id": "g"})
    assert set(found) == {name for _, names, _ in USER_DATA for name in names} | {"?"}
    assert names(held(payload(ASSIGNMENT).framed(3), "user_data")) == ["AssignmentInfo", "?"]


def test_what_else_holds_a_payload() -> None:
    envelope = grammars.api("Envelope").at("request", 0)
    assert names(held(envelope, "request_principal")) == ["DefaultPrincipalData"]
    assert names(held(payload(WORKER).framed(2), "allocation")) == [TASKS]
    member = payload("ConsumerGroupMemberMetadataValue").framed(0)
    assert names(held(member, "classic_member_metadata.supported_protocols.metadata")) == [SUBSCRIPTION]
    group = payload("GroupMetadataValue").framed(3)
    assert names(held(group, "members.subscription"), {}, {"protocol_type": "connect"}) == [WORKER]
    assert names(held(group, "members.assignment"), {}, {"protocol_type": "consumer"}) == [ASSIGNMENT]


def test_a_payload_is_known_by_its_name_however_it_is_written() -> None:
    for name in ("OffsetCommitValue", "offset-commit-value", "OFFSET_COMMIT_VALUE", "LegacyOffsetCommitValue"):
        assert payload(name).name == "OffsetCommitValue"


def test_an_unknown_name_is_refused_with_those_that_look_alike() -> None:
    with pytest.raises(UnknownPayload, match=r"unknown payload 'OffsetComitValue'; did you mean OffsetCommitValue"):
        payload("OffsetComitValue")
    with pytest.raises(UnknownPayload, match="see kdbg grammar payloads"):
        payload("zzz")


def test_every_payload_is_one_of_a_family_that_says_what_it_is_for() -> None:
    listed = [found.name for found in payloads()]
    assert len(listed) == len(set(listed)) > 100
    for found in payloads():
        first = about(found).splitlines()[0]
        assert first[0].isupper()
        assert first.endswith((".", ",", ";")) or len(about(found).splitlines()) > 1
