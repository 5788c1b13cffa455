"""Mistakes in the values of a message that is valid to its last byte: integers with their bytes in the wrong order."""

from __future__ import annotations

from ..findings.quirks import Sure
from ..messages.weigh import path_text
from ..wire.nodes import Fixed
from .changes import changes
from .mistake import Mistake, Subject, sized
from .search import Search


def value_mistake(subject: Subject, search: Search) -> Mistake | None:
    """Return the mistake in the first integer that makes sense only with its bytes in the other order."""
    for place in search.strict.places or []:
        if place.tags or not isinstance(place.node, Fixed):
            continue
        for one in changes(subject.frame, place.at, place.node, place.path[2]):
            if one.kind == "little-endian-integer" and one.data is not None:
                corrected = subject.frame[: place.at] + one.data + subject.frame[one.end :]
                return subject.mistake(one.kind)._replace(
                    path=path_text(place.path), start=place.at, length=one.end - place.at, actual=one.actual,
                    expected=one.expected, sure=_sure(one.data), corrected=sized(corrected),
                )  # fmt: skip
    return None


def _sure(data: bytes) -> Sure:
    """Return how sure it is that a value is little-endian: damage to one byte may look like a small one."""
    return Sure.LIKELY if sum(map(bool, data)) > 1 else Sure.GUESS
