"""Requests wait behind another on their connection: a broker answers one at a time, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import MS, api_name, evidence, who
from ..text import duration

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection, Slow

LONG = 200 * MS
RIGHT_BEHIND = 50 * MS
OFTEN = 3
WORTH = 800 * MS
"""Some clients ask for metadata behind long polls of 500 ms by design."""


def blocked(session: KafkaConnection) -> list[tuple[Slow, Slow]]:
    """Return the answers that waited for another to go first, each with that one."""
    found: list[tuple[Slow, Slow]] = []
    slow = session.slow
    for place, one in enumerate(slow):
        if one.held and one.first - one.start <= one.held + LONG:
            continue  # it waited on purpose
        for other in slow[max(0, place - 32) : place]:
            waited = other.end - one.start
            if other.start < one.start and waited >= LONG and 0 <= one.first - other.end <= RIGHT_BEHIND:
                found.append((one, other))
                break
    return found


def find(book: Ledgers) -> Iterator[Case]:
    """Look for connections on which that happens often."""
    for session in book.sessions.values():
        pairs = blocked(session)
        if len(pairs) < OFTEN:
            continue
        one, other = max(pairs, key=lambda pair: pair[0].first - pair[0].start)
        same = all(first.api_key == second.api_key for first, second in pairs)
        if same:
            continue  # a queue of one kind is a slow broker, not the order
        yield rule.case(
            who(session), pairs[0][0].start, pairs[-1][0].end, len(pairs),
            evidence([mark for first, second in pairs[:3] for mark in (second.mark, first.mark)], "latency"),
            facts={"longest": one.first - one.start, "api": api_name(one.api_key),
                   "first": api_name(other.api_key), "held": other.held,
                   "hold": f", which the broker may hold for {duration(other.held)}" if other.held else ""},
            weight=2.0, severity=Severity.WARNING if one.first - one.start >= WORTH else Severity.NOTE,
        )  # fmt: skip


rule: Rule = Rule(
    "head-of-line-blocking",
    Severity.WARNING,
    "requests blocked by an earlier request",
    (
        "{count:request} of client {client_id} waited up to {longest!d} for an earlier request on the "
        "same connection ({api} after {first}{hold}): a broker responds in request order"
    ),
    (
        "Use separate connections for long polls and other requests (most clients do), or lower "
        "fetch.max.wait.ms (librdkafka: fetch.wait.max.ms)."
    ),
    "Kafka protocol guide: network",
    find,
)
