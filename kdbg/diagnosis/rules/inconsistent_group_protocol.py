"""A member shares no assignment strategy with the others of its group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (23,)  # INCONSISTENT_GROUP_PROTOCOL
APIS = None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and group."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, group=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), facts={"offers": offers_of(book, one.subject, one.client_id)}, weight=2.5,
        )  # fmt: skip


def offers_of(book: Ledgers, group: str, client_id: str) -> str:
    """Return the assignment strategies that a client offers in a group."""
    found = book.groups.get(group)
    members = [one for one in found.members.values() if one.client_id == client_id] if found is not None else []
    return ", ".join(members[-1].protocols) if members and members[-1].protocols else "strategies that were not seen"


rule: Rule = Rule(
    "inconsistent-group-protocol",
    Severity.ERROR,
    "a member whose assignors no other member has",
    "{client_id} cannot join group {group}: it offers {offers}, and the group shares none of these "
    "(INCONSISTENT_GROUP_PROTOCOL, {times})",
    "Give all members of group {group} one partition.assignment.strategy in common, and let no client of another "
    "kind use that group.id.",
    "KIP-429",
    find,
)
