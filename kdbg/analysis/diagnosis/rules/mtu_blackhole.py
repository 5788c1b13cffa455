"""Small packets get through and large ones never do: something on the way drops them without a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings.amounts import times
from ....protocol.findings.kinds import Severity
from ....streams.tcp.paths import Path, Stall
from ..case import Case, Rule, Who
from ..queries import SECOND, by_ends, clients_of_host, on_paths, span

if TYPE_CHECKING:
    from ...ledgers import Ledgers

LARGE = 500
AGAIN = 3
LONG = SECOND


def blackhole(path: Path, now: int) -> tuple[int, Stall] | None:
    """Return which end's large segments never arrive, and the last of them; None where some do, or small ones "
    "fail."""
    for side, way in enumerate(path.ways):
        missing = way.announced if way.last_time < way.announced_time else 0
        since = way.announced_time
        for start, end, time in way.holes:
            if way.acked == start:
                missing, since = end - start & 0xFFFF_FFFF, time
        if missing >= LARGE and way.largest < missing and now - since >= LONG:
            return side, Stall(since, None, now, 0, missing)
        stuck = [stall for stall in way.stalls if stall.until is None and stall.times >= AGAIN]
        if not stuck or stuck[-1].size < LARGE or not way.largest_acked:
            continue
        other = path.ways[1 - side]
        reversed_too = any(stall.until is None and stall.times >= AGAIN for stall in other.stalls)
        if way.largest_acked < stuck[-1].size and not reversed_too:
            return side, stuck[-1]
    return None


def find(book: Ledgers) -> Iterator[Case]:
    """Look for connections on which only small segments are acknowledged."""
    holed = (path for path in book.paths.all() if blackhole(path, book.last_time) is not None)
    for (host, broker), paths in by_ends(holed):
        what = blackhole(paths[0], book.last_time)
        if what is None:
            continue
        side, stall = what
        ends = f"host {host}", f"broker {endpoint(broker)}"
        clients = clients_of_host(book, host)
        yield rule.case(
            Who(clients[0] if clients else None, host, endpoint(broker)), *span(paths), len(paths), on_paths(paths),
            facts={"sender": ends[side], "taker": ends[1 - side], "size": stall.size,
                   "how": f"although it is retransmitted {times(stall.times)}" if stall.times
                   else "not even at the capture point",
                   "largest": paths[0].ways[side].largest if not stall.times else paths[0].ways[side].largest_acked},
            certainty="likely", weight=3.3,
        )  # fmt: skip


rule: Rule = Rule(
    "mtu-blackhole",
    Severity.ERROR,
    "large packets never arrive (MTU black hole)",
    (
        "data of {size:byte} from {sender} to {taker} never arrives, {how}, while packets with up to "
        "{largest:byte} do: the network path {probably}drops large packets"
    ),
    (
        "Lower the interface MTU (tunnels and VPNs need space for their headers), clamp the TCP MSS, or "
        "allow ICMP 'fragmentation needed'."
    ),
    "RFC 4821, RFC 8899",
    find,
    ("the network was down at that moment",),
    frozenset({"packet-loss", "network-interruption", "connection-churn"}),
)
