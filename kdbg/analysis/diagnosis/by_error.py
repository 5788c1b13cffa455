"""Rules that an error code alone makes sure of: by client and by what the error is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, Literal

from ...protocol.findings import Severity
from ...protocol.findings.quirks import MISTAKES, Sure
from ..ledgers import Ledgers
from ..ledgers.evidence import Occurrences
from ..ledgers.sessions import ORDER, KafkaConnection, Malformed
from .case import CERTAINTIES, Case, Rule, rule
from .queries import Failures, extent, failures, who

Subject = Literal["topic", "group", "transactional_id", ""]


def by_error(
    code: str,
    title: str,
    sentence: str,
    advice: str,
    document: str,
    *,
    errors: tuple[int, ...],
    apis: tuple[int, ...] | None = None,
    subject: Subject = "topic",
    weight: float = 2.0,
    facts: Callable[[Ledgers, Failures], Mapping[str, Any]] | None = None,
    explains: Set[str] = frozenset(),
) -> Rule:
    """Return the rule that finds these error codes in messages of these APIs (None: of any).

    `subject` is what of a request the error is about. The sentence may name `principal`, the user of the connection,
    and what `facts` tell.
    """

    @rule(code, Severity.ERROR, title, sentence, advice, document, explains=explains)
    def found(book: Ledgers) -> Iterator[Case]:
        for one in failures(book, errors, apis):
            named = {subject: one.subject or None} if subject else {}
            more = {} if facts is None else facts(book, one)
            known = {"principal": one.session.user or "ANONYMOUS", **more}
            yield found.case(who(one.session, **named), *extent(one.seen, "error_code"), known, weight=weight)

    return found


EXPLAINS: frozenset[str] = frozenset({"connection-churn", "client-without-sasl", "correlation-mismatch-middlebox"})
WEIGHT = 4.0
"""More than any other cause has: what the message itself explains comes first."""


def malformed(side: str, title: str, sentence: str) -> Rule:
    """Return the rule for mistakes in the messages of one side."""

    @rule(
        f"malformed-{side}", Severity.ERROR, title, sentence,
        "Correct the program that writes the message. {rule}",
        "Kafka protocol guide", ("another mistake that leads to the same bytes",), EXPLAINS,
    )  # fmt: skip
    def found(book: Ledgers) -> Iterator[Case]:
        mistakes: dict[tuple[Any, ...], list[tuple[KafkaConnection, Malformed]]] = {}
        for session in book.sessions.values():
            for key, one in session.mistakes.by_kind.items():
                if key[0] == side:
                    party = (session.client_id, session.peers.client[0]) if side == "request" else session.broker
                    mistakes.setdefault((party, *key), []).append((session, one))
        for all in mistakes.values():
            session, first = all[0]
            seen = Occurrences.of(one.seen for _, one in all)
            severity = min((one.severity for _, one in all), key=ORDER.index)
            if severity is Severity.NOTE and first.facts.sure == Sure.GUESS:
                continue  # lint and the message itself say it
            facts = {
                "api": first.facts.api, "version": first.facts.version, "mistake": first.finding.text,
                "rule": MISTAKES[first.facts.kind].explanation,
            }  # fmt: skip
            certainty = next(one for one in CERTAINTIES if one == first.facts.sure)
            yield found.case(
                who(session), *extent(seen, *filter(None, [first.finding.path])), facts,
                certainty=certainty, weight=WEIGHT, severity=severity,
            )  # fmt: skip

    return found
