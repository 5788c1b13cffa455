"""A consumer wants offsets that the partition no longer has, or never had: records were lost to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.amounts import count
from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import evidence, failures, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers

OFFSET_OUT_OF_RANGE = 1


def find(book: Ledgers) -> Iterator[Case]:
    """Look for fetches that were out of range."""
    for one in failures(book, (OFFSET_OUT_OF_RANGE,), (1,)):
        if not one.subject:  # a code of the whole response, which tells no offset
            continue
        flows = [
            (number, fetched)
            for (connection, topic, number), fetched in book.fetched.items()
            if topic == one.subject and OFFSET_OUT_OF_RANGE in fetched.errors
            and book.sessions[connection].client_id == one.client_id
        ]  # fmt: skip
        partition, fetched = flows[0] if flows else (None, None)
        start = fetched.log_start if fetched is not None else -1
        asked = fetched.out_of_range if fetched is not None else -1
        lost = (
            f"the oldest offset is {start}, {count(start - asked, 'offset')} later"
            if start > asked >= 0
            else "the partition does not have that offset"
        )
        yield rule.case(
            who(one.session, topic=one.subject, partition=partition, group=group_of(book, one.client_id)),
            one.seen.since, one.seen.until, one.seen.count, evidence(one.seen, "fetch_offset", "error_code"),
            facts={"asked": asked, "lost": lost}, weight=2.5,
        )  # fmt: skip


def group_of(book: Ledgers, client_id: str) -> str | None:
    """Return the group that a client belongs to, where it is one."""
    found = [group.name for group in book.groups.values() if client_id in group.clients]
    return found[0] if len(found) == 1 else None


rule: Rule = Rule(
    "offset-out-of-range-data-loss",
    Severity.ERROR,
    "requested offset no longer exists",
    (
        "client {client_id} requests offset {asked} of topic {topic}, partition {partition}: {lost} "
        "(OFFSET_OUT_OF_RANGE, {times})"
    ),
    (
        "Raise retention.ms or retention.bytes of topic {topic}, consume faster, or commit more often. "
        "auto.offset.reset decides where the consumer resumes; with none it fails instead of skipping "
        "records."
    ),
    "Consumer configs: auto.offset.reset",
    find,
    ("the topic was deleted and recreated", "an unclean leader election truncated the log"),
)
