"""A principal may not use a topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (29,)  # TOPIC_AUTHORIZATION_FAILED
APIS = None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and topic."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, topic=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), facts={"principal": one.session.user or "ANONYMOUS"}, weight=2.0,
        )  # fmt: skip


rule: Rule = Rule(
    "topic-authorization-failed",
    Severity.ERROR,
    "a topic that a client may not use",
    "{client_id} (user {principal}) may not use topic {topic}: TOPIC_AUTHORIZATION_FAILED, {times}",
    "Add an ACL for the principal on topic {topic}: Read to consume, Write to produce, Describe for metadata.",
    "KIP-11",
    find,
)
