"""Messages that the other side cannot read: API versions that a broker does not support, and malformed messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...ledgers import Ledgers
from ...ledgers.sessions import KafkaConnection, Unanswered
from ..case import Case, rule
from ..queries import api_name, evidence, extent_of_marks, failures, grouped, malformed, who
from ..trials import Certainty

UNSUPPORTED_VERSION, METADATA, API_VERSIONS = 35, 3, 18
OF_QUORUM = frozenset({52, 53, 62, 63})
"""Vote, BeginQuorumEpoch, BrokerRegistration, BrokerHeartbeat: APIs of controllers."""
OLDEST: dict[int, int] = {0: 3, 1: 4, 2: 1, 8: 2, 9: 1, 11: 2, 19: 2, 20: 1, 32: 1, 33: 1}
"""API keys and the least versions of them that Kafka 4 supports, where older ones were dropped (KIP-896)."""


def offers(book: Ledgers, session: KafkaConnection, api_key: int) -> tuple[int, int] | None:
    """Return which versions of an API a broker offers, by its response on this connection or any other."""
    if session.offered:
        return session.offered.get(api_key, (0, -1))
    told = [other.offered for other in book.sessions.values() if other.offered and other.broker == session.broker]
    return told[0].get(api_key, (0, -1)) if told else None


def refused(book: Ledgers, session: KafkaConnection) -> tuple[Unanswered, tuple[int, int] | None, Certainty] | None:
    """Return a request after which the broker closed, what it offers, and how sure it is that the version was why."""
    if session.closed_first != "broker" or not session.unanswered:
        return None
    for asked in session.unanswered[-2:]:
        if asked.api_key < 0:  # what has no header: SASL tokens
            continue
        offered = offers(book, session, asked.api_key)
        if offered is not None and not offered[0] <= asked.version <= offered[1] and asked.api_key != API_VERSIONS:
            return asked, offered, "certain"
        if session.offered or session.mechanism is not None or asked.version >= OLDEST.get(asked.api_key, 0):
            continue
        if not session.is_served or not is_answered(book, session, asked):
            return asked, offered, "likely"
    return None


def is_answered(book: Ledgers, session: KafkaConnection, asked: Unanswered) -> bool:
    """Return whether a broker answers an API in a version that is as old, on any connection."""
    answered = (
        one.used(asked.api_key)
        for one in book.sessions.values()
        if one.broker == session.broker and all(other.api_key != asked.api_key for other in one.unanswered)
    )
    return any(min(use.versions, default=1 << 15) < OLDEST[asked.api_key] for use in answered)


def version_facts(session: KafkaConnection, key: int, version: int, offered: tuple[int, int] | None) -> dict[str, Any]:
    """Return the facts of a case about a version of an API, with the versions that the broker supports in words."""
    lowest, highest = offered or (0, 0)
    if offered is None:
        unknown = "the supported versions are not in the capture"
        text = f"Kafka 4 supports v{OLDEST[key]} and later" if key in OLDEST else unknown
    elif highest < lowest:
        text = "the broker does not support this API"
    else:
        text = f"the broker supports v{lowest} to v{highest}"
        text += " according to its ApiVersions response" if lowest <= version <= highest else ""
    return {"api": api_name(key), "version": version, "offered": text,
            "software": session.software or "unknown software"}  # fmt: skip


@rule(
    "controller-as-bootstrap",
    "connection",
    title="client connects to a controller",
    sentence="client {client_id} connects to address {broker}, whose ApiVersions response contains no Metadata: a "
    "KRaft controller listens there, not a broker",
    advice="Set bootstrap.servers to the brokers; for tools that administer controllers, use --bootstrap-controller.",
    document="KIP-919",
    explains={"connection-churn", "no-response", "repeated-requests"},
)
def controller_as_bootstrap(book: Ledgers) -> Iterator[Case]:
    """Look for clients that a controller responds to, other than brokers."""
    wrong = (one for one in book.sessions.values() if METADATA not in one.offered and OF_QUORUM & one.offered.keys()
             and one.apis.keys() <= {API_VERSIONS, METADATA} and one.first is not None)  # fmt: skip
    for sessions in grouped(wrong, lambda one: (one.client_id, one.peers.client[0], one.broker)).values():
        marks = [session.first for session in sessions if session.first is not None]
        yield controller_as_bootstrap.case(who(sessions[0]), *extent_of_marks(marks, "api_keys"), weight=3.0)


@rule(
    "api-version-unsupported",
    "API versions",
    title="API version not supported by the broker",
    sentence="client {client_id} ({software}) sends {api} v{version} to broker {broker}, which {probably}rejects this "
    "version: {offered}",
    advice="Upgrade the older side (Kafka 4 does not support clients older than 2.1), or set the client's protocol "
    "version to one that the broker supports.",
    document="KIP-896, KIP-35",
    explains={"connection-churn", "client-without-sasl"},
)
def api_version_unsupported(book: Ledgers) -> Iterator[Case]:
    """Look for errors that say so, and for requests of such versions that get no answer."""
    for one in failures(book, (UNSUPPORTED_VERSION,)):
        those = [failure for failure in one.all if failure.api_key != API_VERSIONS]
        if not those:
            continue
        session, key = those[0].session, those[0].api_key
        version = max(session.used(key).versions, default=-1)
        yield api_version_unsupported.case(
            who(session), one.seen.since, one.seen.until, one.seen.count, evidence(those[0].seen, "api_version"),
            version_facts(session, key, version, offers(book, session, key)), weight=3.0,
        )  # fmt: skip
    closed = ((session, what) for session in book.sessions.values() if (what := refused(book, session)) is not None)
    by_version = grouped(closed, lambda one: (one[0].client_id, one[1][0].api_key, one[1][0].version))
    for (_, key, version), all in by_version.items():
        session, (_, offered, certainty) = all[0]
        yield api_version_unsupported.case(
            who(session), *extent_of_marks([what[0].mark for _, what in all], "api_version"),
            version_facts(session, key, version, offered), certainty=certainty, weight=3.0,
        )  # fmt: skip


malformed_request = malformed(
    "request",
    title="malformed request",
    sentence="client {client_id} sends a malformed {api} v{version} request to broker {broker}, {times}: {mistake}",
)


malformed_response = malformed(
    "response",
    title="malformed response",
    sentence="broker {broker} sends a malformed {api} v{version} response to client {client_id}, {times}: {mistake}",
)
