"""Where the time of each exchange went: exchanges and the paths of their connections in, a `Timing` of each out.

A broker answers the requests of a connection one at a time, in order: a request waits until the answer before it is
out. What it does then is its own work, but for waits on purpose. How long those took nobody says; they are what an
answer took beyond what that broker's other answers take, if that is more than they usually do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from ...exchanges.engine.driver import Pairing
from ...exchanges.messages.capture_points import Split, Tcp, Timing
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.message import UNTIMED
from ...exchanges.messages.peers import End
from ...exchanges.messages.requested_wait import asked_to_wait
from ...streams.tcp.paths import Path, Paths

MOST: Final = 65_536
"""Connections, and brokers, that are remembered."""
RECENT: Final = 31
"""Answers of a broker by which its usual time is known."""
PLAIN: Final = 1_000_000
"""Nanoseconds by which an answer may be later than usual, or by as much as is usual: else it was held."""
LATE: Final = 50_000_000
"""Nanoseconds beyond the time for which an answer may be held: then it is the broker that was slow."""
FETCH, JOIN_GROUP, SYNC_GROUP, SHARE_FETCH, PRODUCE = 1, 11, 14, 78, 0
HELD: Final = frozenset({FETCH, JOIN_GROUP, SYNC_GROUP, SHARE_FETCH})
"""APIs whose answers a broker holds back: until there are data, until the group's members are there."""
AT_ONCE: Final = {PRODUCE: 6, FETCH: 8}
"""Versions of APIs from which on a throttled answer comes at once, and the broker is silent after it (KIP-219)."""
NOTHING: Final = Timing(Split(), None)


@dataclass(slots=True, eq=False)
class Turn:
    """When a broker is free for the next request of a connection: `end` of the last answer, `mute` by a throttle."""

    end: int = 0
    mute: int = 0
    number: int = 0


class Latencies:
    """Give it exchanges by `take`, in an engine's order, when `paths` has seen their packets; memory is bounded.

    Without `tcp` their `timing` has no `Tcp`.
    """

    def __init__(self, paths: Paths, *, tcp: bool = True) -> None:
        self._paths, self._tcp = paths, tcp
        self._turns: dict[int, Turn] = {}
        self._recent: dict[End, deque[int]] = {}

    def take(self, exchanges: Iterable[Exchange]) -> None:
        """Note in each exchange its `timing`."""
        for exchange in exchanges:
            exchange.timing = self.timing(exchange)

    def timing(self, exchange: Exchange) -> Timing:
        """Return where the time of the next exchange went, and what TCP tells of its connection."""
        half = exchange.response or exchange.request
        if half is None or half.first_time == UNTIMED:
            return NOTHING
        path = self._paths.path_of(exchange.peers.first_packet)
        tcp = None if path is None or not self._tcp else _tcp(path, exchange, half)
        request, response = exchange.request, exchange.response
        split = NOTHING.split if request is None or response is None else self._split(exchange, request, response, path)
        return Timing(split, tcp)

    def _split(
        self, exchange: Exchange, request: CapturedMessage, response: CapturedMessage, path: Path | None
    ) -> Split:
        turn = self._turns.get(exchange.peers.number)
        if turn is None:
            if len(self._turns) >= MOST:
                del self._turns[next(iter(self._turns))]
            turn = self._turns[exchange.peers.number] = Turn()
        side, there, back = 0, None, None  # round trips from the capture's place to the broker, and to the client
        if path is not None:
            side = _client_side(path, exchange)
            there, back = (path.back, path.there) if side else (path.there, path.back)
        start, first, last = request.last_time, response.first_time, response.last_time
        latency = first - start
        network = None if there is None else min(there, max(latency, 0))
        arrived = start + (network or 0)
        free = min(turn.end, first)
        waiting = max(0, free - arrived)
        throttle = max(0, min(turn.mute, first) - max(arrived, free))
        core = max(0, latency - waiting - throttle - (network or 0))
        told = response.numbers("throttle_time_ms").get("throttle_time_ms") if exchange.api is not None else None
        told = told * 1_000_000 if isinstance(told, int) and told > 0 else 0
        if told and exchange.version < AT_ONCE.get(_key(exchange), 0) and told <= core:
            throttle, core, told = throttle + told, core - told, 0
        held = self._held(exchange, core)
        behind = turn.number if waiting else 0
        turn.end, turn.number = last, exchange.number
        turn.mute = first + told if told else 0
        acknowledged = self._paths.acknowledged(response.last_packet)
        return Split(
            waiting, throttle, network, held, core - (held or 0), last - first,
            None if path is None else path.ways[side].shut_between(first, max(last, acknowledged or 0)),
            None if acknowledged is None else max(0, acknowledged - last), back, behind,
        )  # fmt: skip

    def _held(self, exchange: Exchange, core: int) -> int | None:
        """Return how long of its time a broker waited on purpose; None where it may have, for its replicas.

        `core` are the nanoseconds between the request's arrival there and its response.
        """
        key, broker = _key(exchange), exchange.peers.broker
        recent = self._recent.get(broker)
        if recent is None:
            if len(self._recent) >= MOST:
                del self._recent[next(iter(self._recent))]
            recent = self._recent[broker] = deque(maxlen=RECENT)
        if key not in HELD:
            asks = exchange.request.numbers("acks") if key == PRODUCE and exchange.request is not None else {}
            replicated = asks.get("acks") == -1  # it is answered when all replicas have its records
            if not replicated:
                recent.append(core)
            return None if replicated else 0
        usual = int(median(recent)) if recent else 0
        asked = asked_to_wait(exchange)
        if asked == 0 or core <= max(2 * usual, usual + PLAIN):
            return 0
        if asked is not None and core > asked * 1_000_000 + LATE:
            return asked * 1_000_000
        return core - min(recent, default=0)  # before it waits, a broker has little to do


