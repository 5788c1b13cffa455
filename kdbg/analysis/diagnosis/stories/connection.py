"""The story of a connection, by its number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ..case import Case, Who
from ..queries import api_name, who
from . import common
from .event import Event, Story, Subject

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection


def subjects(book: Ledgers) -> Iterator[Subject]:
    """Yield all connections that speak Kafka."""
    for number, session in book.sessions.items():
        yield Subject(str(number), {"exchanges": session.exchanges})


def events(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened on a connection."""
    session = book.sessions[int(name)]
    yield from common.connections([session])
    yield from common.on(session)
    yield from common.errors(book, lambda one: one.session is session)
    for kind in ("writes", "reads"):
        yield from common.traffic(book, lambda number, topic, partition: number == session.peers.number, kind)
    for key, use in session.apis.items():
        if use.seen.first is not None:
            facts = {"client": session.client_id, "api": api_name(key), "count": use.seen.count,
                     "versions": sorted(use.versions)}  # fmt: skip
            yield Event(use.seen.since, "api-requests", who(session), facts, (use.seen.first.number,))
    for asked in session.unanswered:
        facts = {"client": session.client_id, "api": api_name(asked.api_key), "version": asked.version}
        yield Event(asked.mark.time, "no-response", who(session), facts, (asked.mark.number,))
    yield from common.causes(cases, lambda about: concerns(session, about))
    yield common.end(book)


def concerns(session: KafkaConnection, about: Who) -> bool:
    """Return whether a cause may be of this connection: its client, and its broker where that is said."""
    if about.client_id is not None and about.client_id != session.client_id:
        return False
    if about.broker is not None and about.broker != endpoint(session.broker):
        return False
    return about.host == session.peers.client[0] if about.client_id is None else True


story: Story = Story("connection", subjects, events)
