"""A client goes on asking a broker that does not coordinate its group (any more)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule
from ..queries import evidence, failures, sessions_of, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

NOT_COORDINATOR, FIND_COORDINATOR = 16, 10
OFTEN = 5


def find(book: Ledgers) -> Iterator[Case]:
    """Look for NOT_COORDINATOR again and again, without a look who coordinates now."""
    by_client: dict[str, list[Occurrences]] = {}
    for one in failures(book, (NOT_COORDINATOR,)):
        by_client.setdefault(one.client_id, []).append(one.seen)
    for client, all in by_client.items():
        seen = Occurrences.of(all)
        if seen.count < OFTEN:
            continue
        looked = Occurrences.of(session.used(FIND_COORDINATOR).seen for session in sessions_of(book, client))
        since = [mark for mark in looked.marks if mark.time > seen.since]
        asked = len(since) if looked.count <= len(looked.marks) else looked.count
        if asked * 2 > seen.count:
            continue
        groups = [group.name for group in book.groups.values() if client in group.clients]
        sessions = sessions_of(book, client)
        yield rule.case(
            who(sessions[0] if sessions else None, group=groups[0] if groups else None), seen.since, seen.until,
            seen.count, evidence(seen, "error_code"), facts={"looked": asked}, weight=2.2,
        )  # fmt: skip


rule: Rule = Rule(
    "coordinator-moved",
    Severity.ERROR,
    "client keeps using the old coordinator",
    (
        "client {client_id} keeps sending requests for group {group} to broker {broker}, which is no "
        "longer the coordinator: the client receives {count:NOT_COORDINATOR error} and sends "
        "{looked:FindCoordinator request}"
    ),
    (
        "Upgrade or fix the client: after NOT_COORDINATOR it must send FindCoordinator and use the "
        "coordinator in the response."
    ),
    "Kafka protocol guide: FindCoordinator",
    find,
    explains=frozenset({"offset-commit-failing"}),
)