def _key(exchange: Exchange) -> int:
    return exchange.api.key if exchange.api is not None else -1


def _client_side(path: Path, exchange: Exchange) -> int:
    return 1 if path.acceptor == exchange.peers.client else 0


def _tcp(path: Path, exchange: Exchange, half: CapturedMessage) -> Tcp:
    side = _client_side(path, exchange)
    client, broker = path.ways[side], path.ways[1 - side]
    number, time = half.last_packet, half.last_time
    shut = tuple(sum(one.since <= time for one in way.shuts) if way.shuts else 0 for way in (client, broker))
    gone = path.closes[0] if path.closes and (exchange.response is None or path.closes[0].time <= time) else None
    return Tcp(
        path.round_trip, path.syns, (client.resent_by(number), broker.resent_by(number)), (shut[0], shut[1]),
        None if gone is None else "client" if gone.side == side else "broker", gone is not None and gone.reset,
    )  # fmt: skip


class Timed:
    """In place of an engine: all that the engine has is asked of it; each of its exchanges has its `timing`.

    Without `tcp` that has what the time was spent on alone.
    """

    def __init__(self, engine: Pairing, *, tcp: bool = True) -> None:
        self.engine = engine
        self._paths = Paths(acknowledgements=True)
        self._latencies = Latencies(self._paths, tcp=tcp)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def is_open(self, first_packet: int) -> bool:
        """Return whether neither end of a connection has closed it; it is named by its first packet."""
        path = self._paths.path_of(first_packet)
        return path is not None and not path.ended

    def chunks(self, blocks: Iterable[Any]) -> Iterator[list[Exchange]]:
        """Yield the exchanges that blocks of packets complete, those of a block together."""
        for chunk in self.engine.chunks(self._seen(blocks)):
            self._latencies.take(chunk)
            yield chunk

    def _seen(self, blocks: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        for packets in blocks:
            self._paths.receive_all(packets)
            yield packets
