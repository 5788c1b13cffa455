"""A consumer asks again and again without waiting for data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule
from ..queries import MS, SECOND, evidence, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.flows import Polls
    from ...ledgers.sessions import KafkaConnection

MANY = 100
PER_SECOND = 40
SHORT_MS = 20


def find(book: Ledgers) -> Iterator[Case]:
    """Look for clients whose fetches are mostly empty, come fast, and allow no waiting."""
    found: dict[str, list[tuple[KafkaConnection, Polls]]] = {}
    for number, polls in book.polls.items():
        if polls.replica < 0 and (polls.max_wait_ms <= SHORT_MS or polls.min_bytes == 0):
            session = book.sessions[number]
            found.setdefault(session.client_id, []).append((session, polls))
    for all in found.values():
        requests, empty = (
            Occurrences.of(polls.requests for _, polls in all),
            Occurrences.of(polls.empty for _, polls in all),
        )
        rate = requests.count / max((requests.until - requests.since) / SECOND, 0.5)
        if empty.count < MANY or empty.count < 0.5 * requests.count or rate < PER_SECOND:
            continue
        session, polls = all[0]
        topics = [topic for (number, topic, _) in book.fetched if number == session.peers.number]
        yield rule.case(
            who(session, topic=topics[0] if topics else None), empty.since, empty.until, empty.count,
            evidence(empty, "max_wait_ms", "min_bytes"),
            facts={"rate": rate, "wait": polls.max_wait_ms * MS, "min_bytes": polls.min_bytes}, weight=1.2,
        )  # fmt: skip


rule: Rule = Rule(
    "busy-fetch-loop",
    Severity.WARNING,
    "consumer fetches in a busy loop",
    (
        "client {client_id} sends {rate:Fetch request} per second to broker {broker} and receives "
        "{count:empty response}: max_wait_ms is {wait!d}, min_bytes is {min_bytes}"
    ),
    ("Set fetch.max.wait.ms (librdkafka: fetch.wait.max.ms) to 500 and fetch.min.bytes to 1, their defaults."),
    "Consumer configs: fetch.max.wait.ms",
    find,
)
