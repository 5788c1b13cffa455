"""A client does not read what a broker sends it: the answer waits in the network, its window is shut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ..case import Case, Rule
from ..queries import MS, api_name, evidence, who

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.sessions import KafkaConnection, Slow

LONG = 500 * MS


def read_late(session: KafkaConnection) -> list[Slow]:
    """Return the answers that took long to be taken, as the client's receive window was shut meanwhile.

    A window too small for the next segment is no zero window: then the broker's probes tell, unless segments were lost.
    """
    path = session.path
    if path is None:
        return []
    client, broker = path.ways[session.client_side], path.ways[1 - session.client_side]
    probed = bool(broker.probes) and not any(stall.times > 1 for stall in broker.stalls)
    return [
        slow
        for slow in session.slow
        if slow.end - slow.first >= LONG and (probed or client.shut_between(slow.first, slow.end) >= LONG // 2)
    ]


def find(book: Ledgers) -> Iterator[Case]:
    """Look for answers whose last byte came long after the first, by connection."""
    for session in book.sessions.values():
        slow = read_late(session)
        if not slow:
            continue
        topics = [topic for (number, topic, _) in book.fetched if number == session.peers.number]
        worst = max(slow, key=lambda one: one.end - one.first)
        yield rule.case(
            who(session, topic=topics[0] if topics else None), slow[0].start, slow[-1].end, len(slow),
            evidence([one.mark for one in slow], "time"),
            facts={"longest": worst.end - worst.first, "api": api_name(worst.api_key)}, weight=2.2,
        )  # fmt: skip


rule: Rule = Rule(
    "slow-client",
    Severity.WARNING,
    "client reads responses slowly",
    (
        "client {client_id} takes up to {longest!d} to read a response to {api} from broker {broker}: "
        "its TCP receive window stays closed meanwhile"
    ),
    "Find out what keeps client {client_id} from reading its socket: garbage collection, a blocked thread, "
    "too little CPU.",
    "RFC 9293, section 3.8.6.1",
    find,
    explains=frozenset({"consumer-too-slow", "network-latency"}),
)
