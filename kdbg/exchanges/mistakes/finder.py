"""The mistake in a message: the smallest change that makes it valid, and how sure that is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ...protocol.findings.quirks import Sure
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import Fixed
from ..messages.weigh import path_text
from .batches import batch_mistake
from .candidates import Candidate, candidates
from .changes import ANY, changes
from .mistake import Mistake, Subject, sized
from .search import Budget, Exhausted, ReadPosition, Search

CLOSED: Final = frozenset({"acks", "isolation_level", "key_type"})
"""Fields that have no value but those that have a name."""
LONGEST = 1 << 20
"""Longer messages are not searched."""
CLIENT_ID_AT = 8
"""Where the client id of a request header begins."""
CERTAIN_MARGIN, CERTAIN_GAIN = 24.0, 48.0
LIKELY_MARGIN, LIKELY_GAIN, VERSION_GAIN = 8.0, 14.0, 32.0
"""Bits by which the best change must be better than the next, and by which the bytes after it must make sense."""
MOST_KINDS, MOST_STEPS = 8, 32
"""Mistakes that are named of one message, and corrections after which it is examined again."""


class Shift(NamedTuple):
    """How a correction moves the bytes after it, so that a later mistake is named at its byte in the original message.

    The bytes from `start` on are `by` bytes further on than before.
    """

    start: int
    by: int

    @classmethod
    def between(cls, wrong: bytes, corrected: bytes) -> Shift:
        """Return how far the bytes of a message moved."""
        shorter = min(len(wrong), len(corrected))
        start = bisect_left(range(shorter), True, key=lambda at: wrong[: at + 1] != corrected[: at + 1])
        return cls(start, len(corrected) - len(wrong))

    def before(self, at: int) -> int:
        """Return where a byte was before the correction."""
        return at if at <= self.start else max(self.start, at - self.by)


def little_endian_value(subject: Subject, search: Search) -> Mistake | None:
    """Return the mistake in the first integer that makes sense only with its bytes in the other order."""
    for place in _integers(search):
        for one in changes(subject.frame, place.at, place.node, place.path[2]):
            if one.data is not None:
                corrected = subject.frame[: place.at] + one.data + subject.frame[one.end :]
                return subject.mistake(one.kind)._replace(
                    path=path_text(place.path), start=place.at, length=one.end - place.at, actual=one.actual,
                    expected=one.expected, sure=_sure_order(one.data), corrected=sized(corrected),
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


def _sure_order(data: bytes) -> Sure:
    """Return how sure it is that a value is little-endian: damage to one byte may look like a small one."""
    return Sure.LIKELY if sum(map(bool, data)) > 1 else Sure.GUESS


class Examination(NamedTuple):
    """The mistakes of a message, in the order in which they are corrected; `complete`: all changes were tried.

    The corrected bytes of one have those before it corrected as well.
    """

    mistakes: tuple[Mistake, ...] = ()
    complete: bool = True

    @property
    def mistake(self) -> Mistake | None:
        """The first mistake, None where none explains the message."""
        return self.mistakes[0] if self.mistakes else None


def find_mistake(
    frame: bytes, *, api: Api, version: int, direction: Direction, size: int | None = None
) -> Mistake | None:
    """Return the mistake that explains best why a message is not valid; None for a valid one, or where none does.

    `frame` begins at the header and is complete; `size` is the INT32 before it, None where there is none.
    """
    return examine(frame, api=api, version=version, direction=direction, size=size).mistake


def examine(frame: bytes, *, api: Api, version: int, direction: Direction, size: int | None = None) -> Examination:
    """Return all mistakes of a message, and whether the search was complete: it may be too long for that."""
    if not api.reads(direction, version):
        return Examination()
    if len(frame) > LONGEST:
        return Examination(complete=False)
    budget, found = Budget(), dict[str, Mistake]()
    try:
        for one in _mistakes(Subject(frame, api, version, direction), size, budget):
            known = found.get(one.kind)
            found[one.kind] = one if known is None else known._replace(others=known.others + 1)
            if len(found) == MOST_KINDS:
                break
    except Exhausted:
        return Examination(tuple(found.values()), False)
    return Examination(tuple(found.values()), not budget.spent)


def _mistakes(subject: Subject, size: int | None, budget: Budget) -> Iterator[Mistake]:
    """Yield the mistake of a message, then those that remain when it is corrected."""
    shifts: list[Shift] = []
    for _ in range(MOST_STEPS):
        search = Search(subject.frame, subject.nodes, budget)
        found = _mistake(subject, search, size)
        if found is not None:
            yield _moved(found, shifts)
        if found is None or found.sure is not Sure.CERTAIN or not found.corrected or found.kind == "other-version-body":
            break
        corrected = found.corrected[4:]
        shifts.append(Shift.between(subject.frame, corrected))
        subject, size = subject._replace(frame=corrected), None
    yield from (_moved(one, shifts) for one in unused_values(subject, search))


def _moved(mistake: Mistake, shifts: list[Shift]) -> Mistake:
    """Return a mistake of a corrected message at its place in the message that was not corrected."""
    start = mistake.start
    for shift in reversed(shifts):
        start = shift.before(start)
    return mistake._replace(start=start)


def _mistake(subject: Subject, search: Search, size: int | None) -> Mistake | None:
    """Return the mistake that explains best why a message is not valid, but for values that nothing uses."""
    if size is not None and size != len(subject.frame):
        return _size_mistake(subject, search, size)
    if search.ended and (found := batch_mistake(subject, search.strict.record_sets, search.budget)) is not None:
        return found
    if search.valid:
        found = little_endian_value(subject, search)
        if found is not None or search.strict.odd <= len(list(unused_values(subject, search))):
            return found
    return _best(subject, search)


def _size_mistake(subject: Subject, search: Search, size: int) -> Mistake | None:
    """Return the mistake in the size of a message that is valid but for it; None for one that may be cut off."""
    length = len(subject.frame)
    if not search.valid:
        return None
    little = int.from_bytes(size.to_bytes(4, "big", signed=True), "little", signed=True)
    kinds = {length + 4: "size-counts-itself"}
    kind = "little-endian-size" if little in (length, length + 4) else kinds.get(size, "wrong-size")
    sure = Sure.LIKELY if kind == "wrong-size" else Sure.CERTAIN
    return subject.mistake(kind)._replace(
        path="size", start=-4, length=4, actual=str(size), expected=str(length), sure=sure,
        corrected=sized(subject.frame),
    )  # fmt: skip


def _best(subject: Subject, search: Search) -> Mistake | None:
    """Return the mistake of the best change, as sure as it is better than the next one."""
    found = candidates(subject, search)
    if not found:
        return _header_alone(subject)
    best, *others = found
    rivals = [one.cost for one in others if best.rivals(one)]
    rivals += [search.strict.bits] if search.valid else []
    margin = min(rivals, default=best.cost + 1000.0) - best.cost
    if search.valid and margin < CERTAIN_MARGIN:
        return None
    return best.mistake(subject)._replace(sure=_sure(margin, best))


def _header_alone(subject: Subject) -> Mistake | None:
    """Return the mistake of a request that is nothing but a header with a compact client id, None for any other."""
    if subject.direction == "response" or subject.version < subject.api.flexible:
        return None
    tags = subject.frame[CLIENT_ID_AT : CLIENT_ID_AT + 1] == b"\0"  # some programs write tagged fields before it, too
    at = CLIENT_ID_AT + tags
    name = subject.frame[at + 1 :].rstrip(b"\0")
    if not name or subject.frame[at] != len(name) + 1 or not name.isascii() or not name.decode().isprintable():
        return None
    corrected = subject.frame[:CLIENT_ID_AT] + len(name).to_bytes(2, "big") + name + b"\0"
    return subject.mistake("compact-client-id-without-body")._replace(
        path="client_id", start=CLIENT_ID_AT, length=len(subject.frame) - CLIENT_ID_AT, corrected=sized(corrected)
    )


def _sure(margin: float, best: Candidate) -> Sure:
    if best.found.edits[0].change.cost >= ANY:
        return Sure.GUESS
    if margin >= CERTAIN_MARGIN and best.found.gain >= CERTAIN_GAIN:
        return Sure.CERTAIN
    least = VERSION_GAIN if best.kind == "other-version-body" else LIKELY_GAIN
    return Sure.LIKELY if margin >= LIKELY_MARGIN and best.found.gain >= least else Sure.GUESS
