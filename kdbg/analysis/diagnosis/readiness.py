"""Which clients speak versions of APIs that another release of Kafka does not have.

What a release has is `grammars.releases`. A client that asks for ApiVersions takes a version that both sides have:
where it speaks the highest that its broker offers it may know higher ones, and lower ones than those that it speaks.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ...exchanges.messages.peers import endpoint
from ...protocol.grammars import name_of, releases
from ..ledgers import Ledgers
from ..ledgers.evidence import Mark
from ..ledgers.sessions import KafkaConnection
from .queries import is_broker, software_by_client

Verdict = Literal["stops", "unclear", "fine", "broker"]
API_VERSIONS = 18
MOST = 10_000


class Missing(NamedTuple):
    """A version that the release does not have: `lowest` and `highest` are those it has, None for none.

    `first` is the exchange that used it first, `exchanges` how many of the API there were. `negotiable` says
    that the client asks brokers for their versions, and may know one that the release has.
    """

    api: str
    api_key: int
    version: int
    lowest: int | None
    highest: int | None
    since: str | None
    until: str | None
    first: Mark
    exchanges: int
    negotiable: bool


class Client(NamedTuple):
    """One client: connections with the same client id, host and software."""

    client_id: str
    host: str
    software: str
    verdict: Verdict
    connections: int
    exchanges: int
    brokers: tuple[str, ...]
    missing: tuple[Missing, ...]


def readiness(book: Ledgers, release: str) -> list[Client]:
    """Return what becomes of each client with brokers of a release: those that stop first.

    Raise `InputError` for a release that is none.
    """
    releases.rank(release)
    software = software_by_client(book)
    groups: dict[tuple[str, str, str], list[KafkaConnection]] = {}
    for session in book.sessions.values():
        host = session.peers.client[0]
        said = session.software or software.get((session.client_id, host), "")
        key = session.client_id, host, said
        if key in groups or len(groups) < MOST:
            groups.setdefault(key, []).append(session)
    found = [_client(book, *key, sessions, release) for key, sessions in groups.items()]
    order = ("stops", "unclear", "fine", "broker")
    return sorted(found, key=lambda one: (order.index(one.verdict), one.client_id, one.host, one.software))


def _client(
    book: Ledgers, client_id: str, host: str, software: str, sessions: list[KafkaConnection], release: str
) -> Client:  # fmt: skip
    missing: dict[tuple[int, int], Missing] = {}
    for session in sessions:
        told = session.offered if API_VERSIONS in session.apis else {}
        for key, use in session.apis.items():
            if key == API_VERSIONS:  # answered in version 0 where it is too new, and asked again (KIP-511)
                continue
            for version, mark in use.versions.items():
                one = _missing(key, version, mark, use.seen.count, told, release)
                if one is None:
                    continue
                before = missing.get((key, version))
                if before is not None:
                    first = min(before.first, one.first, key=lambda mark: mark.time)
                    sure = before.negotiable and one.negotiable
                    one = one._replace(exchanges=before.exchanges + one.exchanges, first=first, negotiable=sure)
                missing[key, version] = one
    if any(is_broker(book, session) for session in sessions):
        verdict: Verdict = "broker"
    elif not missing:
        verdict = "fine"
    else:
        verdict = "unclear" if all(one.negotiable for one in missing.values()) else "stops"
    return Client(
        client_id, host, software, verdict, len(sessions), sum(session.exchanges for session in sessions),
        tuple(sorted({endpoint(session.broker) for session in sessions})),
        () if verdict == "broker" else tuple(missing[key] for key in sorted(missing)),
    )  # fmt: skip


def _missing(
    key: int, version: int, mark: Mark, count: int, told: dict[int, tuple[int, int]], release: str
) -> Missing | None:
    """Return what is told of a version, None where the release has it, or nothing is known of it."""
    name = name_of(key)
    if name is None or releases.has(name, version, release) is not False:
        return None
    those = releases.versions_in(name, release)
    more = bool(those) and key in told and (version > those[-1] or version == told[key][1])
    return Missing(
        name, key, version, those[0] if those else None, those[-1] if those else None,
        releases.since(name, version), releases.until(name, version), mark, count, more,
    )  # fmt: skip


def client_object(client: Client, release: str) -> dict[str, Any]:
    """Return a client as JSON has it: times are seconds since the epoch."""
    return {
        "kafka": release,
        "verdict": client.verdict,
        "client_id": client.client_id or None,
        "host": client.host,
        "software": client.software or None,
        "connections": client.connections,
        "exchanges": client.exchanges,
        "brokers": list(client.brokers),
        "missing": [
            {
                "api": one.api, "api_key": one.api_key, "version": one.version,
                "has": None if one.lowest is None else [one.lowest, one.highest],
                "since_release": one.since, "until_release": one.until,
                "since": one.first.time / 1e9, "exchange": one.first.number, "count": one.exchanges,
                "negotiable": one.negotiable,
            }
            for one in client.missing
        ],
    }  # fmt: skip
