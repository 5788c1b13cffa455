"""Which address of this machine stands for which broker, so that clients of a whole cluster stay with the proxy.

A broker that others advertise gets a listener, up to a bound, and loses it when it is no longer advertised. Opens
nothing itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Set

Address = tuple[str, int]
Open = Callable[[Address], Address | None]
"""Opens a listener for a broker; returns the address that clients get, None where there can be no listener."""
MOST = 1000
"""Brokers that have a listener, by default."""
UNLISTED = 60.0
"""Seconds after which a broker that nothing advertised is gone, where a list of all brokers leaves it out.

A broker that restarts, or of which not every other knows yet, keeps its listener.
"""


class Addresses:
    """The brokers with a listener, each with the address that clients get. `most` is how many there may be.

    `open` is called for new ones, `close` for those that are gone; `full` for one that finds no room.
    """

    def __init__(
        self, open: Open, close: Callable[[Address], None] = lambda broker: None, *, most: int = MOST,
        full: Callable[[Address], None] = lambda broker: None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._open, self._close, self._most, self._full, self._clock = open, close, most, full, clock
        self._told: dict[Address, Address] = {}
        self._ours: set[Address] = set()
        self._advertised: dict[Address, dict[Address, float]] = {}
        """For each broker that the user named, the brokers of its cluster, and when they were advertised last."""

    @property
    def told(self) -> Mapping[Address, Address]:
        """Each broker, with the address that clients get in its place."""
        return self._told

    def add(self, broker: Address, told: Address) -> None:
        """Take note of a listener for a broker that the user named; it stays."""
        self._advertised.setdefault(broker, {})
        self._note(broker, told)

    def change(self, host: str, port: int, via: Address | None = None) -> Address:
        """Return what clients get in place of an address that the broker `via` advertised.

        An address that means no broker (host "", port -1 or 0) stays, and so does one for which there is no room.
        """
        address = (host, port)
        if not host or port <= 0 or address in self._ours:
            return address
        told = self._told.get(address)
        if told is None:
            told = self._new(address)
        if told is None:
            return address
        for brokers in self._clusters(via):
            brokers[address] = self._clock()
        return told

    def listed(self, brokers: Set[Address], via: Address | None = None) -> None:
        """Take note of a list of all brokers that the broker `via` advertised; close the listeners of others."""
        latest = self._clock() - UNLISTED
        for known in self._clusters(via):
            for gone in [one for one, last in known.items() if one not in brokers and last <= latest]:
                del known[gone]
        kept = set(self._advertised).union(*self._advertised.values())
        for broker in [broker for broker in self._told if broker not in kept]:
            self._ours.discard(self._told.pop(broker))
            self._close(broker)

    def _new(self, broker: Address) -> Address | None:
        """Open a listener for a broker, if there is room for it."""
        if len(self._told) >= self._most:
            self._full(broker)
            return None
        told = self._open(broker)
        if told is not None:
            self._note(broker, told)
        return told

    def _note(self, broker: Address, told: Address) -> None:
        self._told[broker] = told
        self._ours.add(told)

    def _clusters(self, via: Address | None) -> list[dict[Address, float]]:
        """Return the brokers of each cluster that a broker belongs to; of all clusters for one that none has."""
        known = [brokers for named, brokers in self._advertised.items() if via == named or via in brokers]
        return known or list(self._advertised.values())
