"""Rules that an error code alone makes sure of: by client and by what the error is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ...protocol.findings.kinds import Severity
from .case import Case, Rule
from .queries import Failures, evidence, failures, who

if TYPE_CHECKING:
    from ..ledgers import Ledgers

Subject = Literal["topic", "group", "transactional_id", ""]


def nothing_more(book: Ledgers, one: Failures) -> Mapping[str, Any]:
    """Return no more facts than all such rules have."""
    return {}


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
    facts: Callable[[Ledgers, Failures], Mapping[str, Any]] = nothing_more,
    explains: frozenset[str] = frozenset(),
) -> Rule:
    """Return the rule that finds these error codes in messages of these APIs (None: of any).

    `subject` is what of a request the error is about. The sentence may name `principal`, the user of the connection,
    and what `facts` tell.
    """

    def find(book: Ledgers) -> Iterator[Case]:
        for one in failures(book, errors, apis):
            named = {subject: one.subject or None} if subject else {}
            known = {"principal": one.session.user or "ANONYMOUS", **facts(book, one)}
            yield rule.case(
                who(one.session, **named), one.seen.since, one.seen.until, one.seen.count,
                evidence(one.seen, "error_code"), known, weight=weight,
            )  # fmt: skip

    rule = Rule(code, Severity.ERROR, title, sentence, advice, document, find, explains=explains)
    return rule
