"""How much memory kdbg may take (`--max-memory`), and what of it a message may that is read, and what connections may.

A decoded value takes many times its bytes, so what is reckoned is what becomes of the bytes: decompressed bytes, and
so much for every value that is made of them, with what a view writes of it. Half of the memory is for one message:
a reader calls `begin`, and `take` before what may be large. A quarter is for what connections hold until it
is complete (`Held`). The rest is for kdbg itself.
"""

from __future__ import annotations

import os
from typing import Final, Protocol

from .errors import InputError, WireError
from .protocol.findings import Kind
from .protocol.findings.faults import FaultKind

DEFAULT: Final = 1 << 30
LEAST: Final = 64 << 20
"""Bytes that kdbg may take unless it is told, and that it can be told at least: it takes half of these to start."""
SMALL: Final = 1 << 16
"""Bytes that a holder may hold without being asked to give them up."""


ESCAPED, ESCAPE = bytes([*range(32), 127]), 12
"""Bytes that views write as escapes, and the memory that one of them takes then."""


class Memory:
    """What may be taken; all sizes are bytes.

    `message` is the part for one message, of which `left` is left of the one at hand. Only messages of more bytes than
    `heavy` can become that large without being decompressed: those are weighed before they are read.
    """

    __slots__ = ("_plenty", "connections", "heavy", "left", "limit", "message")

    def __init__(self, limit: int = DEFAULT) -> None:
        self.allow(limit)

    def allow(self, limit: int) -> None:
        """Let kdbg take so many bytes."""
        self.limit: int = limit
        self.message: int = limit // 2
        self.left: int = self.message
        self.connections: int = limit // 4
        self.heavy: int = limit >> 10
        self._plenty = self.message - self.message // 32

    def begin(self) -> None:
        """Begin a message: all that is for one is left."""
        self.left = self.message

    def expect(self, size: int) -> None:
        """Raise `WireError` (`memory-limit`) where not so much is left of what the message at hand may take."""
        if size > self.left:
            raise self.spent()

    def take(self, size: int) -> None:
        """Take memory for the message at hand; raise as `expect`."""
        self.expect(size)
        self.left -= size

    def take_text(self, data: bytes) -> None:
        """Take memory for bytes with what they become as text; what makes much of it is counted once much is taken."""
        self.take(len(data))
        if self.left < self._plenty:
            self.take(ESCAPE * (len(data) - len(data.translate(None, ESCAPED))))

    def refuse(self) -> WireError:
        """Return the error for bytes that were decompressed until nothing was left; that costs half of it.

        So what is refused again and again takes no more time than it takes memory.
        """
        self.left //= 2
        return self.spent()

    def spent(self) -> WireError:
        """Return the error that says that no memory is left for more of a message."""
        return WireError("", 0, FaultKind.MEMORY_SPENT.of(self.message >> 20), kind=Kind.MEMORY_LIMIT)


UNITS: Final = {"KB": 10, "MB": 20, "GB": 30, "KIB": 10, "MIB": 20, "GIB": 30, "K": 10, "M": 20, "G": 30, "B": 0, "": 0}
"""Units of sizes, and the powers of two that they stand for."""
VARIABLE: Final = "KDBG_MAX_MEMORY"
"""The variable of the environment that tells a process what it may take."""


def size_of(text: str, least: int = LEAST) -> int:
    """Return the bytes that a size such as 512MB or 1.5G stands for; raise `InputError` for any other text.

    Units are powers of two, whichever way they are written: K, KB and KiB are 1,024 bytes, as for Java's -Xmx.
    """
    number = text.strip().rstrip("BbIiKkMmGg ")
    power = UNITS.get(text.strip()[len(number) :].strip().upper())
    try:
        size = int(float(number) * 2**power) if power is not None else -1
    except (ValueError, OverflowError):
        size = -1
    if size < least:
        units = (("GB", 30), ("MB", 20), ("KB", 10), ("", 0))
        shown = next(f"{least >> power}{unit}" for unit, power in units if not least % 2**power)
        raise InputError(f"invalid size {text!r}: use a value such as 512MB or 4GB, at least {shown}")
    return size


_FROM_ENVIRONMENT = os.environ.get(VARIABLE)
MEMORY: Final = Memory(size_of(_FROM_ENVIRONMENT) if _FROM_ENVIRONMENT else DEFAULT)
"""What this process may take."""


class Budget:
    """How many bytes may still wait in all connections together of which it is not known yet what they speak."""

    left: int = 64 << 20


class Holder(Protocol):
    """Who holds bytes for a connection until they are complete, and can do without."""

    def let_go(self) -> None:
        """Hold no more than `SMALL`, and say so to the ledger."""


class Held:
    """What all holders hold together: the largest holder gives it up where that is more than they may."""

    __slots__ = ("_amounts", "left", "most")

    def __init__(self, most: int | None = None) -> None:
        self.most: int = MEMORY.connections if most is None else most
        self.left: int = self.most
        self._amounts: dict[Holder, int] = {}

    def hold(self, holder: Holder, size: int) -> None:
        """Take note that a holder holds so many bytes now, or will before it says so again; 0 frees it."""
        before = self._amounts.pop(holder, 0)
        self.left += before - size
        if size:
            self._amounts[holder] = size
        while self.left < 0:
            largest = max(self._amounts, key=self._amounts.__getitem__)
            if self._amounts[largest] <= SMALL:
                break
            largest.let_go()
            if self._amounts.get(largest, 0) > SMALL:  # it cannot do without
                self.left += self._amounts.pop(largest)
