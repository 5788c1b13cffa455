"""A topic that nobody had is made because a client asked for it, and its name is nearly that of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import evidence, sessions_of, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.clusters import Topic

UNKNOWN, NO_LEADER = 3, 5
CLOSE = 2
SHORTEST = 4


def find(book: Ledgers) -> Iterator[Case]:
    """Look for topics that appear when they are asked for, beside others of nearly the same name."""
    all = list(book.clusters.topics.values())
    for topic in all:
        missing = topic.errors.get(UNKNOWN) or topic.errors.get(NO_LEADER)
        if not missing or not topic.found or topic.created or not topic.creating or len(topic.name) < SHORTEST:
            continue
        if topic.found.until < missing.since or (topic.found.first is not None and topic.found.since < missing.since):
            continue
        like = next((other for other in _others(all, topic) if alike(topic.name, other.name)), None)
        if like is None:
            continue
        client = min(topic.asked, key=lambda name: topic.asked[name].since, default="")
        sessions = sessions_of(book, client)
        yield rule.case(
            who(sessions[0] if sessions else None, topic=topic.name), missing.since, topic.found.until, 1,
            evidence(missing, "topics.name", "allow_auto_topic_creation"), facts={"other": like.name},
            certainty="likely", weight=2.0,
        )  # fmt: skip


def _others(all: Iterable[Topic], topic: Topic) -> Iterator[Topic]:
    """Yield the topics that were there before."""
    for other in all:
        gone = other.errors.get(UNKNOWN)
        if other is not topic and other.found and (gone is None or other.found.since <= gone.since or other.created):
            yield other


def alike(one: str, other: str) -> bool:
    """Return whether one name becomes the other by at most two letters that are added, left out, changed, swapped."""
    if abs(len(one) - len(other)) > CLOSE or one.casefold() == other.casefold():
        return one.casefold() == other.casefold()
    if one.rstrip("0123456789") == other.rstrip("0123456789"):
        return False  # numbered on purpose
    before, row = list[int](), list(range(len(other) + 1))
    last = ""
    for place, letter in enumerate(one, 1):
        two, before, row = before, row, [place]
        for column, its in enumerate(other, 1):
            cost = min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != its))
            if two and column > 1 and letter == other[column - 2] and its == last:
                cost = min(cost, two[column - 2] + 1)
            row.append(cost)
        last = letter
    return row[-1] <= CLOSE


rule: Rule = Rule(
    "mistyped-topic-auto-created",
    Severity.WARNING,
    "mistyped topic name was auto-created",
    (
        "client {client_id} requested topic {topic}, which did not exist, and the broker created it: the "
        "name is {probably}a misspelling of topic {other}"
    ),
    (
        "Correct the topic name in client {client_id}, delete topic {topic}, and set "
        "auto.create.topics.enable=false on the brokers (or allow.auto.create.topics=false on the "
        "client)."
    ),
    "KIP-361, KIP-487",
    find,
    ("both topics are intended",),
)
