"""Authentication and authorization: SASL that fails or is missing, and what an authenticated user may not do."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import shorten

from ...ledgers import Ledgers
from ...ledgers.sessions import KafkaConnection
from ..case import Case, rule
from ..queries import MS, by_error, evidence, extent_of_marks, grouped, who
from .versions import OLDEST

SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 17, 18, 36
UNSUPPORTED_SASL_MECHANISM, SASL_AUTHENTICATION_FAILED = 33, 58
LONGEST_MESSAGE = 85
"""Characters of the broker's error message that a sentence contains at most."""
NEARLY_EXPIRED = 0.9


def stopped_short(session: KafkaConnection) -> bool:
    """Return whether a broker closed the connection at the first request other than ApiVersions, without an answer."""
    begun = session.opened or API_VERSIONS in session.apis  # which comes first, if it comes
    if not begun or session.closed_first != "broker" or not session.unanswered:
        return False
    if session.apis.keys() & {SASL_HANDSHAKE, SASL_AUTHENTICATE}:
        return False
    first = session.unanswered[0]
    answered = session.exchanges - session.unanswered_count
    if first.api_key == API_VERSIONS or first.missing or answered > session.used(API_VERSIONS).seen.count:
        return False
    if first.version < OLDEST.get(first.api_key, 0):
        return False
    least, most = session.offered.get(first.api_key, (0, 1 << 15))
    return least <= first.version <= most


def served(book: Ledgers, session: KafkaConnection) -> bool:
    """Return whether a client that does not authenticate is answered at the same port: then it requires no SASL."""
    return any(
        other.broker == session.broker and other.mechanism is None and other.user is None
        and other.exchanges - other.unanswered_count > other.used(API_VERSIONS).seen.count
        for other in book.sessions.values()
    )  # fmt: skip


@rule(
    "client-without-sasl",
    "authentication",
    title="client does not authenticate on a SASL listener",
    sentence="broker {broker} closes the connection of client {client_id} at its first request other than "
    "ApiVersions, {times}: the listener {probably}requires SASL, and the client does not authenticate",
    advice="Set security.protocol=SASL_PLAINTEXT or SASL_SSL, sasl.mechanism ({mechanisms}) and the credentials on "
    "the client, or use a listener without SASL.",
    document="KIP-43, KIP-152",
    alternatives=("the broker is shutting down, or a load balancer closes connections",),
    explains={"connection-churn"},
)
def client_without_sasl(book: Ledgers) -> Iterator[Case]:
    """Look for connections that end so, by client and broker."""
    short = (session for session in book.sessions.values() if stopped_short(session))
    for sessions in grouped(short, lambda one: (one.client_id, one.peers.client[0], one.broker)).values():
        first = sessions[0]
        if served(book, first):
            continue
        mechanisms = {one.mechanism for one in book.sessions.values() if one.mechanism and one.broker == first.broker}
        offers = any(session.offered for session in sessions)
        yield client_without_sasl.case(
            who(first), *extent_of_marks([session.unanswered[0].mark for session in sessions]), weight=3.0,
            facts={"mechanisms": ", ".join(sorted(mechanisms)) or "PLAIN, SCRAM-SHA-512 …"},
            certainty="certain" if mechanisms and offers else "likely" if offers else "guess",
        )  # fmt: skip


def refused(book: Ledgers, code: int) -> Iterator[KafkaConnection]:
    """Yield the connections on which SASL failed with this error."""
    return (one for one in book.sessions.values() if one.refused is not None and one.refused[1] == code)


@rule(
    "sasl-mechanism-not-enabled",
    "authentication",
    title="SASL mechanism not enabled",
    sentence="client {client_id} requests SASL mechanism {mechanism} from broker {broker}, which offers {offered}",
    advice="Set sasl.mechanism on the client to a mechanism that the listener offers ({offered}), or add {mechanism} "
    "to sasl.enabled.mechanisms of the listener.",
    document="KIP-43",
    explains={"connection-churn", "client-without-sasl"},
)
def sasl_mechanism_not_enabled(book: Ledgers) -> Iterator[Case]:
    """Look for handshakes that are refused, by mechanism and client."""
    wrong = grouped(refused(book, UNSUPPORTED_SASL_MECHANISM), lambda one: (one.mechanism or "", one.client_id))
    for (mechanism, _), sessions in wrong.items():
        marks = [session.refused[0] for session in sessions if session.refused is not None]
        yield sasl_mechanism_not_enabled.case(
            who(sessions[0]), *extent_of_marks(marks, "mechanism", "mechanisms"), weight=3.0,
            facts={"mechanism": mechanism, "offered": ", ".join(sessions[0].offered_mechanisms) or "none"},
        )  # fmt: skip


sasl_client_to_plaintext_listener = by_error(
    "sasl-client-to-plaintext-listener",
    "authentication",
    title="SASL client on a listener without SASL",
    sentence="client {client_id} starts SASL on broker {broker}, which rejects SaslHandshake with ILLEGAL_SASL_STATE, "
    "{times}: that listener does not authenticate clients",
    advice="Use the port of the SASL listener, or set security.protocol=PLAINTEXT (or SSL) on the client.",
    document="KIP-43",
    errors=(34,),  # ILLEGAL_SASL_STATE
    apis=(SASL_HANDSHAKE,),
    subject="",
    weight=3.0,
    explains={"connection-churn"},
)


