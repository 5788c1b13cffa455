"""A principal may not use a transactional id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (53,)  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
APIS = None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and id."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, transactional_id=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), facts={"principal": one.session.user or "ANONYMOUS"}, weight=2.0,
        )  # fmt: skip


rule: Rule = Rule(
    "transactional-id-authorization-failed",
    Severity.ERROR,
    "a transactional id that a client may not use",
    "{client_id} (user {principal}) may not use transactional id {transactional_id}, {times}",
    "Add ACLs for the principal on transactional id {transactional_id}: Write and Describe.",
    "KIP-98",
    find,
)
