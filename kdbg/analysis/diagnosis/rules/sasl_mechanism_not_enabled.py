"""The client asks for a SASL mechanism that the listener does not offer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Evidence, Rule
from ..queries import who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection

UNSUPPORTED_SASL_MECHANISM = 33


def find(book: Ledgers) -> Iterator[Case]:
    """Look for handshakes that are refused, by mechanism and client."""
    found: dict[tuple[str, str], list[KafkaConnection]] = {}
    for session in book.sessions.values():
        if session.refused is not None and session.refused[1] == UNSUPPORTED_SASL_MECHANISM:
            found.setdefault((session.mechanism or "", session.client_id), []).append(session)
    for (mechanism, _), sessions in found.items():
        marks = [session.refused[0] for session in sessions if session.refused is not None]
        yield rule.case(
            who(sessions[0]), marks[0].time, marks[-1].end, len(sessions),
            Evidence(tuple(mark.number for mark in marks[:6]), (), ("mechanism", "mechanisms")),
            facts={"mechanism": mechanism, "offered": ", ".join(sessions[0].offered_mechanisms) or "none"}, weight=3.0,
        )  # fmt: skip


rule: Rule = Rule(
    "sasl-mechanism-not-enabled",
    Severity.ERROR,
    "SASL mechanism not enabled",
    "client {client_id} requests SASL mechanism {mechanism} from broker {broker}, which offers {offered}",
    (
        "Set sasl.mechanism on the client to a mechanism that the listener offers ({offered}), or add "
        "{mechanism} to sasl.enabled.mechanisms of the listener."
    ),
    "KIP-43",
    find,
    explains=frozenset({"connection-churn", "client-without-sasl"}),
)
