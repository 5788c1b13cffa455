"""Error codes that are normal steps of a protocol."""

from __future__ import annotations

from kdbg.exchanges.messages.rejection import NORMAL_STEPS, is_normal_step, went_wrong
from kdbg.protocol.grammars import api
from kdbg.protocol.grammars.errors import error_name

from ..cases import for_each
from ..engine.playbook import Playbook, request, response


@for_each(
    ("name", "code", "normal"),
    [
        ("JoinGroup", 79, True),
        ("Heartbeat", 79, False),
        ("Heartbeat", 27, True),
        ("SyncGroup", 27, True),
        ("OffsetCommit", 27, True),
        ("DeleteTopics", 27, False),
        ("ApiVersions", 35, True),
        ("Metadata", 35, False),
        ("OffsetFetch", 14, True),
        ("InitProducerId", 14, True),
        ("Produce", 6, False),
        ("Fetch", 0, False),
    ],
)
def test_what_is_normal_depends_on_the_api(name: str, code: int, normal: bool) -> None:
    assert is_normal_step(api(name), code) is normal


def test_of_an_unknown_api_little_is_known() -> None:
    assert [code for code in (14, 27, 35, 79) if is_normal_step(None, code)] == [14]


def test_codes_are_those_that_are_meant() -> None:
    assert [error_name(code) for code in NORMAL_STEPS] == [
        "COORDINATOR_LOAD_IN_PROGRESS", "REBALANCE_IN_PROGRESS", "UNSUPPORTED_VERSION", "MEMBER_ID_REQUIRED",
    ]  # fmt: skip


def test_errors_without_them() -> None:
    playbook = Playbook() >> request(1, 12, 0, group_id="g", member_id="m") << response(1, 12, 0, error_code=27)
    playbook >> request(2, 12, 0, group_id="g", member_id="m") << response(2, 12, 0, error_code=25)
    playbook.close()
    rebalance, unknown = playbook.exchanges
    assert [(error.name, went_wrong(one)) for one in (rebalance, unknown) for error in one.errors] == [
        ("REBALANCE_IN_PROGRESS", False), ("UNKNOWN_MEMBER_ID", True),
    ]  # fmt: skip
