"""The network between client and broker: what is lost, held up, or far away."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from ....exchanges.messages.peers import endpoint
from ....protocol.findings import Severity
from ....protocol.findings.amounts import times
from ....streams.tcp.paths import Path, Stall
from ...ledgers import Ledgers
from ...ledgers.sessions import KafkaConnection, Slow
from ..case import Case, rule
from ..queries import (
    MS,
    SECOND,
    by_ends,
    clients_of_host,
    extent_of_marks,
    extent_of_paths,
    on_paths,
    span,
    who,
    who_at,
)
from ..text import named

LARGE = 500
"""Bytes of a segment that is larger than those that get through."""
AGAIN = 3
LONG_STALL = 1500 * MS
LONG_TRIP = 50 * MS
LONG_READ, LOW_RATE = 5 * SECOND, 1 << 20
"""Nanoseconds of reading, and bytes per second of a path that carries less than any local network."""
FEWEST_LOSSES, SHARE_LOST = 6, 0.01


def blackhole(path: Path, now: int) -> tuple[int, Stall] | None:
    """Return which end's large segments never arrive, and the last of them; None where some do, or small ones fail."""
    for side, way in enumerate(path.ways):
        missing = way.announced if way.last_time < way.announced_time else 0
        since = way.announced_time
        for start, end, time in way.holes:
            if way.acked == start:
                missing, since = end - start & 0xFFFF_FFFF, time
        if missing >= LARGE and way.largest < missing and now - since >= SECOND:
            return side, Stall(since, None, now, 0, missing)
        stuck = [stall for stall in way.stalls if stall.until is None and stall.times >= AGAIN]
        if not stuck or stuck[-1].size < LARGE or not way.largest_acked:
            continue
        other = path.ways[1 - side]
        reversed_too = any(stall.until is None and stall.times >= AGAIN for stall in other.stalls)
        if way.largest_acked < stuck[-1].size and not reversed_too:
            return side, stuck[-1]
    return None


@rule(
    "mtu-blackhole",
    "connection",
    title="large packets never arrive (MTU black hole)",
    sentence="data of {size:byte} from {sender} to {taker} never arrives, {how}, while packets with up to "
    "{largest:byte} do: the network path {probably}drops large packets",
    advice="Lower the interface MTU (tunnels and VPNs need space for their headers), clamp the TCP MSS, or allow ICMP "
    "'fragmentation needed'.",
    document="RFC 4821, RFC 8899",
    alternatives=("the network was down at that moment",),
    explains={"no-response", "packet-loss", "network-interruption", "connection-churn"},
)
def mtu_blackhole(book: Ledgers) -> Iterator[Case]:
    """Look for connections on which only small segments are acknowledged."""
    holed = (path for path in book.paths.all() if blackhole(path, book.last_time) is not None)
    for (host, broker), paths in by_ends(book, holed):
        what = blackhole(paths[0], book.last_time)
        if what is None:
            continue
        side, stall = what
        way, ends = paths[0].ways[side], (f"host {host}", f"broker {endpoint(broker)}")
        if paths[0].initiator == broker:
            ends = ends[1], ends[0]
        yield mtu_blackhole.case(
            who_at(book, host, broker), *extent_of_paths(paths), certainty="likely", weight=3.3,
            facts={"sender": ends[side], "taker": ends[1 - side], "size": stall.size,
                   "how": f"although it is retransmitted {times(stall.times)}" if stall.times
                   else "not even at the capture point",
                   "largest": way.largest_acked if stall.times else way.largest},
        )  # fmt: skip


def length(stall: Stall) -> int:
    """Return how long a segment did not get through, in nanoseconds."""
    return (stall.until or stall.last) - stall.since


def interrupted(path: Path) -> Stall | None:
    """Return the longest time for which what an end sent again and again did not get through."""
    stalls = [
        stall for way in path.ways for stall in way.stalls if stall.times >= AGAIN and length(stall) >= LONG_STALL
    ]
    return max(stalls, key=length, default=None)


@rule(
    "network-interruption",
    "connection",
    title="network outage",
    sentence="no packet got through between host {host} and broker {broker} for {long!d}: the same bytes were "
    "retransmitted {retransmissions!t}, {end}",
    advice="Check the network between host {host} and broker {broker} at that time: links, firewalls, and the network "
    "interfaces of both.",
    document="RFC 6298",
    alternatives=("the other host was suspended",),
    explains={"no-response", "packet-loss", "broker-frozen", "consumer-too-slow", "session-timeout-too-short",
              "head-of-line-blocking", "commit-after-leaving-group"},
)  # fmt: skip
def network_interruption(book: Ledgers) -> Iterator[Case]:
    """Look for segments that were sent again and again over a second or more."""
    cut = {path: stall for path in book.paths.all()
           if (stall := interrupted(path)) is not None and blackhole(path, book.last_time) is None}  # fmt: skip
    for (host, broker), paths in by_ends(book, cut):
        worst = max((cut[path] for path in paths), key=length)
        yield network_interruption.case(
            who_at(book, host, broker), worst.since, worst.until or worst.last, sum(cut[path].times for path in paths),
            on_paths(paths), weight=3.2,
            facts={"long": length(worst), "retransmissions": worst.times,
                   "end": "then the connection resumed" if worst.until is not None else (
                       "and the connection did not resume in the capture")},
        )  # fmt: skip


