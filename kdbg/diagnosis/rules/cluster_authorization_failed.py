"""A principal may not do what concerns the whole cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (31,)  # CLUSTER_AUTHORIZATION_FAILED
APIS = None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and API."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), facts={"principal": one.session.user or "ANONYMOUS"}, weight=2.0,
        )  # fmt: skip


rule: Rule = Rule(
    "cluster-authorization-failed",
    Severity.ERROR,
    "an operation on the cluster that a client may not do",
    "{client_id} (user {principal}) may not do this on the cluster: CLUSTER_AUTHORIZATION_FAILED, {times}",
    "Add an ACL for the principal on the cluster, such as IdempotentWrite, Create or Describe.",
    "KIP-11",
    find,
)
