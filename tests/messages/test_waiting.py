"""How long requests ask to be waited for, and what of a latency is beyond that."""

from __future__ import annotations

from typing import Any

from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.message import grammar_of
from kdbg.exchanges.messages.requested_wait import WAITS, asked_to_wait, beyond_wait
from kdbg.protocol.grammars import api, apis

from ..cases import for_each
from ..engine.playbook import Playbook, request, response


def exchange(key: int, version: int, *, packets: int = 0, **fields: Any) -> Exchange:
    """Return an exchange; packet n comes n microseconds after the first."""
    playbook = Playbook() >> request(1, key, version, **fields)
    for _ in range(packets):
        playbook.packet(False, 0x10)
    playbook << response(1, key, version)
    playbook.close()
    return playbook.exchanges[0]


@for_each(
    ("key", "version", "fields", "milliseconds"),
    [
        (1, 12, {"max_wait_ms": 500, "min_bytes": 1}, 500),
        (1, 12, {"max_wait_ms": 500, "min_bytes": 0}, 0),
        (78, 1, {"max_wait_ms": 300, "min_bytes": 1}, 300),
        (0, 9, {"acks": -1, "timeout_ms": 30000, "topic_data": []}, 30000),
        (0, 9, {"acks": 1, "timeout_ms": 30000, "topic_data": []}, 0),
        (11, 5, {"rebalance_timeout_ms": 300000, "session_timeout_ms": 45000}, 300000),
        (11, 0, {"session_timeout_ms": 45000}, 45000),
        (19, 5, {"timeout_ms": 9000, "topics": []}, 9000),
        (2, 10, {"timeout_ms": 700, "topics": []}, 700),
        (2, 5, {"topics": []}, None),
        (3, 12, {"topics": []}, None),
        (12, 4, {}, None),
    ],
)
def test_what_requests_ask_for(key: int, version: int, fields: dict[str, Any], milliseconds: int | None) -> None:
    assert asked_to_wait(exchange(key, version, **fields)) == milliseconds


def test_a_response_alone_says_nothing() -> None:
    playbook = Playbook() << response(1, 1, 12)
    playbook.close()
    assert all(asked_to_wait(one) is None and beyond_wait(one) is None for one in playbook.exchanges)


def test_an_answer_is_late_by_what_is_beyond_a_hold() -> None:
    poll = exchange(1, 12, packets=2500, max_wait_ms=2, min_bytes=1)
    assert poll.latency is not None
    assert poll.latency > 2_000_000
    assert beyond_wait(poll) == poll.latency - 2_000_000
    assert beyond_wait(exchange(1, 12, packets=9, max_wait_ms=2, min_bytes=1)) == 0
    at_once = exchange(1, 12, packets=9, max_wait_ms=2, min_bytes=0)
    assert beyond_wait(at_once) == at_once.latency


def test_a_mere_limit_is_not_taken_off() -> None:
    slow = exchange(0, 9, packets=9, acks=-1, timeout_ms=30000, topic_data=[])
    assert beyond_wait(slow) == slow.latency != 0


@for_each("found", list(apis()), ids=lambda found: found.name)
def test_every_request_that_says_so_is_known(found: Any) -> None:
    """A version to come that gets a timeout is not forgotten."""
    if not found.versions:
        return
    names = {field.name for field in grammar_of(found, found.versions[-1], "request").members}
    assert bool(names & {"timeout_ms", "max_wait_ms"}) <= (found.key in WAITS)
    if found.key in WAITS:
        assert WAITS[found.key].field in names


def test_names_are_those_of_the_protocol() -> None:
    names = [
        "Produce", "Fetch", "ListOffsets", "JoinGroup", "CreateTopics", "DeleteTopics", "DeleteRecords",
        "CreatePartitions", "ElectLeaders", "AlterPartitionReassignments", "ListPartitionReassignments",
        "UpdateFeatures", "ShareFetch", "AddRaftVoter",
    ]  # fmt: skip
    assert [api(key).name for key in WAITS] == names
