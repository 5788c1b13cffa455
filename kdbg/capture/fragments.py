"""IP packets that were sent in pieces: fragments go in, the whole packet comes out with its last missing piece.

RFC 791 (IPv4), RFC 8200 section 4.5 (IPv6). What never becomes whole is given up, by time or where too much is held.
"""

from __future__ import annotations

from typing import NamedTuple

PATIENCE = 30_000_000_000
"""Nanoseconds of packet time after which a packet that is not whole is given up, which is what Linux waits."""
MOST, MOST_BYTES = 256, 4 << 20
"""Packets that may be held at once, and bytes of their pieces; beyond that the oldest is given up."""
LARGEST = 65_535
"""Bytes of an IP packet."""


class Fragment(NamedTuple):
    """A piece of an IP packet: `data` belongs at `offset`, and `more` follows it.

    `key` is the same for all pieces of a packet (addresses, protocol, identification); `header` is an IP header for the
    whole packet, whose length of 0 means all that is there.
    """

    key: bytes
    header: bytes
    offset: int
    more: bool
    data: bytes


class _Pieces:
    """The `count` pieces of one packet that have come: by offset; `total` bytes are known once the last one has."""

    __slots__ = ("count", "data", "header", "since", "size", "total")

    def __init__(self, since: int) -> None:
        self.since, self.count, self.size, self.total = since, 0, 0, LARGEST + 1
        self.header = b""
        self.data: dict[int, bytes] = {}

    def add(self, piece: Fragment) -> None:
        self.count += 1
        if piece.offset + len(piece.data) > LARGEST:
            return
        if not piece.more:
            self.total = min(self.total, piece.offset + len(piece.data))
        if not piece.offset:
            self.header = piece.header
        if len(self.data.get(piece.offset, b"")) < len(piece.data):
            self.size += len(piece.data) - len(self.data.get(piece.offset, b""))
            self.data[piece.offset] = piece.data

    def whole(self) -> bytes | None:
        """Return the packet; None while there is a hole in it."""
        if self.size < self.total or not self.header:
            return None
        body = bytearray()
        for offset, data in sorted(self.data.items()):
            if offset > len(body):
                return None
            body += data[len(body) - offset :]
        return self.header + body[: self.total] if len(body) >= self.total else None


class Fragments:
    """Puts packets together; `lost` counts the pieces that were given up, or are still without their others."""

    def __init__(self) -> None:
        self._held: dict[bytes, _Pieces] = {}
        self._size = self._given_up = 0

    @property
    def lost(self) -> int:
        return self._given_up + sum(pieces.count for pieces in self._held.values())

    def __contains__(self, key: bytes) -> bool:
        """Return whether pieces with this key are held."""
        return key in self._held

    def add(self, piece: Fragment, time: int) -> bytes | None:
        """Take a piece that came at this time, in nanoseconds; return the packet that it makes whole, if it does."""
        pieces = self._held.get(piece.key)
        if pieces is not None and time - pieces.since > PATIENCE:
            self._give_up(piece.key)
            pieces = None
        if pieces is None:
            pieces = self._held[piece.key] = _Pieces(time)
        before = pieces.size
        pieces.add(piece)
        self._size += pieces.size - before
        found = pieces.whole()
        if found is not None:
            del self._held[piece.key]
            self._size -= pieces.size
        while len(self._held) > MOST or self._size > MOST_BYTES:
            self._give_up(next(iter(self._held)))
        return found

    def _give_up(self, key: bytes) -> None:
        pieces = self._held.pop(key)
        self._size -= pieces.size
        self._given_up += pieces.count
