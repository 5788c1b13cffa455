"""The story of a topic: who asks for it, who leads its partitions, who writes and reads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ....protocol.grammars.errors import error_name
from ...ledgers import Ledgers
from ...ledgers.clusters import Topic
from ..case import Case, Who
from . import common
from .event import Event, Story, Subject


def subjects(book: Ledgers) -> Iterator[Subject]:
    """Yield all topics that somebody wrote to, read from or asked for, or that were not found."""
    names = {name for _, name, _ in book.written} | {name for _, name, _ in book.fetched}
    names |= {name for name, topic in book.clusters.topics.items() if topic.asked or topic.errors}
    counts: dict[str, list[set[str]]] = {name: [set(), set()] for name in names}
    for number, name, _ in book.written:
        counts[name][0].add(book.sessions[number].client_id)
    for number, name, _ in book.fetched:
        counts[name][1].add(book.sessions[number].client_id)
    for name in sorted(names):
        yield Subject(name, {"writers": len(counts[name][0]), "readers": len(counts[name][1])})


def events(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened to a topic."""
    topic = book.clusters.topics.get(name)
    if topic is not None:
        yield from metadata_events(topic)
    for kind in ("writes", "reads"):
        yield from common.traffic(book, lambda number, topic, partition: topic == name, kind)
    yield from common.errors(book, lambda one: one.subject == name)
    yield from common.causes(cases, lambda who: who.topic == name)
    yield common.end(book)


def metadata_events(topic: Topic) -> Iterator[Event]:
    """Yield what metadata says of a topic."""
    about = Who(topic=topic.name)
    for client, seen in topic.asked.items():
        yield Event(
            seen.since, "metadata-request", about._replace(client_id=client or None),
            {"client": client, "topic": topic.name, "count": seen.count, "for_ns": seen.until - seen.since},
            seen.numbers,
        )  # fmt: skip
    for code, seen in topic.errors.items():
        facts = {"topic": topic.name, "code": code, "error": error_name(code), "count": seen.count}
        yield Event(seen.first.end if seen.first else 0, "topic-not-found", about, facts, seen.numbers)
    if topic.created.first is not None:
        mark = topic.created.first
        yield Event(mark.end, "topic-created", about, {"topic": topic.name}, (mark.number,))
    if topic.found.first is not None:
        mark = topic.found.first
        facts = {"topic": topic.name, "partitions": len(topic.partitions), "late": bool(topic.errors)}
        yield Event(mark.end, "topic-found", about, facts, (mark.number,))
    for partition, led in topic.partitions.items():
        for before, now in pairwise(led):
            facts = {"topic": topic.name, "partition": partition, "leader": now.leader, "before": before.leader,
                     "in_sync": now.in_sync, "in_sync_before": before.in_sync, "replicas": now.replicas}  # fmt: skip
            yield Event(now.time, "leader", about._replace(partition=partition), facts)


story: Story = Story("topic", subjects, events)
