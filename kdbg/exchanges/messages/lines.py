"""What a log says of an exchange, beside or in place of its bytes: which line, of which half, written when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from ...protocol.wire.language.api import Direction

UNTIMED = -1
"""The time of a message of which nobody says when it was, in place of nanoseconds since 1970."""
UNNUMBERED = 1 << 31
"""The correlation id of an exchange of which nobody says which it is: none on the wire is so large."""


class LogLine(NamedTuple):
    """A line of a log: the dialect that it is written in, its number in the log from 1, the half that it speaks of.

    `time` is when it was written, in nanoseconds since 1970, `UNTIMED` where it does not say. `log` is the name of the
    log, "" for the only one that is read.
    """

    dialect: str
    number: int
    half: Direction | Literal["both"]
    time: int = UNTIMED
    log: str = ""