@rule(
    "network-latency",
    "connection",
    title="high network latency",
    sentence="the round trip between host {host} and broker {broker} takes at least {trip!d} in {count:TCP "
    "handshake}: no response to {clients} can arrive sooner",
    advice="Move client and broker closer together, or use fewer round trips: larger batches (batch.size, linger.ms), "
    "larger fetches (fetch.min.bytes), more requests in flight.",
    document="RFC 9293, section 3.5",
    explains={"consumer-too-slow", "head-of-line-blocking"},
    severity=Severity.WARNING,
)
def network_latency(book: Ledgers) -> Iterator[Case]:
    """Look for ends between which no handshake is quick."""
    measured = (path for path in book.paths.all() if path.round_trip is not None)
    for (host, broker), paths in by_ends(book, measured):
        quickest = min(path.round_trip for path in paths if path.round_trip is not None)
        if quickest < LONG_TRIP:
            continue
        clients = clients_of_host(book, host)
        yield network_latency.case(
            who_at(book, host, broker), *extent_of_paths(paths), weight=1.8,
            facts={"trip": quickest, "clients": named("client", clients) if clients else f"host {host}"},
        )  # fmt: skip


def limited_rate(session: KafkaConnection, *, requests: bool) -> tuple[list[Slow], float, int] | None:
    """Return messages of one direction that were long on the way, bytes per second, and the longest time.

    None where these took little in all, where the receiver closed its window, or where packets were lost.
    """
    path, found = session.path, [(one, one.start - one.mark.time if requests else one.end - one.first)
                                 for one in session.slow]  # fmt: skip
    if path is None or sum(time for _, time in found) < LONG_READ:
        return None
    way, other = path.ways[session.client_side ^ (not requests)], path.ways[session.client_side ^ requests]
    rate = way.bytes / (sum(time for _, time in found) / SECOND)
    if rate > LOW_RATE or way.resent + way.late > SHARE_LOST * way.packets or other.shuts:
        return None
    return [one for one, time in found if time >= LONG_TRIP], rate, max(time for _, time in found)


@rule(
    "low-bandwidth",
    "connection",
    title="network bandwidth limits messages",
    sentence="{messages} of client {client_id} and broker {broker} take up to {long!d} from first to last byte, at "
    "{rate:byte} per second, without loss and with an open receive window: the network path {probably}is the limit",
    advice="Check the bandwidth between client and broker, and shapers or proxies on the path; lower fetch.max.bytes "
    "and max.partition.fetch.bytes, or compress records.",
    document="RFC 9293, section 3.8.6",
    alternatives=("the sender itself is slow",),
    explains={"consumer-too-slow", "head-of-line-blocking"},
    severity=Severity.WARNING,
)
def low_bandwidth(book: Ledgers) -> Iterator[Case]:
    """Look for connections whose requests or responses trickle in at a low rate."""
    for session in book.sessions.values():
        for requests in (False, True):
            found = limited_rate(session, requests=requests)
            if found is not None:
                marks, rate, longest = [one.mark for one in found[0]], *found[1:]
                yield low_bandwidth.case(
                    who(session), *extent_of_marks(marks), weight=2.0, certainty="likely",
                    facts={"messages": "requests" if requests else "responses", "rate": rate, "long": longest},
                )  # fmt: skip


@rule(
    "packet-loss",
    "connection",
    title="packet loss",
    sentence="between host {host} and broker {broker}, {count} of {packets:packet} ({share:.1%}) were retransmitted "
    "or arrived late: each can cost a delay of 200 ms or more",
    advice="Check the network path between host {host} and broker {broker}: a bad link, a full queue, a traffic "
    "policer, Wi-Fi.",
    document="RFC 6298, RFC 6675",
    explains={"consumer-too-slow", "head-of-line-blocking"},
    severity=Severity.WARNING,
)
def packet_loss(book: Ledgers) -> Iterator[Case]:
    """Look for ends between which one segment in a hundred or more is sent again."""
    for (host, broker), paths in by_ends(book, book.paths.all()):
        if ip_address(host).is_loopback and ip_address(broker[0]).is_loopback:
            continue  # nothing gets lost there: what is sent again was acknowledged late
        ways = [way for path in paths for way in path.ways]
        again, late = sum(way.resent for way in ways), sum(way.late for way in ways)
        spells = sum(len(way.stalls) for way in ways) + late
        data = sum(way.packets for way in ways)
        if spells < FEWEST_LOSSES or again + late < SHARE_LOST * data:
            continue
        if again < FEWEST_LOSSES and any(way.unseen for way in ways):
            continue  # the capture lacks packets, the network did not lose them
        shown = on_paths(path for path in paths if any(way.resent or way.late for way in path.ways))
        yield packet_loss.case(
            who_at(book, host, broker), *span(paths), again + late, shown, weight=2.0,
            facts={"share": (again + late) / max(data, 1), "packets": data},
        )  # fmt: skip
