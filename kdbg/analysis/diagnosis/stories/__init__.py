"""Stories: what happened to a group, producer, topic, client, transaction or connection, in one line of time.

Events come out of the ledgers as data; the causes that diagnosis finds stand among them at their time. The sentences
are in text.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ledgers import Ledgers
from .. import diagnose
from ..case import Case, Who
from . import group, traffic
from .common import Event, Story, Subject

__all__ = ["STORIES", "Event", "Story", "Subject", "subjects", "tell"]
STORIES: dict[str, Story] = {
    "group": Story(group.subjects, group.events),
    "producer": Story(traffic.producers, traffic.of_producer),
    "transaction": Story(traffic.transactional_ids, traffic.of_transactional_id),
    "topic": Story(traffic.topics, traffic.of_topic),
    "client": Story(traffic.clients, traffic.of_client),
    "connection": Story(traffic.connections, traffic.of_connection),
}
"""By what they are of: as the options of `kdbg story` are called."""


def subjects(book: Ledgers) -> Iterator[tuple[str, Subject]]:
    """Yield what there are stories of: kind and subject."""
    for kind, story in STORIES.items():
        for subject in story.subjects(book):
            yield kind, subject


def tell(book: Ledgers, kind: str, name: str, cases: list[Case] | None = None) -> list[Event] | None:
    """Return what happened to a subject, in order; None where there is no such subject.

    `cases` are what `diagnose` finds in the ledgers, where that was asked already.
    """
    story = STORIES[kind]
    if not any(subject.name == name for subject in story.subjects(book)):
        return None
    events = [*story.events(book, name, diagnose(book) if cases is None else cases)]
    events.append(Event(book.last_time, "end", Who(), {"exchanges": book.exchanges}))
    return sorted(events, key=lambda event: event.time)
