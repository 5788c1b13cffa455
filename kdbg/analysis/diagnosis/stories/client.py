"""The story of a client, by its id: its connections, logins, groups, what it writes and reads, its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..case import Case, Who
from ..queries import sessions_of
from . import common
from .event import Event, Story, Subject

if TYPE_CHECKING:
    from ...ledgers import Ledgers


def subjects(book: Ledgers) -> Iterator[Subject]:
    """Yield all client ids."""
    found: dict[str, list[int]] = {}
    for session in book.sessions.values():
        if session.client_id:
            counts = found.setdefault(session.client_id, [0, 0])
            counts[0] += 1
            counts[1] += session.exchanges
    for name in sorted(found):
        yield Subject(name, {"connections": found[name][0], "exchanges": found[name][1]})


def events(book: Ledgers, name: str, cases: list[Case]) -> Iterator[Event]:
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
            about = Who(name, member.host or None, group=group.name)
            if member.joined.first is not None:
                mark = member.joined.first
                yield Event(mark.time, "joins", about, {"client": name, "group": group.name}, (mark.number,))
            if member.left is not None:
                mark = member.left
                facts = {"client": name, "group": group.name, "reason": member.reason, "by_other": member.left_by_other}
                yield Event(mark.time, "leaves", about, facts, (mark.number,))
    yield from common.causes(cases, lambda who: who.client_id == name)
    yield common.end(book)


story: Story = Story("client", subjects, events)
