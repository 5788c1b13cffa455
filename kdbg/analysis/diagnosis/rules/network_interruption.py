"""No packet gets through between two ends for a while; the connection lives on, or dies of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import End, endpoint
from ....protocol.findings.kinds import Severity
from ....streams.tcp.paths import Path, Stall
from ..case import Case, Rule, Who
from ..queries import clients_of_host, on_paths
from .mtu_blackhole import blackhole

if TYPE_CHECKING:
    from ...ledgers import Ledgers

LONG = 1500 * 1_000_000
AGAIN = 3


def interrupted(path: Path) -> Stall | None:
    """Return the longest time for which what an end sent again and again did not get through."""
    stalls = [
        stall
        for way in path.ways
        for stall in way.stalls
        if stall.times >= AGAIN and (stall.until or stall.last) - stall.since >= LONG
    ]
    return max(stalls, key=lambda stall: (stall.until or stall.last) - stall.since, default=None)


def find(book: Ledgers) -> Iterator[Case]:
    """Look for segments that were sent again and again over a second or more."""
    found: dict[tuple[str, End], list[tuple[Path, Stall]]] = {}
    for path in book.paths.all():
        stall = interrupted(path)
        if stall is not None and blackhole(path, book.last_time) is None:
            found.setdefault((path.initiator[0], path.acceptor), []).append((path, stall))
    for (host, broker), all in found.items():
        path, worst = max(all, key=lambda one: (one[1].until or one[1].last) - one[1].since)
        until = worst.until or worst.last
        clients = clients_of_host(book, host)
        yield rule.case(
            Who(clients[0] if clients else None, host, endpoint(broker)), worst.since, until,
            sum(stall.times for _, stall in all), on_paths([path for path, _ in all]),
            facts={"long": until - worst.since, "retransmissions": worst.times,
                   "end": "then the connection resumed" if worst.until is not None else (
                       "and the connection did not resume in the capture")},
            weight=3.2,
        )  # fmt: skip


rule: Rule = Rule(
    "network-interruption",
    Severity.ERROR,
    "network outage",
    (
        "no packet got through between host {host} and broker {broker} for {long!d}: the same bytes were "
        "retransmitted {retransmissions!t}, {end}"
    ),
    (
        "Check the network between host {host} and broker {broker} at that time: links, firewalls, and "
        "the network interfaces of both."
    ),
    "RFC 6298",
    find,
    ("the other host was suspended",),
    frozenset({"packet-loss", "broker-frozen", "consumer-too-slow", "session-timeout-too-short",
               "head-of-line-blocking", "commit-after-leaving-group"}),
)  # fmt: skip