@rule(
    "sasl-wrong-credentials",
    "authentication",
    title="authentication fails",
    sentence="broker {broker} rejects the {mechanism} login of user {name} from client {client_id}, {times}: the "
    "credentials are {probably}wrong{said}",
    advice="Check the credentials (sasl.jaas.config; librdkafka: sasl.username, sasl.password), or create user {name} "
    "on the broker.",
    document="KIP-152",
    alternatives=("the user does not exist for this mechanism", "the token has expired"),
    explains={"connection-churn", "client-without-sasl"},
)
def sasl_wrong_credentials(book: Ledgers) -> Iterator[Case]:
    """Look for refused logins, by user, mechanism and client."""
    wrong = grouped(
        refused(book, SASL_AUTHENTICATION_FAILED), lambda one: (one.user or "", one.mechanism or "", one.client_id)
    )
    for (user, mechanism, _), sessions in wrong.items():
        marks, _, messages = zip(*(session.refused for session in sessions if session.refused is not None), strict=True)
        yield sasl_wrong_credentials.case(
            who(sessions[0]), *extent_of_marks(marks, "error_code", "error_message"), weight=3.0,
            facts={"mechanism": mechanism or "SASL", "name": user or "(unknown)",
                   "said": f" ({shorten(messages[0], LONGEST_MESSAGE)})" if messages[0] else ""},
            certainty="certain" if mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512") else "likely",
        )  # fmt: skip
    ended = (one for one in book.sessions.values() if one.closed_first == "broker"
             and any(request.api_key == SASL_AUTHENTICATE for request in one.unanswered))  # fmt: skip
    for (user, mechanism, _), sessions in grouped(
        ended, lambda one: (one.user or "", one.mechanism or "", one.client_id)
    ).items():
        yield sasl_wrong_credentials.case(
            who(sessions[0]), *extent_of_marks([one.unanswered[0].mark for one in sessions]), certainty="likely",
            facts={"mechanism": mechanism or "SASL", "name": user or "(unknown)",
                   "said": " (the broker closes the connection without a response)"}, weight=3.0,
        )  # fmt: skip


def expired(session: KafkaConnection) -> bool:
    """Return whether the broker closed the connection after the SASL session had expired."""
    if not session.lifetime or not session.authenticated or session.closed_first != "broker" or session.path is None:
        return False
    closed = session.path.closes[0].time
    return closed - session.authenticated[-1].end >= NEARLY_EXPIRED * session.lifetime * MS


@rule(
    "sasl-session-expired",
    "authentication",
    title="SASL session expired",
    sentence="broker {broker} closes the connection of client {client_id}, {times}: the SASL session of user {name}, "
    "valid for {lifetime!d}, {probably}expired, and the client did not re-authenticate",
    advice="Upgrade to a client that re-authenticates (Java 2.2, librdkafka 1.6 for OAUTHBEARER, or later), issue "
    "longer-lived tokens, or raise connections.max.reauth.ms on the broker.",
    document="KIP-368",
    explains={"connection-churn"},
)
def sasl_session_expired(book: Ledgers) -> Iterator[Case]:
    """Look for connections that outlive their login, by client."""
    ended = (session for session in book.sessions.values() if expired(session))
    for sessions in grouped(ended, lambda one: (one.client_id, one.user or "")).values():
        first = sessions[0]
        marks = [mark for session in sessions for mark in (session.authenticated[-1], session.last) if mark is not None]
        asked = any(session.unanswered for session in sessions)
        yield sasl_session_expired.case(
            who(first), marks[0].time, marks[-1].end, len(sessions), evidence(marks, "session_lifetime_ms"), weight=2.5,
            facts={"lifetime": first.lifetime * MS, "name": first.user or "(unknown)"},
            certainty="certain" if asked else "likely",
        )  # fmt: skip


cluster_authorization_failed = by_error(
    "cluster-authorization-failed",
    "metadata",
    title="client not authorized for a cluster operation",
    sentence="client {client_id} (user {principal}) is not authorized for a cluster operation on broker {broker}: "
    "CLUSTER_AUTHORIZATION_FAILED, {times}",
    advice="Add an ACL for user {principal} on the Cluster resource, for example IdempotentWrite, Create or Describe.",
    document="KIP-11",
    errors=(31,),  # CLUSTER_AUTHORIZATION_FAILED
    subject="",
)


group_authorization_failed = by_error(
    "group-authorization-failed",
    "coordinator",
    title="client not authorized for a group",
    sentence="client {client_id} (user {principal}) is not authorized for group {group}: GROUP_AUTHORIZATION_FAILED, "
    "{times}",
    advice="Add an ACL for user {principal}: Read on group {group}.",
    document="KIP-11",
    errors=(30,),  # GROUP_AUTHORIZATION_FAILED
    subject="group",
)


topic_authorization_failed = by_error(
    "topic-authorization-failed",
    "metadata",
    title="client not authorized for a topic",
    sentence="client {client_id} (user {principal}) is not authorized for topic {topic}: TOPIC_AUTHORIZATION_FAILED, "
    "{times}",
    advice="Add an ACL for user {principal} on topic {topic}: Read to consume, Write to produce, Describe for "
    "metadata.",
    document="KIP-11",
    errors=(29,),  # TOPIC_AUTHORIZATION_FAILED
)


transactional_id_authorization_failed = by_error(
    "transactional-id-authorization-failed",
    "transactions",
    title="client not authorized for a transactional id",
    sentence="client {client_id} (user {principal}) is not authorized for transactional id {transactional_id}: "
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED, {times}",
    advice="Add ACLs for user {principal} on transactional id {transactional_id}: Write and Describe.",
    document="KIP-98",
    errors=(53,),  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    subject="transactional_id",
)
