"""Captures gone through packet by packet, by commands that write others: redact and export."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ...capture.frames import Dissectors, Frame, Frames
from ...capture.packet import Packet
from ...errors import CaptureRefused
from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...streams.tcp.connection import Connection
from ...streams.tcp.stream import NOBODY, Receiver
from ...views.redact.streams import Direction


class Ends:
    """Remembers the connections of an engine: its `watch`. They are named by their first packets."""

    def __init__(self) -> None:
        self._clients: dict[int, tuple[int, bool]] = {}
        """By a connection's number: its first packet, and whether its initiator is the client."""

    def watch(self, connection: Connection, client: int | None) -> None:
        """Take note which end of a connection is the client."""
        if client is not None:
            self._clients[connection.number] = connection.first_packet, client == 0

    def first_packet(self, exchange: Exchange) -> int:
        """Return the first packet of an exchange's connection."""
        return self._clients[exchange.peers.number][0]

    def halves(self, exchange: Exchange) -> Iterator[tuple[Direction, CapturedMessage]]:
        """Yield the messages of an exchange that were captured, each with the direction that it went in."""
        first, asks = self._clients[exchange.peers.number]
        for half, sent in ((exchange.request, asks), (exchange.response, not asks)):
            if half is not None:
                yield (first, sent), half


def packets(frames: Frames, dissectors: Dissectors | None = None) -> Iterator[tuple[Frame, Packet | None]]:
    """Yield every frame, with the TCP segment in it; or in the packet that it makes whole: see `Dissectors`."""
    dissectors = dissectors or Dissectors()
    for frame in frames:
        yield frame, dissectors.packet(frame)


def is_pcapng(name: str, otherwise: bool) -> bool:
    """Return whether a file of this name is to be pcapng, or pcap; what its name does not say, `otherwise` does."""
    lower = name.lower()
    return lower.endswith((".pcapng", ".ntar")) or (otherwise and not lower.endswith((".pcap", ".cap")))


def refuse_same(source: str, target: str) -> None:
    """Raise `CaptureRefused` where a capture would be written over itself."""
    if os.path.exists(source) and os.path.exists(target) and os.path.samefile(source, target):  # noqa: PTH110, PTH121
        raise CaptureRefused(target, "is also the input; choose another output file")


def nobody(connection: Connection) -> tuple[Receiver, Receiver]:
    """Return receivers that do nothing: the table is asked for places alone."""
    return NOBODY, NOBODY
