"""The stories of a client, by its id, and of a connection, by its number: logins, groups, traffic, errors."""

from __future__ import annotations

from collections.abc import Iterator

from ....exchanges.messages.peers import endpoint
from ...ledgers import Ledgers
from ...ledgers.sessions import KafkaConnection
from ..case import Case, Who
from ..queries import api_name, sessions_of, who, who_in
from . import common
from .event import Event, Story, Subject


def clients(book: Ledgers) -> Iterator[Subject]:
    """Yield all client ids."""
    found: dict[str, list[int]] = {}
    for session in book.sessions.values():
        if session.client_id:
            counts = found.setdefault(session.client_id, [0, 0])
            counts[0] += 1
            counts[1] += session.exchanges
    for name in sorted(found):
        yield Subject(name, {"connections": found[name][0], "exchanges": found[name][1]})


def of_client(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
    """Yield what happened to a client."""
    sessions = sessions_of(book, name)
    yield from common.connections(sessions)
    for session in sessions[: common.MOST_CONNECTIONS]:
        yield from common.on(session)
    yield from common.errors(book, lambda one: one.session.client_id == name)
    numbers = {session.peers.number for session in sessions}
    for kind in ("writes", "reads"):
        yield from common.traffic(book, lambda number, topic, partition: number in numbers, kind)
    for group in book.groups.values():
        for member in group.known_members():
            if member.client_id != name:
                continue
            about = who_in(group, member)
            if member.joined.first is not None:
                mark = member.joined.first
                yield Event(mark.time, "joins", about, {"client": name, "group": group.name}, (mark.number,))
            if member.left is not None:
                mark = member.left
                facts = {"client": name, "group": group.name, "reason": member.reason, "by_other": member.left_by_other}
                yield Event(mark.time, "leaves", about, facts, (mark.number,))
    yield from common.causes(cases, lambda who: who.client_id == name)
    yield common.end(book)


client: Story = Story("client", clients, of_client)


def connections(book: Ledgers) -> Iterator[Subject]:
    """Yield all connections that speak Kafka."""
    for number, session in book.sessions.items():
        yield Subject(str(number), {"exchanges": session.exchanges})


def of_connection(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
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


connection: Story = Story("connection", connections, of_connection)
