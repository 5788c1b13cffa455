"""A member shares no assignment strategy with the others of its group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..by_error import by_error
from ..case import Rule

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ..looking import Failures


def offers_of(book: Ledgers, one: Failures) -> Mapping[str, Any]:
    """Return the assignment strategies that a client offers in a group."""
    found = book.groups.get(one.subject)
    members = [member for member in found.members.values() if member.client_id == one.client_id] if found else []
    known = ", ".join(members[-1].protocols) if members else ""
    return {"offers": known or "strategies that were not seen"}


rule: Rule = by_error(
    "inconsistent-group-protocol",
    "group members have no assignor in common",
    (
        "client {client_id} cannot join group {group}: it offers {offers}, and the other members "
        "support none of them (INCONSISTENT_GROUP_PROTOCOL, {times})"
    ),
    (
        "Configure at least one common partition.assignment.strategy on all members of group {group}, "
        "and keep other kinds of clients out of this group.id."
    ),
    "KIP-429",
    errors=(23,),  # INCONSISTENT_GROUP_PROTOCOL
    subject="group",
    weight=2.5,
    facts=offers_of,
)
