r"""Values as people write them to choose by: plain, with `*` and `?` as in a shell, with `!` in front for all others.

A backslash in front of `*`, `?`, `!` or itself takes that for what it is. Brackets mean nothing: client ids have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable
from uuid import UUID

if TYPE_CHECKING:
    from ..messages.exchange import Exchange


Fits = Callable[[Any], bool]
ESCAPED = re.compile(r"\\([*?!\\])")
WILD = re.compile(r"\\[*?!\\]|([*?])")
SPECIAL = re.compile(r"\\[*?!\\]|[*?[]")


class Pattern(NamedTuple):
    """One value to choose by, as it was `written`: either `exact`, or what says whether a value `fits`."""

    written: str
    exact: Any = None
    fits: Fits | None = None
    others: bool = False
    """Whether it stands for all that do not fit."""

    def found_in(self, values: Iterable[Any]) -> bool:
        """Return whether any of the values is meant by it, the `!` in front aside."""
        fits = self.fits
        return any(map(fits, values)) if fits is not None else self.exact in values


def pattern(value: Any) -> Pattern:
    """Return the pattern for a text, or for a whole number, or for a pair of numbers: the first and last of a range."""
    if isinstance(value, tuple):
        first, last = value
        return Pattern(str(first) if first == last else f"{first}-{last}", fits=lambda number: first <= number <= last)
    if not isinstance(value, str):
        return Pattern(str(value), value)
    text, others = split(value)
    return Pattern(value, plain(text), None, others) if not is_wild(text) else Pattern(value, None, glob(text), others)


def split(value: str) -> tuple[str, bool]:
    """Return a text without the `!` in front, and whether there was one."""
    return (value[1:], True) if value.startswith("!") else (value, False)


def is_wild(text: str) -> bool:
    """Return whether it has a `*` or `?` that stands for other characters."""
    return any(found[1] for found in WILD.finditer(text))


def plain(text: str) -> str:
    """Return what a text means that has nothing wild."""
    return ESCAPED.sub(r"\1", text)


def glob(text: str) -> Fits:
    """Return what says whether a whole text fits a glob; it takes time in proportion to the text, whatever the glob."""
    from fnmatch import translate

    def escaped(found: re.Match[str]) -> str:
        letter = found[0][-1]
        return letter if found[0] in ("*", "?") else f"[{letter}]" if letter in "*?[" else letter

    match = re.compile(translate(SPECIAL.sub(escaped, text))).match
    return lambda value: match(value) is not None


def matcher(patterns: Collection[Pattern]) -> Callable[[Collection[Any]], bool]:
    """Return what says whether values fit: one of them is meant by a plain pattern, and none by one with `!`."""
    plain, others = ([one for one in patterns if one.others is which] for which in (False, True))
    if not others and all(one.fits is None for one in plain):
        exact = frozenset(one.exact for one in plain)
        return lambda values: not exact.isdisjoint(values)
    return lambda values: (
        not any(one.found_in(values) for one in others)
        and (not plain or any(one.found_in(values) for one in plain))
    )  # fmt: skip


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
    """The form of a filter's value, in words; command line, library and Spark each know how to take every form."""

    TEXTS = "one or several strings"
    """One is enough; with globs and `!`. A frozenset once taken, as are numbers and ranges."""
    NUMBERS = "one or several integers"
    RANGES = "a number from 1, or a range such as 17-20"
    """A pair of numbers is a range as well; there may be several."""
    FLAG = "true or false"
    """Or one of the filter's `words`."""
    MILLISECONDS = "a number of milliseconds"
    MOMENT = "seconds since 1970, a datetime or a time of day"
    """A datetime without a zone is UTC, a time of day that of the capture's first day."""
    EXPRESSION = "an expression, such as 'latency_ms > 100'"
    FILES = "one or several file paths"
    """A tuple once taken."""
    COUNT = "an integer"


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
    expression: Callable[[str], Any] | None = None
    """Parses a value in the language of where/ into an `Expression`, which says itself what it looks at."""
    offers: Callable[[Any], bool] = lambda value: True
    """Which of the values that exchanges have are worth being offered in place of one that none has."""

    @property
    def asks(self) -> bool:
        """Whether exchanges are asked."""
        return self.make is not None or self.of is not None
