"""A member's heartbeats pause for longer than its session timeout: the coordinator takes it for dead."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Evidence, Rule, Who
from ..queries import MS

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.groups import Group, Member

UNKNOWN_MEMBER_ID, INVALID_SESSION_TIMEOUT, JOIN = 25, 26, 11
SLACK = 0.9
AGAIN = 2


def find(book: Ledgers) -> Iterator[Case]:
    """Look for members that are unknown behind a pause, and for timeouts that the broker refuses."""
    for group in book.groups.values():
        for member in group.members.values():
            unknown = member.errors.get(UNKNOWN_MEMBER_ID)
            pause, since = member.longest_pause
            timeout = member.session_timeout_ms * MS
            before = member.left is not None and unknown is not None and member.left.time <= unknown.since
            if unknown is None or not timeout or pause < SLACK * timeout or before:
                continue
            yield rule.case(
                Who(member.client_id or None, member.host or None, group=group.name), since, unknown.until,
                unknown.count, Evidence(unknown.numbers, (), ("session_timeout_ms", "error_code")),
                facts={"timeout": timeout, "pause": pause}, certainty="likely", weight=2.3,
            )  # fmt: skip
        yield from _forgotten(group)
        refused = group.errors.get((JOIN, INVALID_SESSION_TIMEOUT))
        if refused is not None:
            clients = list(group.clients)
            first = next(iter(group.members.values()), None)
            asked = first.session_timeout_ms * MS if first is not None else 0
            yield rejected.case(
                Who(clients[0] if clients else None, group=group.name), refused.since, refused.until, refused.count,
                Evidence(refused.numbers, (), ("session_timeout_ms", "error_code")),
                facts={"timeout": asked}, weight=2.3,
            )  # fmt: skip


def _forgotten(group: Group) -> Iterator[Case]:
    """Yield the clients that joined again and again under new ids, each time after a pause that is too long."""
    unknown = Occurrences.of(seen for (_, code), seen in group.errors.items() if code == UNKNOWN_MEMBER_ID)
    if not unknown:
        return
    by_client: dict[str, list[Member]] = {}
    for member in group.known_members():
        if member.joined:
            by_client.setdefault(member.client_id, []).append(member)
    for client, members in by_client.items():
        pauses = [
            (other.joined.since - one.last_sign, one)
            for one, other in pairwise(members)
            if one.left is None and one.connections & other.connections
            and other.joined.since - one.last_sign >= SLACK * one.session_timeout_ms * MS > 0
        ]  # fmt: skip
        if len(pauses) < AGAIN:
            continue
        pause, member = max(pauses, key=lambda found: found[0])
        yield rule.case(
            Who(client or None, member.host or None, group=group.name), member.last_sign, unknown.until, len(pauses),
            Evidence(unknown.numbers, (), ("session_timeout_ms", "error_code")),
            {"timeout": member.session_timeout_ms * MS, "pause": pause}, certainty="likely", weight=2.3,
        )  # fmt: skip


rule: Rule = Rule(
    "session-timeout-too-short",
    Severity.ERROR,
    "session.timeout.ms exceeded",
    (
        "client {client_id} sent nothing to the coordinator of group {group} for {pause!d}, longer than "
        "its session.timeout.ms of {timeout!d}: the coordinator {probably}removed the client from the "
        "group"
    ),
    (
        "Raise session.timeout.ms (default 45 s; at least three times heartbeat.interval.ms and no less "
        "than the broker's group.min.session.timeout.ms), or find out what stalls the client."
    ),
    "KIP-735",
    find,
    ("the process, its host or its network was suspended for a while",),
    frozenset({"commit-after-leaving-group", "offset-commit-failing", "consumer-paused"}),
)
rejected = rule._replace(
    sentence=(
        "the coordinator of group {group} rejects the session.timeout.ms of {timeout!d} of client {client_id}: "
        "INVALID_SESSION_TIMEOUT, {times}"
    ),
    advice=(
        "Set session.timeout.ms between group.min.session.timeout.ms and group.max.session.timeout.ms of the broker, "
        "or change these limits."
    ),
)
