"""What a filter is: the form of its value, what it asks of an exchange, where it can be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable
from uuid import UUID

from .names import Pattern, pattern

if TYPE_CHECKING:
    from ..messages.exchange import Exchange

Topics: TypeAlias = Mapping[UUID, str]
Check: TypeAlias = "Callable[[Exchange], bool]"


class CheckContext(NamedTuple):
    """What is known when checks are made: the names of topic ids, which may still be learnt, and all that was given."""

    topics: Topics
    given: Mapping[str, Any]


Make: TypeAlias = Callable[[Any, CheckContext], Check]
"""Makes the check for a value."""
Of: TypeAlias = "Callable[[Exchange, CheckContext], Iterable[Any]]"
"""Finds in an exchange what a filter compares with its values."""


@runtime_checkable
class PathLike(Protocol):
    """A path that is no text: os.PathLike, of a room that opens nothing."""

    def __fspath__(self) -> str: ...


class ValueForm(Enum):
    """The form of a filter's value; command line, library and Spark each know how to take every form."""

    TEXTS = "texts"
    """One text or several, one of which is enough, with globs and `!` as names.py has them; a frozenset once taken."""
    NUMBERS = "numbers"
    """One whole number or several, one of which is enough."""
    RANGES = "ranges"
    """A whole number, or the first and last of several: 17, "17-20", (17, 20); or several such."""
    FLAG = "flag"
    """True, or nothing; or one of the filter's `words`."""
    MILLISECONDS = "milliseconds"
    """A duration."""
    MOMENT = "moment"
    """Seconds since the epoch, a datetime (without a zone: UTC), or a time of day of the capture's first day."""
    EXPRESSION = "expression"
    """A text in the language of where/."""
    FILES = "files"
    """The path of a file, or several; a tuple once taken."""
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

    An exchange is asked by the check that `make` makes; or by what `of` finds in it, which must fit one of the values
    that were given, each turned into a pattern by `pattern`; where both are None, no exchange is asked. `archives`: it
    has a meaning over many captures, in which connections and exchanges have no numbers. `pieces`: a piece of a file of
    a broker's disk can be asked as well.
    """

    form: ValueForm
    help: str
    reads: Reads
    make: Make | None = None
    archives: bool = True
    pieces: bool = False
    metavar: str | None = None
    within: range = range(1 << 63)
    """What whole numbers may be."""
    words: tuple[str, ...] = ()
    """What may stand for more than the plain flag."""
    of: Of | None = None
    pattern: Callable[[Any], Pattern] = pattern
    reads_of: Callable[[Any], Reads] | None = None
    """How much is looked at for a value, where that depends on the value."""
    numbered: Callable[[Any], Sequence[str]] = lambda value: ()
    """What in a value means nothing in archives."""
    timed: Callable[[Any], bool] = lambda value: False
    """Whether a value asks where the time of exchanges went, which is worked out only for those who ask."""
    offers: Callable[[Any], bool] = lambda value: True
    """Which of the values that exchanges have are worth being offered in place of one that none has."""

    @property
    def asks(self) -> bool:
        """Whether exchanges are asked."""
        return self.make is not None or self.of is not None
