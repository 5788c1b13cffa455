"""Two members use the same group.instance.id: the older is fenced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..by_error import by_error
from ..case import Rule

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ..queries import Failures


def instance_of(book: Ledgers, one: Failures) -> Mapping[str, Any]:
    """Return the instance id that two members of a group share, as the sentence has it; "" where it is not known."""
    found = book.groups.get(one.subject)
    ids = [member.instance_id for member in found.members.values() if member.instance_id] if found is not None else []
    twice = [name for name in ids if ids.count(name) > 1]
    return {"instance": f" {(twice or ids)[0]}" if ids else ""}


rule: Rule = by_error(
    "static-member-fenced",
    "two members use the same group.instance.id",
    (
        "client {client_id} is fenced from group {group}, {times}: another member joined with the same "
        "group.instance.id{instance}"
    ),
    (
        "Set a different group.instance.id for each running instance, and stop an instance before its "
        "replacement starts."
    ),
    "KIP-345",
    errors=(82,),  # FENCED_INSTANCE_ID
    subject="group",
    weight=2.5,
    facts=instance_of,
    explains=frozenset(
        {
            "commit-after-leaving-group",
            "max-poll-interval-exceeded",
            "offset-commit-failing",
            "session-timeout-too-short",
        }
    ),
)
