"""An engine whose exchanges know where their time went: its packets are looked at for what TCP tells, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from ...exchanges.messages.exchange import Exchange
from ...streams.tcp.paths import Paths
from .latency import Latencies


class Pairing(Protocol):
    """What makes exchanges of packets: an engine."""

    def chunks(self, blocks: Iterable[Any], /) -> Iterator[list[Exchange]]:
        """Yield the exchanges that blocks complete, those of a block together."""


class Timed:
    """In place of an engine: all that the engine has is asked of it; each of its exchanges has its `timing`.

    Without `tcp` that has what the time was spent on alone.
    """

    def __init__(self, engine: Pairing, *, tcp: bool = True) -> None:
        self._engine = engine
        self._paths = Paths(acknowledgements=True)
        self._latencies = Latencies(self._paths, tcp=tcp)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def is_open(self, first_packet: int) -> bool:
        """Return whether no end of a connection, told by its first packet, has hung up; of an old one nobody knows."""
        path = self._paths.begun_by(first_packet)
        return path is not None and not path.ended

    def chunks(self, blocks: Iterable[Any]) -> Iterator[list[Exchange]]:
        """Yield the exchanges that blocks of packets complete, those of a block together."""
        for chunk in self._engine.chunks(self._seen(blocks)):
            self._latencies.take(chunk)
            yield chunk

    def _seen(self, blocks: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        for packets in blocks:
            self._paths.receive_all(packets)
            yield packets
