"""Two members use the same group.instance.id: the older is fenced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...findings.kinds import Severity
from ..case import Case, Rule
from ..looking import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

CODES = (82,)  # FENCED_INSTANCE_ID
APIS = None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for the error, by client and group."""
    for one in failures(book, CODES, APIS):
        yield rule.case(
            who(one.session, group=one.subject or None), one.seen.since, one.seen.until, one.seen.count,
            evidence(one.seen, "error_code"), facts={"instance": instance_of(book, one.subject)}, weight=2.5,
        )  # fmt: skip


def instance_of(book: Ledgers, group: str) -> str:
    """Return the instance id that two members of a group share, as the sentence has it; "" where it is not known."""
    found = book.groups.get(group)
    ids = [member.instance_id for member in found.members.values() if member.instance_id] if found is not None else []
    twice = [name for name in ids if name and ids.count(name) > 1]
    return f" ({(twice or ids)[0]})" if ids else ""


rule: Rule = Rule(
    "static-member-fenced",
    Severity.ERROR,
    "two members with one group.instance.id",
    "{client_id} is fenced from group {group}: another member joined with its group.instance.id{instance}",
    "Give each running instance a group.instance.id of its own, and stop an instance before another takes its place.",
    "KIP-345",
    find,
    explains=frozenset(
        {
            "session-timeout-too-short",
            "offset-commit-failing",
            "commit-after-leaving-group",
            "max-poll-interval-exceeded",
        }
    ),
)
