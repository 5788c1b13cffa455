"""Which address of this machine stands for which broker, so that clients of a whole cluster stay inside.

An address that a broker advertises gets a listener of its own when it is met first. Opens nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Address = tuple[str, int]
Open = Callable[[Address], Address]
"""Opens a listener for a broker; returns the address that clients are told."""


class Addresses:
    """The brokers that are known, each with what clients are told in its place. `open` is called for new ones."""

    def __init__(self, open: Open) -> None:
        self._open = open
        self._told: dict[Address, Address] = {}
        self._ours: set[Address] = set()

    @property
    def told(self) -> Mapping[Address, Address]:
        """Each broker, with what clients are told in its place."""
        return self._told

    def add(self, broker: Address, told: Address) -> None:
        """Take note of a listener that is open already."""
        self._told[broker] = told
        self._ours.add(told)

    def change(self, host: str, port: int) -> Address:
        """Return what clients are told in place of an address; one that says nowhere stays (host "", port -1 or 0)."""
        address = (host, port)
        if not host or port <= 0 or address in self._ours:
            return address
        told = self._told.get(address)
        if told is None:
            told = self._open(address)
            self.add(address, told)
        return told
