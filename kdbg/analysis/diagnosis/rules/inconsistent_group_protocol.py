"""A member shares no assignment strategy with the others of its group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..by_error import by_error
from ..case import Rule

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ..queries import Failures


def offers_of(book: Ledgers, one: Failures) -> Mapping[str, Any]:
    """Return the assignment strategies that a client offers in a group."""
    found = book.groups.get(one.subject)
    members = [member for member in found.members.values() if member.client_id == one.client_id] if found else []
    known = ", ".join(members[-1].protocols) if members else ""
    return {"offers": known or "not in the capture"}


rule: Rule = by_error(
    "inconsistent-group-protocol",
    "group members have no assignor in common",
    (
        "the coordinator rejects client {client_id} in group {group} with INCONSISTENT_GROUP_PROTOCOL, "
        "{times}: the other members support none of the client's assignors ({offers})"
    ),
    (
        "Set a common partition.assignment.strategy on all members of group {group}, and use another "
        "group.id for other kinds of clients."
    ),
    "KIP-429",
    errors=(23,),  # INCONSISTENT_GROUP_PROTOCOL
    subject="group",
    weight=2.5,
    facts=offers_of,
)
