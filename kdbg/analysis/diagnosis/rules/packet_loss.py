"""Packets get lost on the way, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.kinds import Severity
from ..case import Case, Rule, Who
from ..queries import by_ends, clients_of_host, on_paths, span

if TYPE_CHECKING:
    from ...ledgers import Ledgers

FEW = 6
SHARE = 0.01


def find(book: Ledgers) -> Iterator[Case]:
    """Look for ends between which one segment in a hundred or more is sent again."""
    for (host, broker), paths in by_ends(book.paths.all()):
        if ip_address(host).is_loopback and ip_address(broker[0]).is_loopback:
            continue  # nothing gets lost there: what is sent again was acknowledged late
        ways = [way for path in paths for way in path.ways]
        again, late = sum(way.resent for way in ways), sum(way.late for way in ways)
        spells = sum(len(way.stalls) for way in ways) + late
        data = sum(way.packets for way in ways)
        unseen = sum(way.unseen for way in ways)
        if spells < FEW or again + late < SHARE * data:
            continue
        if unseen and again < FEW:
            continue  # the capture lacks packets, the way did not lose them
        clients = clients_of_host(book, host)
        yield rule.case(
            Who(clients[0] if clients else None, host, endpoint(broker)), *span(paths), again + late, on_paths(
                [path for path in paths if any(way.resent or way.late for way in path.ways)]
            ),
            facts={"share": (again + late) / max(data, 1), "packets": data}, weight=2.0,
        )  # fmt: skip


rule: Rule = Rule(
    "packet-loss",
    Severity.WARNING,
    "packet loss",
    (
        "between host {host} and broker {broker}, {count} of {packets:packet} ({share:.1%}) were "
        "retransmitted or arrived late: each can cost a delay of 200 ms or more"
    ),
    (
        "Check the network path between host {host} and broker {broker}: a bad link, a full queue, a "
        "traffic policer, Wi-Fi."
    ),
    "RFC 6298, RFC 6675",
    find,
    explains=frozenset({"consumer-too-slow", "head-of-line-blocking"}),
)
