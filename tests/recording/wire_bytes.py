"""Bytes of Kafka's old, inflexible messages, by hand: plain struct, so that no capture rests on kdbg's own grammars."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


class Reader:
    """Takes values off the front of a message."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, code: str) -> int:
        """One number; code is struct's letter for it."""
        (value,) = struct.unpack_from(f">{code}", self._data, self._at)
        self._at += struct.calcsize(f">{code}")
        return int(value)

    def raw(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def string(self) -> str | None:
        size = self.number("h")
        return None if size < 0 else self.raw(size).decode()

    def array(self, item: Callable[[], Item]) -> list[Item]:
        return [item() for _ in range(self.number("i"))]


def string(value: str | None) -> bytes:
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def array(items: Iterable[bytes]) -> bytes:
    parts = list(items)
    return struct.pack(">i", len(parts)) + b"".join(parts)


def sized(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data
