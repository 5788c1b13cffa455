"""Who is who on connections: which software a client is, and which clients are brokers themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...exchanges.messages.peers import End, endpoint
from ...protocol.grammars import name_of
from ..ledgers.evidence import Mark, Occurrences
from .case import Evidence, Who

if TYPE_CHECKING:
    from ...streams.tcp.paths import Path
    from ..ledgers import Ledgers
    from ..ledgers.accounts import Failure
    from ..ledgers.sessions import KafkaConnection


OF_BROKERS: frozenset[int] = frozenset((4, 5, 6, 7, 27, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82))
"""APIs that brokers and controllers alone use."""


def software_by_client(book: Ledgers) -> dict[tuple[str, str], str]:
    """Return the software of client ids and hosts, where all their connections that say so say the same."""
    found: dict[tuple[str, str], str] = {}
    for session in book.sessions.values():
        if session.software:
            key = session.client_id, session.peers.client[0]
            found[key] = session.software if found.get(key, session.software) == session.software else ""
    return found


def is_broker(book: Ledgers, session: KafkaConnection) -> bool:
    """Return whether the asking end is a broker: it says so, by what it asks."""
    polls = book.polls.get(session.peers.number)
    return bool(OF_BROKERS & session.apis.keys()) or (polls is not None and polls.replica >= 0)


SECOND = 1_000_000_000
MS = 1_000_000
METHODS: tuple[bytes, ...] = (b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"TRAC", b"PRI ")


class Failures(NamedTuple):
    """The same error of the same client about the same subject, on all its connections."""

    code: int
    subject: str
    client_id: str
    all: list[Failure]
    seen: Occurrences

    @property
    def session(self) -> KafkaConnection:
        """The connection on which it was seen first."""
        return min(self.all, key=lambda one: one.seen.since).session

    @property
    def partitions(self) -> list[int]:
        """The partitions it was told of."""
        return sorted({number for one in self.all for number in one.partitions})


def failures(book: Ledgers, codes: Iterable[int], apis: Iterable[int] | None = None) -> list[Failures]:
    """Return errors with one of these codes, in messages of these APIs (None: of any), by client and subject."""
    wanted, keys = frozenset(codes), None if apis is None else frozenset(apis)
    found: dict[tuple[int, str, str], list[Any]] = {}
    for failure in book.failures.values():
        if failure.code in wanted and (keys is None or failure.api_key in keys):
            found.setdefault((failure.code, failure.subject, failure.session.client_id), []).append(failure)
    return [
        Failures(code, subject, client, all, Occurrences.of(one.seen for one in all))
        for (code, subject, client), all in found.items()
    ]


def api_name(key: int) -> str:
    """Return the name of an API, its key where kdbg knows none."""
    return name_of(key) or f"API {key}"


def who(session: KafkaConnection | None, **more: Any) -> Who:
    """Return the client, its host and the broker of a connection, with what else is known."""
    if session is None:
        return Who(**more)
    known = {
        "client_id": session.client_id or None, "host": session.peers.client[0],
        "broker": endpoint(session.broker), "user": session.user,
    }  # fmt: skip
    return Who(**{**known, **more})


def evidence(seen: Occurrences | Iterable[Mark], *fields: str, packets: Iterable[int] = ()) -> Evidence:
    """Return exchanges that were seen as evidence, with the fields that tell."""
    numbers = seen.numbers if isinstance(seen, Occurrences) else tuple(dict.fromkeys(mark.number for mark in seen))[:7]
    return Evidence(numbers, tuple(packets), fields)


def on_paths(paths: Iterable[Path], *fields: str) -> Evidence:
    """Return the first packets of paths as evidence."""
    return Evidence((), tuple(path.first_packet for path in paths)[:7], fields)


def by_ends(paths: Iterable[Path]) -> Iterator[tuple[tuple[str, End], list[Path]]]:
    """Yield paths by the host of their initiator, and their acceptor."""
    found: dict[tuple[str, End], list[Path]] = {}
    for path in paths:
        found.setdefault((path.initiator[0], path.acceptor), []).append(path)
    yield from found.items()


def client_on(book: Ledgers, paths: Iterable[Path]) -> str | None:
    """Return the client id that was said on one of these paths."""
    for path in paths:
        session = book.session_on(path)
        if session is not None and session.client_id:
            return session.client_id
    return None


def clients_of_host(book: Ledgers, host: str) -> list[str]:
    """Return the client ids that a host used, those with most exchanges first."""
    found: dict[str, int] = {}
    for session in book.sessions.values():
        if session.peers.client[0] == host and session.client_id:
            found[session.client_id] = found.get(session.client_id, 0) + session.exchanges
    return sorted(found, key=lambda name: -found[name])


def sessions_of(book: Ledgers, client_id: str) -> list[KafkaConnection]:
    """Return the connections of a client, by its id."""
    return [session for session in book.sessions.values() if session.client_id == client_id]


def span(paths: Iterable[Path]) -> tuple[int, int]:
    """Return when the first of some paths began and the last one was heard of."""
    found = list(paths)
    return min(path.start for path in found), max(path.last_time for path in found)
