"""A group has no coordinator for longer than a start takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import SECOND, evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

COORDINATOR_NOT_AVAILABLE = 15
LONG = 5 * SECOND


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error over seconds, with no answer that names a coordinator behind it."""
    for one in failures(book, (COORDINATOR_NOT_AVAILABLE,)):
        group = book.groups.get(one.subject)
        better = group is not None and any(time > one.seen.until for time, _ in group.coordinators)
        if one.seen.until - one.seen.since < LONG or better:
            continue
        yield rule.case(
            who(one.session, group=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"),
        )  # fmt: skip


rule: Rule = Rule(
    "coordinator-unavailable",
    Severity.ERROR,
    "group has no coordinator",
    (
        "group {group} of client {client_id} has no coordinator: broker {broker} responds with "
        "COORDINATOR_NOT_AVAILABLE, {times}"
    ),
    (
        "Check that topic __consumer_offsets exists and that its partitions have leaders; "
        "offsets.topic.replication.factor may exceed the number of brokers."
    ),
    "Broker configs: offsets.topic.replication.factor",
    find,
)
