"""A request in a version that the broker does not speak: it answers UNSUPPORTED_VERSION, or hangs up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Certainty, Evidence, Rule
from ..queries import api_name, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection, Unanswered

UNSUPPORTED_VERSION, API_VERSIONS = 35, 18
BASE: dict[int, int] = {0: 3, 1: 4, 2: 1, 8: 2, 9: 1, 11: 2, 19: 2, 20: 1, 32: 1, 33: 1}
"""API keys and the least versions of them that Kafka 4 speaks, where older ones were dropped (KIP-896)."""


def offers(book: Ledgers, session: KafkaConnection, api_key: int) -> tuple[int, int] | None:
    """Return which versions of an API a broker offers, as it told on this connection or any other."""
    if session.offered:
        return session.offered.get(api_key, (0, -1))
    told = [other.offered for other in book.sessions.values() if other.offered and other.broker == session.broker]
    return told[0].get(api_key, (0, -1)) if told else None


def refused(book: Ledgers, session: KafkaConnection) -> tuple[Unanswered, tuple[int, int] | None, Certainty] | None:
    """Return a request at which the broker hung up, what it offers, and how sure it is that the version was why."""
    if session.closed_first != "broker" or not session.unanswered:
        return None
    for asked in session.unanswered[-2:]:
        if asked.api_key < 0:  # what has no header: SASL tokens
            continue
        offered = offers(book, session, asked.api_key)
        if offered is not None and not offered[0] <= asked.version <= offered[1] and asked.api_key != API_VERSIONS:
            return asked, offered, "certain"
        alone = session.exchanges == session.unanswered_count and not session.offered and session.mechanism is None
        if alone and asked.version < BASE.get(asked.api_key, 0):
            return asked, offered, "likely"
    return None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for errors that say so, and for requests of such versions that nobody answers."""
    for one in failures(book, (UNSUPPORTED_VERSION,)):
        those = [failure for failure in one.all if failure.api_key != API_VERSIONS]
        if not those:
            continue
        session, key = those[0].session, those[0].api_key
        version = max(session.used(key).versions, default=-1)
        yield _case(book, [session], key, version, offers(book, session, key), "certain", those[0].seen.numbers,
                    one.seen.since, one.seen.until, one.seen.count)  # fmt: skip
    found: dict[tuple[str, int, int], list[tuple[KafkaConnection, Unanswered, tuple[int, int] | None, Certainty]]] = {}
    for session in book.sessions.values():
        what = refused(book, session)
        if what is not None:
            found.setdefault((session.client_id, what[0].api_key, what[0].version), []).append((session, *what))
    for (_, key, version), all in found.items():
        marks = [asked.mark for _, asked, _, _ in all]
        yield _case(
            book, [session for session, *_ in all], key, version, all[0][2], all[0][3],
            tuple(mark.number for mark in marks[:6]), marks[0].time, marks[-1].end, len(all),
        )  # fmt: skip


def offered_text(key: int, version: int, offered: tuple[int, int] | None) -> str:
    """Return which versions of an API the broker supports, as the sentence has it."""
    if offered is None:
        known = key in BASE
        return f"Kafka 4 supports v{BASE[key]} and later" if known else "the supported versions are not in the capture"
    lowest, highest = offered
    if highest < lowest:
        return "the broker does not support this API"
    here = lowest <= version <= highest
    return f"the broker supports v{lowest} to v{highest}" + (" according to its ApiVersions response" if here else "")


def _case(
    book: Ledgers, sessions: list[KafkaConnection], key: int, version: int, offered: tuple[int, int] | None,
    certainty: Certainty, numbers: tuple[int, ...], since: int, until: int, count: int,
) -> Case:  # fmt: skip
    facts = {"api": api_name(key), "version": version, "offered": offered_text(key, version, offered),
             "software": sessions[0].software or "unknown software"}  # fmt: skip
    return rule.case(
        who(sessions[0]), since, until, count, Evidence(numbers, (), ("api_version",)),
        facts=facts, certainty=certainty, weight=3.0,
    )  # fmt: skip


rule: Rule = Rule(
    "api-version-unsupported",
    Severity.ERROR,
    "API version not supported by the broker",
    (
        "client {client_id} ({software}) sends {api} v{version} to broker {broker}, which "
        "{probably}rejects this version: {offered}"
    ),
    (
        "Upgrade the older side (Kafka 4 does not support clients older than 2.1), or set the client's "
        "protocol version to one that the broker supports."
    ),
    "KIP-896, KIP-35",
    find,
    explains=frozenset({"connection-churn", "client-without-sasl"}),
)
