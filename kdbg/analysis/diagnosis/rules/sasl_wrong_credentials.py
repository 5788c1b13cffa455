"""SASL fails: the user or the password is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import shorten
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule
from ..queries import who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection

SASL_AUTHENTICATION_FAILED = 58
LONGEST = 85
"""Characters of the broker's error message that a sentence contains at most."""


def find(book: Ledgers) -> Iterator[Case]:
    """Look for refused logins, by user, mechanism and client."""
    found: dict[tuple[str, str, str], list[KafkaConnection]] = {}
    for session in book.sessions.values():
        if session.refused is not None and session.refused[1] == SASL_AUTHENTICATION_FAILED:
            key = session.user or "", session.mechanism or "", session.client_id
            found.setdefault(key, []).append(session)
    for (user, mechanism, _), sessions in found.items():
        refused = [session.refused for session in sessions if session.refused is not None]
        marks = [mark for mark, _, _ in refused]
        yield rule.case(
            who(sessions[0]), marks[0].time, marks[-1].end, len(sessions),
            Evidence(tuple(mark.number for mark in marks[:6]), (), ("error_code", "error_message")),
            facts={"mechanism": mechanism or "SASL", "name": user or "(unknown)",
                   "said": f" ({shorten(refused[0][2], LONGEST)})" if refused[0][2] else ""},
            certainty="certain" if mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512") else "likely", weight=3.0,
        )  # fmt: skip


rule: Rule = Rule(
    "sasl-wrong-credentials",
    Severity.ERROR,
    "authentication fails",
    (
        "broker {broker} rejects the {mechanism} login of user {name} from client {client_id}, {times}: "
        "the credentials are {probably}wrong{said}"
    ),
    (
        "Check the credentials (sasl.jaas.config; librdkafka: sasl.username, sasl.password), or create "
        "user {name} on the broker."
    ),
    "KIP-152",
    find,
    ("the user does not exist for this mechanism", "the token has expired"),
    frozenset({"connection-churn", "client-without-sasl"}),
)
