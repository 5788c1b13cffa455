"""What a filter is: the form of its value, what it asks of an exchange, where it can be asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

if TYPE_CHECKING:
    from ..messages.exchange import Exchange

Topics: TypeAlias = Mapping[UUID, str]
Check: TypeAlias = "Callable[[Exchange], bool]"
Make: TypeAlias = Callable[[Any, Topics], Check]
"""Makes the check for a value; the names of topic ids may still be learnt while it is used."""


class Form(Enum):
    """The form of a filter's value; command line, library and Spark each know how to take every form."""

    TEXTS = "texts"
    """One text or several, one of which is enough; a frozenset once it is taken."""
    NUMBERS = "numbers"
    """One whole number or several, one of which is enough."""
    FLAG = "flag"
    """True, or nothing."""
    MILLISECONDS = "milliseconds"
    """A duration."""
    MOMENT = "moment"
    """Seconds since the epoch, a datetime (without a zone: UTC), or a time of day of the capture's first day."""
    COUNT = "count"
    """A whole number that is not negative."""


class Reads(IntEnum):
    """How much of an exchange a filter looks at, the cheapest first."""

    NOTHING = 0
    """It narrows what is read or how much is shown; no exchange is asked."""
    HEADERS = 1
    """Who spoke, when, which API."""
    BODIES = 2
    """The messages themselves, as far as a summary needs them."""


@dataclass(frozen=True)
class Filter:
    """One filter.

    `make` makes its check, None where no exchange is asked. `archives`: it has a meaning over many captures, in which
    connections and exchanges have no numbers. `pieces`: a piece of a file of a broker's disk can be asked as well.
    """

    form: Form
    help: str
    reads: Reads
    make: Make | None = None
    archives: bool = True
    pieces: bool = False
    metavar: str | None = None
    within: range = range(1 << 63)
    """What whole numbers may be."""
