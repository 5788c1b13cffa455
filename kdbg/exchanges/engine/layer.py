"""A connection that is spoken inside another: behind a proxy's preamble, or in TLS."""

from __future__ import annotations

from typing import Protocol


class Below(Protocol):
    """What a layer needs of the connection below it, and has itself."""

    @property
    def number(self) -> int: ...

    @property
    def first_packet(self) -> int: ...

    @property
    def initiator(self) -> tuple[str, int]: ...

    @property
    def acceptor(self) -> tuple[str, int]: ...

    @property
    def bytes(self) -> int: ...


class Layer:
    """What stands on `tcp` and goes by its number, its ends and its size."""

    __slots__ = ()
    tcp: Below

    @property
    def number(self) -> int:
        """The number of the connection."""
        return self.tcp.number

    @property
    def first_packet(self) -> int:
        """The number of its first packet in the capture."""
        return self.tcp.first_packet

    @property
    def initiator(self) -> tuple[str, int]:
        """The end whose bytes `sent` takes."""
        return self.tcp.initiator

    @property
    def acceptor(self) -> tuple[str, int]:
        """The end whose bytes `answered` takes."""
        return self.tcp.acceptor

    @property
    def bytes(self) -> int:
        """The bytes of the connection below, all of them."""
        return self.tcp.bytes
