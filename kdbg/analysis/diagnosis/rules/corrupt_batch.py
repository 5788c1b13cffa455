"""A broker refuses a batch whose checksum is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Kind, Severity
from ..case import Case, Rule
from ..queries import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

PRODUCE, FETCH = 0, 1
CODES = (2,)  # CORRUPT_MESSAGE
APIS = (0,)


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and topic."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, topic=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), facts={"how": "writes"}, weight=2.5,
        )  # fmt: skip
    for session in book.sessions.values():
        damaged = session.findings.get(Kind.CRC_MISMATCH)
        if damaged is None or not session.used(FETCH).seen or session.used(PRODUCE).seen:
            continue
        topics = [topic for (number, topic, _), one in book.fetched.items() if number == session.peers.number
                  and one.with_data]  # fmt: skip
        yield rule.case(
            who(session, topic=topics[0] if topics else None), damaged.since, damaged.until, damaged.count,
            evidence(damaged, "crc"), facts={"how": "fetches"}, weight=2.5,
        )  # fmt: skip


rule: Rule = Rule(
    "corrupt-batch",
    Severity.ERROR,
    "record batch is corrupt",
    "client {client_id} {how} a record batch of topic {topic} that fails its CRC check, {times}",
    (
        "Check every component that handles the batch: the client library (CRC-32C from the attributes "
        "field on), proxies, memory and disks. Another replica may have an intact copy."
    ),
    "Kafka protocol guide: record batch",
    find,
)
