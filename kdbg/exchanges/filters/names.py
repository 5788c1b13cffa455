r"""Values as people write them to choose by: plain, with `*` and `?` as in a shell, with `!` in front for all others.

A backslash in front of `*`, `?`, `!` or itself takes that for what it is. Brackets mean nothing: client ids have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

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
