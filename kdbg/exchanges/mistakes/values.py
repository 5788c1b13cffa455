"""Mistakes in the values of a message that is read to its last byte: a wrong byte order, values that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...protocol.findings.quirks import Sure
from ...protocol.wire.nodes import Fixed
from ..messages.weigh import path_text
from .changes import changes
from .mistake import Mistake, Subject, sized
from .search import ReadPosition, Search

CLOSED: Final = frozenset({"acks", "isolation_level", "key_type"})
"""Fields that have no value but those that have a name."""


def little_endian_value(subject: Subject, search: Search) -> Mistake | None:
    """Return the mistake in the first integer that makes sense only with its bytes in the other order."""
    for place in _integers(search):
        for one in changes(subject.frame, place.at, place.node, place.path[2]):
            if one.data is not None:
                corrected = subject.frame[: place.at] + one.data + subject.frame[one.end :]
                return subject.mistake(one.kind)._replace(
                    path=path_text(place.path), start=place.at, length=one.end - place.at, actual=one.actual,
                    expected=one.expected, sure=_sure(one.data), corrected=sized(corrected),
                )  # fmt: skip
    return None


def unused_values(subject: Subject, search: Search) -> Iterator[Mistake]:
    """Yield the values that no implementation uses, in a message whose fields end where it does."""
    found = [place for place in _integers(search) if _is_unused(subject.frame, place)] if search.ended else []
    sure = Sure.CERTAIN if search.valid and search.strict.odd <= len(found) else Sure.LIKELY
    for place in found:
        *first, last = map(str, sorted(place.node.names))
        yield subject.mistake("unused-value")._replace(
            path=path_text(place.path), start=place.at, length=place.node.size, sure=sure,
            actual=str(_value(subject.frame, place, "big")), expected=" or ".join([", ".join(first), last]),
        )  # fmt: skip


def _integers(search: Search) -> Iterator[ReadPosition]:
    return (one for one in search.strict.places or [] if not one.tags and isinstance(one.node, Fixed))


def _is_unused(frame: bytes, place: ReadPosition) -> bool:
    """Return whether a value has no name, in either byte order."""
    names = place.node.names
    known = not names or place.path[2] not in CLOSED
    return not known and _value(frame, place, "big") not in names and _value(frame, place, "little") not in names


def _value(frame: bytes, place: ReadPosition, order: Any) -> int:
    return int.from_bytes(frame[place.at : place.at + place.node.size], order, signed=True)


def _sure(data: bytes) -> Sure:
    """Return how sure it is that a value is little-endian: damage to one byte may look like a small one."""
    return Sure.LIKELY if sum(map(bool, data)) > 1 else Sure.GUESS
