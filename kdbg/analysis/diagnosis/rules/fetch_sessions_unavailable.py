"""A consumer wants fetch sessions and does not get them: it lists all its partitions each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule
from ..queries import evidence, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.flows import Polls
    from ...ledgers.sessions import KafkaConnection

SESSION_ERRORS = (70, 71)  # FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH
OFTEN = 10
MANY_PARTITIONS = 20


def find(book: Ledgers) -> Iterator[Case]:
    """Look for consumers that are refused a session again and again, or lose it."""
    found: dict[str, list[tuple[KafkaConnection, Polls]]] = {}
    for number, polls in book.polls.items():
        if polls.replica < 0:
            session = book.sessions[number]
            found.setdefault(session.client_id, []).append((session, polls))
    for all in found.values():
        lost = Occurrences.of(polls.session_errors[code] for _, polls in all for code in SESSION_ERRORS
                       if code in polls.session_errors)  # fmt: skip
        full = Occurrences.of(polls.full_sessions for _, polls in all)
        partitions = max(polls.partitions for _, polls in all)
        seen = lost if lost.count >= OFTEN else full
        if seen.count < OFTEN:
            continue
        heavy = lost.count >= OFTEN or partitions >= MANY_PARTITIONS
        yield rule.case(
            who(all[0][0]), seen.since, seen.until, seen.count,
            evidence(seen, "session_id", "session_epoch"), facts={"partitions": partitions},
            severity=Severity.WARNING if heavy else Severity.NOTE,
        )  # fmt: skip


rule: Rule = Rule(
    "fetch-sessions-unavailable",
    Severity.WARNING,
    "no fetch session available",
    (
        "client {client_id} requests a fetch session from broker {broker} and gets none, {times}: every "
        "Fetch request lists {partitions:partition}"
    ),
    ("Raise max.incremental.fetch.session.cache.slots on the broker, or find out which clients use the slots."),
    "KIP-227",
    find,
)
