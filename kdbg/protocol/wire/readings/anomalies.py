"""What is odd in a message and yet leaves no doubt about any of its fields: generated readings note it and read on.

The list that they note it in is the argument `odd` of their functions. Where it is None nobody wants to hear of it, and
it is unreadable as all else that is odd.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from .runtime import Unreadable


class Surplus(NamedTuple):
    """Bytes that are left over from `start` on, behind a message that is complete."""

    start: int
    length: int


class WrongChecksum(NamedTuple):
    """The batch that begins at `start` says one checksum, its bytes give another."""

    start: int
    says: int
    gives: int


Odd: TypeAlias = Surplus | WrongChecksum


def surplus(odd: list[Odd] | None, start: int, end: int) -> None:
    """Note that a message ends at `start`, its bytes at `end`; raise `Unreadable` where it needs more than those."""
    if odd is None or start > end:
        raise Unreadable
    odd.append(Surplus(start, end - start))


def wrong_checksum(odd: list[Odd] | None, start: int, says: int, gives: int) -> None:
    """Note a batch whose checksum does not match."""
    if odd is None:
        raise Unreadable
    odd.append(WrongChecksum(start, says, gives))
